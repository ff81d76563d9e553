import pytest

from models.errors import StoreError
from transforms.context import open_store
from transforms.store.dry import DryStore, dry_root
from transforms.store.files import Store


@pytest.fixture
def real(tmp_path):
    store = Store(str(tmp_path / "root"))
    store.write_named("runs/a/one", b"1")
    return store


@pytest.fixture
def dry(real, tmp_path):
    return open_store(dry_root(str(tmp_path / "scratch"), real.root))


def test_what_is_stored_is_read_and_what_is_written_is_seen_here_alone(real, dry):
    entry = real.write("units", "parquet", b"rows", 3)
    assert isinstance(dry, DryStore) and dry.is_local
    assert dry.read(entry) == b"rows" and dry.find_named("runs/a/one") == b"1"
    dry.write_named("runs/a/one", b"2")
    new = dry.write("units", "parquet", b"more rows")
    assert (dry.read_named("runs/a/one"), dry.read(new)) == (b"2", b"more rows")
    assert real.read_named("runs/a/one") == b"1" and real.find_named(new.path) is None
    assert [file.path for file in dry.list("")] == [file.path for file in real.list("")]


def test_writing_again_what_is_stored_does_not_touch_it(real, dry):
    entry = real.write("rows", "parquet", b"rows")
    before = real.stat(entry.path)
    assert dry.write("rows", "parquet", b"rows") == entry
    assert real.stat(entry.path) == before


def test_nothing_is_deleted(real, dry):
    for remove in (lambda: dry.delete(["runs/a/one"]), lambda: dry.delete_folder("runs")):
        with pytest.raises(StoreError, match="deletes nothing"):
            remove()
    assert real.exists("runs/a/one")


def test_a_store_of_another_root_is_no_dry_one(real):
    with pytest.raises(StoreError, match="no root of a dry run"):
        DryStore(real.root)
    with pytest.raises(StoreError, match="cannot be a scratch folder"):
        dry_root("a|b", real.root)


def test_a_path_cannot_leave_the_root(dry):
    with pytest.raises(StoreError, match="not a path inside a store"):
        dry.path("../outside")

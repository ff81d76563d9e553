"""Content-addressed files: whole or absent, inside the root, and sound when they are read."""

import errno
import hashlib
import os
import pickle
import stat
import threading
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import DamagedFileError, SettingsError, StoreError
from transforms.store import disks
from transforms.store.files import Store, checked_path
from transforms.store.manifest import FileEntry


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def test_a_file_is_named_by_its_hash_and_read_back(root):
    store = Store(str(root))
    entry = store.write("units/0000-0fff", "bin", b"data", 3)
    sha256 = hashlib.sha256(b"data").hexdigest()
    assert entry == FileEntry(f"units/0000-0fff/{sha256}.bin", sha256, 4, 3)
    assert store.read(entry) == (root / entry.path).read_bytes() == b"data"


@settings(max_examples=40, deadline=None)
@given(data=st.binary(max_size=3000), suffix=st.from_regex(r"[a-z]{1,9}", fullmatch=True))
def test_round_trip(tmp_path_factory, data, suffix):
    store = Store(str(tmp_path_factory.mktemp("root")))
    entry = store.write("a/b", suffix, data)
    assert store.write("a/b", suffix, data) == entry
    assert store.read(entry) == data
    assert [(file.path, file.size) for file in store.list("")] == [(entry.path, len(data))]


def test_a_damaged_file_is_refused_and_then_replaced(root):
    store = Store(str(root))
    entry = store.write("units", "bin", b"data")
    for damage in (b"dat\0", b"", b"data more"):
        (root / entry.path).write_bytes(damage)
        with pytest.raises(DamagedFileError, match=entry.path):
            store.read(entry)
        store.write("units", "bin", b"data")
        assert store.read(entry) == b"data"
    (root / entry.path).unlink()
    with pytest.raises(DamagedFileError, match=f"{entry.path} is missing"):
        store.read(entry)


def test_a_sound_file_is_not_written_again_but_looks_young(root):
    store = Store(str(root))
    path = root / store.write("units", "bin", b"data").path
    os.utime(path, (1, 1))
    inode = path.stat().st_ino
    store.write("units", "bin", b"data")
    assert path.stat().st_ino == inode
    assert path.stat().st_mtime > 1


HOSTILE = [
    "", "/etc/passwd", "..", "../x", "units/../../x", "units/./x", "units//x", "units/", "/", "a\0b", "a\nb", "a\\b",
    "gs://bucket/x", "units/…", "~/x", "a b", "%2e%2e/x", "x" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE)
def test_a_hostile_path_is_refused(root, path):
    root.mkdir()
    (root.parent / "x").write_bytes(b"secret")
    entry = FileEntry(path, hashlib.sha256(b"secret").hexdigest(), 6)
    with pytest.raises(StoreError, match="not a path inside a store") as caught:
        Store(str(root)).read(entry)
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="./ab-\\\0~", max_size=12))
def test_an_accepted_path_stays_inside(path):
    try:
        checked_path(path)
    except StoreError:
        return
    assert os.path.normpath(f"/index/{path}") == f"/index/{path}"


@pytest.mark.parametrize(
    ("code", "remedy"), [(errno.ENOSPC, "free space"), (errno.EROFS, "writable"), (errno.EACCES, "access")]
)
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failed_write_is_one_line_and_leaves_nothing(root, monkeypatch, code, remedy, call):
    store = Store(str(root))
    store.write_named("versions/v/manifest.json", b"old")

    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(disks.os, call, fail)
    for write in (
        lambda: store.write("versions", "bin", b"new"),
        lambda: store.write_named("versions/v/manifest.json", b"new"),
    ):
        with pytest.raises(StoreError, match=rf"cannot write {root}/versions/.*{remedy}") as caught:
            write()
        assert "\n" not in str(caught.value)
    monkeypatch.undo()
    assert store.read_named("versions/v/manifest.json") == b"old"
    assert [path for path in root.rglob("*") if path.is_file()] == [root / "versions/v/manifest.json"]


def test_a_full_disk(root):
    """The real thing, where `/dev/full` can stand for the file that is written."""
    with pytest.raises(OSError, match="No space"), open("/dev/full", "wb") as file:
        file.write(b"x")
        file.flush()


def test_a_root_below_a_file_is_one_line(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    store = Store(str(tmp_path / "file" / "root"))
    with pytest.raises(StoreError, match="a file lies where a folder is needed"):
        store.write("units", "bin", b"data")
    assert store.list("") == []
    assert not store.exists("CURRENT")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_root(root):
    root.mkdir()
    root.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(StoreError, match="give this user access"):
        Store(str(root)).write("units", "bin", b"data")


def test_half_written_files_of_a_killed_run_are_not_listed(root):
    store = Store(str(root))
    entry = store.write("units", "bin", b"data")
    half = root / "units" / ("." + "0" * 32 + ".tmp")
    half.write_bytes(b"da")
    assert [file.path for file in store.list("units")] == [entry.path]
    assert [file.path for file in store.list("", temporary=True)] == [f"units/{half.name}"]


def test_many_writers_of_the_same_file(root):
    store, errors = Store(str(root)), []

    def write() -> None:
        try:
            for number in range(20):
                assert store.read(store.write("units", "bin", bytes([number]) * 100_000)) == bytes([number]) * 100_000
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(store.list("")) == len(store.list("", temporary=True)) + 20 == 20


def test_named_files(root):
    store = Store(str(root) + "/")
    assert store.find_named("runs/r/lease.json") is None
    assert store.stat("runs/r/lease.json") is None
    assert store.sha256("runs/r/lease.json") is None
    with pytest.raises(StoreError, match="does not exist"):
        store.read_named("runs/r/lease.json")
    store.write_named("runs/r/lease.json", b"1")
    store.write_named("runs/r/lease.json", memoryview(b"22"))
    assert store.read_named("runs/r/lease.json") == b"22"
    assert store.stat("runs/r/lease.json").size == 2
    store.delete(["runs/r/lease.json", "runs/r/lease.json"])
    store.delete_folder("runs")
    store.delete_folder("runs")
    assert not store.exists("runs")


def test_a_part_of_a_named_file_is_read_without_the_rest_or_refused(root):
    store = Store(str(root))
    store.write_named("runs/r/a.bin", b"0123456789")
    assert store.read_part("runs/r/a.bin", 3, 4) == b"3456" and store.read_part("runs/r/a.bin", 0, 10) == b"0123456789"
    for path, offset in (("runs/r/a.bin", 7), ("runs/r/b.bin", 0)):
        with pytest.raises(StoreError, match=r"[ab]\.bin, which this run wrote, is gone or damaged; run again"):
            store.read_part(path, offset, 4)


def test_a_store_is_a_small_plain_value(root):
    store = Store(str(root))
    assert pickle.loads(pickle.dumps(store)) == store == Store(f"file://{root}") == Store(f"{root}/")
    with pytest.raises(SettingsError, match="no file system for ftpx://host"):
        Store("ftpx://host/root").write("units", "bin", b"data")


def test_entries_are_hashable():
    assert hash(msgspec.structs.replace(FileEntry("a", "b", 1), n_rows=2))

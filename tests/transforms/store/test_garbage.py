"""Garbage collection: what a kept version or a live run needs is never removed; what nobody needs is."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import DamagedFileError, SettingsError, StoreError
from transforms.store.files import Store
from transforms.store.garbage import collect
from transforms.store.lease import Lease
from transforms.store.pointer import read_pointer, swap_pointer
from transforms.store.verify import verify
from transforms.store.versions import list_versions, paths_of, rollback, stored_manifest, write_manifest

DAY = 86_400.0
FOREIGN = "notes/my file.txt"


def age(store: Store, days: float, paths=None) -> None:
    """Makes files look as if they had been written `days` ago."""
    then = time.time() - days * DAY
    for path in paths or [file.path for half in (False, True) for file in store.list("", temporary=half)]:
        os.utime(f"{store.root}/{path}", (then, then))


def names(store: Store) -> list[str]:
    return [info.version for info in list_versions(store)]


@pytest.fixture
def three(store, publishing, documents):
    """A root with versions v1, v2 (current base of v3) and v3, all of them old."""
    for number in (1, 2, 3):
        publishing(store, f"v{number}", documents | {f"new{number}": f"text{number}"})
    age(store, 10)
    return store


def test_old_versions_and_what_only_they_name_are_removed(three):
    report = collect(three, keep=2)
    assert (report.removed_versions, report.kept_versions) == (("v1",), ("v2", "v3"))
    assert report.n_removed_files > 0
    assert report.n_removed_bytes > 0
    assert names(three) == ["v3", "v2"]
    assert verify(three, "v2") == verify(three, "v3") == []
    again = collect(three, keep=2)
    assert (again.removed_versions, again.n_removed_files) == ((), 0)


def test_every_file_left_is_named(three):
    collect(three, keep=1)
    left = {file.path for file in three.list("")} - {"CURRENT", ".CURRENT.lock"}
    assert names(three) == ["v3"]
    assert left == paths_of(stored_manifest(three, "v3")) | {"versions/v3/published"}


@pytest.mark.parametrize("lost", ["CURRENT", "versions/v3/manifest.json"])
def test_nothing_goes_while_the_current_version_is_unknown(three, lost):
    before = three.list("")
    three.delete([lost])
    with pytest.raises(StoreError, match=r"rollback|versions"):
        collect(three, keep=1, grace_hours=0)
    assert {file.path for file in three.list("")} == {file.path for file in before} - {lost}
    with pytest.raises(StoreError, match="no index"):
        collect(Store(f"{three.root}/nowhere"), keep=1)


def test_the_current_version_stays_however_old(three):
    rollback(three, "v1")
    age(three, 10)
    assert collect(three, keep=1).kept_versions == ("v1", "v3")
    assert verify(three) == []


def test_versions_that_never_were_current_do_not_count(three, building, documents):
    for number in (4, 5):
        write_manifest(three, building(three, f"v{number}", documents | {"lost": f"text{number}"}))
    assert collect(three, keep=2).kept_versions == ("v2", "v3", "v4", "v5")
    age(three, 10)
    report = collect(three, keep=2)
    assert (report.removed_versions, report.kept_versions) == (("v4", "v5"), ("v2", "v3"))
    assert rollback(three, "v2").version == "v2"
    assert verify(three) == []


def test_nothing_young_is_removed(three):
    entry = three.write("units/0000-07ff", "parquet", b"unnamed")
    three.write("versions", "tmp", b"")
    assert collect(three, keep=3).n_removed_files == 0
    age(three, 0.5)
    assert collect(three, keep=1).removed_versions == ()
    assert three.exists(entry.path)
    assert collect(three, keep=1, grace_hours=6).removed_versions == ("v1", "v2")
    assert not three.exists(entry.path)


def test_a_file_found_written_is_young_again(three):
    data = b"an orphan of a killed run"
    entry = three.write("units/0000-07ff", "parquet", data)
    age(three, 10)
    assert three.write("units/0000-07ff", "parquet", data) == entry
    collect(three, keep=1)
    assert three.read(entry) == data


def test_half_written_files_and_dead_runs_go_after_the_grace(three):
    half = Path(three.root, "units", ".0123.tmp")
    half.write_bytes(b"ha")
    three.write_named("runs/dead/reads/part", b"x")
    collect(three, keep=3)
    assert half.exists()
    age(three, 2)
    report = collect(three, keep=3)
    assert report.n_removed_files == 2
    assert not half.exists()
    assert not Path(three.root, "runs/dead").exists()


def test_a_live_run_keeps_its_work_and_its_base(three):
    rollback(three, "v1")
    with Lease(three, "r1"):
        three.write_named("runs/r1/reads/part", b"x")
        entry = three.write("units/0000-07ff", "parquet", b"unpublished")
        rollback(three, "v3")
        age(three, 2, ["runs/r1/reads/part"])
        report = collect(three, keep=1, grace_hours=0)
        assert report.live_runs == ("r1",)
        assert report.kept_versions == ("v1", "v3")
        assert three.exists("runs/r1/reads/part")
        assert three.exists(entry.path)
        assert verify(three, "v1") == []


def test_files_of_others_are_left_alone(three):
    Path(three.root, "notes").mkdir()
    Path(three.root, FOREIGN).write_bytes(b"mine")
    Path(three.root, "README").write_bytes(b"mine")
    age(three, 99)
    collect(three, keep=1, grace_hours=0)
    assert Path(three.root, FOREIGN).exists()
    assert Path(three.root, "README").exists()


def test_nothing_is_removed_on_doubt(three, flip):
    flip(three, "versions/v1/manifest.json")
    before = three.list("")
    with pytest.raises(DamagedFileError, match=r"versions/v1/manifest.json .*is current and .* delete .*/versions/v1$"):
        collect(three, keep=1)
    assert [file.path for file in three.list("")] == [file.path for file in before]


@pytest.mark.parametrize(("keep", "grace"), [(0, 24), (-1, 24), (1, -1), (1, float("nan"))])
def test_settings_that_would_remove_all_are_refused(three, keep, grace):
    with pytest.raises(SettingsError, match=r"keep|grace_hours"):
        collect(three, keep, grace)


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_whatever_happened_before_all_kept_versions_verify(tmp_path_factory, building, documents, data):
    store = Store(str(tmp_path_factory.mktemp("root")))
    pool = sorted(documents)
    for number in range(data.draw(st.integers(1, 4))):
        chosen = data.draw(st.sets(st.sampled_from(pool), min_size=1, max_size=4))
        pointer = write_manifest(store, building(store, f"v{number}", {uri: documents[uri] for uri in chosen}))
        if data.draw(st.booleans()):
            swap_pointer(store, read_pointer(store), pointer)
        age(store, data.draw(st.sampled_from([0.1, 3.0])))
    current = read_pointer(store)
    report = collect(store, data.draw(st.integers(1, 3)), data.draw(st.sampled_from([0.0, 24.0, 100.0])))
    assert read_pointer(store) == current
    assert current is None or current.version in report.kept_versions
    for version in names(store):
        assert verify(store, version) == []


def test_answers_stay_however_old_and_only_half_written_ones_go(three):
    entry = three.write("answers", "parquet", b"what the model said")
    half = f"answers/.{'0' * 32}.tmp"
    Path(three.root, half).write_bytes(b"what the mo")
    age(three, 10)
    collect(three, keep=1)
    assert three.exists(entry.path) and not three.exists(half)
    assert verify(three) == []

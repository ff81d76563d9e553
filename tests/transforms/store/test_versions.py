"""Versions: written once, listed, checked and rolled back to."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from models.errors import ConflictError, DamagedFileError, StoreError
from transforms.store.lease import Lease
from transforms.store.manifest import encode_manifest
from transforms.store.pointer import read_pointer, swap_pointer
from transforms.store.status import status
from transforms.store.verify import verify
from transforms.store.versions import (
    discard_version,
    list_versions,
    load_manifest,
    paths_of,
    rollback,
    stored_manifest,
    write_manifest,
)


def test_a_manifest_is_written_once(store, building):
    manifest = building(store, "v1", {"a": "text"})
    pointer = write_manifest(store, manifest)
    assert write_manifest(store, manifest) == pointer
    assert pointer.manifest_sha256 == hashlib.sha256(encode_manifest(manifest)).hexdigest()
    with pytest.raises(ConflictError, match="version v1 exists"):
        write_manifest(store, msgspec.structs.replace(manifest, run="other"))
    assert load_manifest(store) is None
    assert load_manifest(store, "v1") == stored_manifest(store, "v1") == manifest


def test_a_manifest_can_be_checked_without_this_program(store, building):
    write_manifest(store, building(store, "v1", {"a": "text"}))
    if shutil.which("sha256sum") is None:
        pytest.skip("sha256sum is not installed")
    subprocess.run(["sha256sum", "-c", "--quiet", "manifest.sha256"], cwd=f"{store.root}/versions/v1", check=True)


def test_versions_are_listed_newest_first(store, publishing, documents):
    assert list_versions(store) == []
    publishing(store, "b", documents, "2024-01-01")
    publishing(store, "a", {"x": "alpha"}, "2024-01-02")
    newest, oldest = list_versions(store)
    assert (newest.version, newest.is_current, newest.base) == ("a", True, "b")
    assert (oldest.version, oldest.is_current, oldest.base) == ("b", False, None)
    assert (oldest.n_documents, oldest.n_contents, oldest.n_units) == (13, 12, 48)
    assert oldest.n_files == len(load_manifest(store, "b").files())
    assert oldest.n_bytes == sum(entry.n_bytes for entry in load_manifest(store, "b").files())


def test_rolling_back_and_forth(store, publishing, documents):
    first = publishing(store, "v1", documents)
    publishing(store, "v2", {"x": "alpha"})
    assert rollback(store, "v1") == read_pointer(store)
    assert load_manifest(store) == first
    assert verify(store) == []
    assert rollback(store, "v2").version == "v2"
    with pytest.raises(StoreError, match="has no version v7"):
        rollback(store, "v7")


def test_no_rolling_back_to_what_is_not_there(store, publishing, documents):
    first = publishing(store, "v1", documents)
    publishing(store, "v2", {"x": "alpha"})
    path = sorted(paths_of(first) - paths_of(load_manifest(store)))[0]
    data = store.read_named(path)
    store.write_named(path, data[:-1])
    with pytest.raises(DamagedFileError, match=f"{path} has {len(data) - 1} bytes where {len(data)} were written"):
        rollback(store, "v1")
    store.delete([path])
    with pytest.raises(DamagedFileError, match=f"{path} is missing"):
        rollback(store, "v1")
    assert read_pointer(store).version == "v2"


def test_a_version_that_never_was_current_is_told_apart(store, publishing, building, documents):
    publishing(store, "v1", documents)
    write_manifest(store, building(store, "v2", {"x": "alpha"}))
    assert [(info.version, info.is_published) for info in list_versions(store)] == [("v2", False), ("v1", True)]
    with pytest.raises(StoreError, match="v2 was never published"):
        rollback(store, "v2")
    publishing(store, "v3", {"x": "beta"})
    assert [info.is_published for info in list_versions(store)] == [True, False, True]
    assert rollback(store, "v1").version == "v1"


@pytest.mark.parametrize("damage", [None, b"", b"nonsense"])
def test_rolling_back_puts_a_broken_pointer_right(store, publishing, documents, damage):
    publishing(store, "v1", documents)
    store.delete(["CURRENT"])
    if damage is not None:
        store.write_named("CURRENT", damage)
    rollback(store, "v1")
    assert verify(store) == []
    assert load_manifest(store).version == "v1"


def test_a_damaged_manifest_is_refused(store, publishing, documents, flip):
    publishing(store, "v1", documents)
    flip(store, "versions/v1/manifest.json")
    for version in (None, "v1"):
        with pytest.raises(DamagedFileError, match=r"versions/v1/manifest.json"):
            load_manifest(store, version)
    store.write_named("versions/v1/manifest.sha256", b"nonsense")
    with pytest.raises(DamagedFileError, match=r"manifest.sha256 is not a checksum"):
        list_versions(store)


def test_a_hostile_version_name_is_refused(store):
    for name in ("../../etc", "/etc", "a/b"):
        with pytest.raises(StoreError, match="is not a name"):
            load_manifest(store, name)


def test_a_manifest_that_reaches_outside_reads_nothing(store, building, tmp_path):
    (tmp_path / "secret").write_bytes(b"secret")
    manifest = building(store, "v1", {"a": "text"})
    entry = msgspec.structs.replace(manifest.ledger[0], path="../secret")
    hostile = msgspec.structs.replace(manifest, ledger=(entry,))
    swap_pointer(store, None, write_manifest(store, hostile))
    with pytest.raises(StoreError, match="not a path inside a store"):
        store.read(load_manifest(store).ledger[0])
    with pytest.raises(StoreError, match="not a path inside a store"):
        rollback(store, "v1")
    assert any("not a path inside a store" in fault.problem for fault in verify(store))


def test_the_loser_of_a_race_is_discarded(store, publishing, building, documents):
    publishing(store, "v1", documents)
    write_manifest(store, building(store, "v2", {"x": "alpha"}))
    discard_version(store, "v2")
    assert [info.version for info in list_versions(store)] == ["v1"]
    with pytest.raises(StoreError, match="v1 is current"):
        discard_version(store, "v1")


def test_status(store, publishing, documents):
    assert status(store).current is None
    publishing(store, "v1", documents)
    with Lease(store, "r1"):
        store.write_named("runs/dead/reads/1", b"x")
        Path(store.root, "runs/dead/lease.json").write_text('{"run":"dead","started_at":0,"expires_at":1}')
        found = status(store)
    assert found.current.version == "v1"
    assert found.n_versions == 1
    assert [lease.run for lease in found.live_runs] == ["r1"]
    assert found.interrupted_runs == ("dead",)
    assert found.n_bytes > found.current.n_bytes

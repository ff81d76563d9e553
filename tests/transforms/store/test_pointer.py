"""CURRENT: never half, never pointing at nothing, and one winner of many."""

import gc
import multiprocessing
from pathlib import Path

import pytest

from models.errors import ConflictError, DamagedFileError, StoreError
from transforms.store import pointer as pointers
from transforms.store.files import Store
from transforms.store.pointer import Pointer, checked_name, encode_pointer, locked, read_pointer, swap_pointer
from transforms.store.versions import load_manifest, write_manifest


def test_nothing_was_published(store):
    assert read_pointer(store) is None
    assert load_manifest(store) is None


def test_a_swap_is_conditional_and_repeatable(store, building):
    first, second, third = (write_manifest(store, building(store, name, {"a": name})) for name in ("v1", "v2", "v3"))
    swap_pointer(store, None, first)
    swap_pointer(store, None, first)
    assert read_pointer(store) == first
    swap_pointer(store, first, second)
    with pytest.raises(
        ConflictError, match="version v2 was published first: version v3 started from version v1"
    ) as caught:
        swap_pointer(store, first, third)
    assert "\n" not in str(caught.value)
    with pytest.raises(ConflictError, match="started from an empty root"):
        swap_pointer(store, None, third)
    assert read_pointer(store) == second


def test_a_vanished_pointer_is_a_conflict(store, building):
    first, second = (write_manifest(store, building(store, name, {"a": name})) for name in ("v1", "v2"))
    swap_pointer(store, None, first)
    store.delete(["CURRENT"])
    with pytest.raises(ConflictError, match="CURRENT was removed"):
        swap_pointer(store, first, second)


def test_current_never_points_at_nothing(store, building):
    first = write_manifest(store, building(store, "v1", {"a": "text"}))
    with pytest.raises(DamagedFileError, match=r"versions/v2/manifest.json is missing"):
        swap_pointer(store, None, Pointer("v2", first.manifest_sha256))
    with pytest.raises(DamagedFileError, match=r"versions/v1/manifest.json"):
        swap_pointer(store, None, Pointer("v1", "0" * 64))
    assert read_pointer(store) is None


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"v1\n", b"\xff\xfe", b'{"version":"../x","manifest_sha256":"0","sha256":"0"}\n']
)
def test_a_pointer_nobody_wrote_is_refused(store, data):
    store.write_named("CURRENT", data)
    with pytest.raises(DamagedFileError, match="CURRENT is not a pointer"):
        read_pointer(store)


def test_every_flipped_bit_is_seen(store):
    data = encode_pointer(Pointer("v1", "0" * 64))
    for position in range(len(data)):
        store.write_named("CURRENT", data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
        with pytest.raises(DamagedFileError):
            read_pointer(store)


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "a\n", "-x", "x" * 129, "naïve"])
def test_names_that_are_no_folder_names_are_refused(name):
    with pytest.raises(StoreError, match="is not a name"):
        checked_name(name)


def _race(root: str, target: Pointer, barrier, results) -> None:
    gc.disable()  # what other tests left behind may hold threads, which a forked process does not have
    barrier.wait()
    try:
        swap_pointer(Store(root), None, target)
        results.put((target.version, "won"))
    except ConflictError as error:
        results.put((target.version, str(error)))


def test_of_many_at_once_one_wins(store, building):
    context = multiprocessing.get_context("fork")
    targets = [write_manifest(store, building(store, f"v{n}", {"a": str(n)})) for n in range(4)]
    barrier, results = context.Barrier(len(targets)), context.Queue()
    racers = [context.Process(target=_race, args=(store.root, target, barrier, results)) for target in targets]
    for racer in racers:
        racer.start()
    said = dict(results.get(timeout=60) for _ in racers)
    for racer in racers:
        racer.join()
    current = read_pointer(store)
    assert current in targets
    assert [version for version, words in said.items() if words == "won"] == [current.version]
    assert all(f"version {current.version} was published first" in words for words in said.values() if words != "won")


def test_a_held_lock_times_out_in_one_line(store, monkeypatch):
    monkeypatch.setattr(pointers, "LOCK_TIMEOUT_SECONDS", 0.05)
    with locked(store), pytest.raises(StoreError, match="was held"), locked(store):
        pass
    with locked(store):
        assert Path(store.root, ".CURRENT.lock").exists()

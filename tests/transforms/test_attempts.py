"""What encoder calls cost, read off names, and whose waste is still to be counted."""

import dataclasses
import time
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from transforms.attempts import dead_runs, spent_by, spent_tokens, unsettled
from transforms.store.files import Store
from transforms.store.lease import Lease, LeaseRecord, lease_path
from transforms.store.segments import read_ipc
from transforms.work_vectors import VectorRow, read_leftover, write_work_vectors


@dataclasses.dataclass
class Context:
    """As much of a run's context as scratch files of vectors ask for."""

    store: Store
    run: str = "r"
    dimension: int = 4
    encode_recipe: str = "recipe"

    def scratch(self, folder: str) -> str:
        return f"runs/{self.run}/{folder}"


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(str(tmp_path / "index"))


def row(number: int) -> VectorRow:
    return VectorRow(number, f"{number:032x}", "c", "encoded", np.full(4, number, np.float16), 7)


@pytest.mark.parametrize(
    ("names", "tokens"),
    [
        ([], 0),
        (["attempts/10-k-0"], 10),
        (["attempts/10-k-0", "vectors/k-12-d.arrow"], 12),
        (["attempts/10-k-0", "attempts/10-k-1", "vectors/k-12-d.arrow"], 22),
        (["attempts/10-k-0", "attempts/10-k-1", "vectors/k-12-d.arrow", "vectors/k-12-e.arrow"], 24),
        (["vectors/w-known-0-d.arrow", "attempts/5-k-0", "units/k.arrow", "lease.json", "plan.json"], 5),
    ],
    ids=["nothing", "interrupted", "finished", "one of two", "twice", "looked up"],
)
def test_calls_count_with_what_they_cost_or_were_about_to(names, tokens):
    assert spent_tokens(f"runs/r/{name}" for name in names) == tokens


def test_calls_of_two_runs_are_not_mixed_up():
    assert spent_tokens(["runs/a/attempts/10-k-0", "runs/b/vectors/k-12-d.arrow"]) == 22


def test_only_dead_runs_whose_waste_nobody_counted_are_unsettled(store):
    for run in ("dead", "settled", "published"):
        store.write_named(f"runs/{run}/attempts/10-k-0", b"")
        store.write_named(lease_path(run), msgspec.json.encode(LeaseRecord(run, 1.0, 2.0)))
    store.write_named(lease_path("other"), msgspec.json.encode(LeaseRecord("other", 1.0, time.time() + 99)))
    base = SimpleNamespace(run="published", settled_runs=("settled", "gone"))
    with Lease(store, "own"):
        assert dead_runs(store, "own") == ("dead", "published", "settled")
    assert unsettled(dead_runs(store, "own"), base) == ["dead"]
    assert unsettled(dead_runs(store, "dead"), None) == ["published", "settled"]
    assert spent_by(store, ["dead", "missing"]) == 10


def test_vectors_name_what_was_paid_and_what_they_hold(store):
    path = write_work_vectors(Context(store), "ab12", [row(1), row(2)], 14)
    assert spent_tokens([path]) == 14
    table = read_leftover(store.root, path)
    assert table is not None and table.equals(read_ipc(store.read_named(path)))


@pytest.mark.parametrize("damage", ["flipped", "cut short", "empty", "another's"])
def test_leftovers_with_other_bytes_than_their_name_are_refused(store, damage):
    path = write_work_vectors(Context(store), "ab12", [row(1), row(2)], 14)
    data = bytearray(store.read_named(path))
    other = store.read_named(write_work_vectors(Context(store), "cd34", [row(1), row(3)], 14))
    data[len(data) // 2] ^= 1
    broken = {"flipped": bytes(data), "cut short": bytes(data[:100]), "empty": b"", "another's": other}[damage]
    store.write_named(path, broken)
    assert read_leftover(store.root, path) is None

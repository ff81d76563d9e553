"""Killed at every moment of publishing: the old version stays readable and current, and the next try succeeds."""

import gc
import multiprocessing
import os
import signal

import pytest

from transforms.store.faults import VARIABLE, crash_point, kind_of
from transforms.store.files import Store
from transforms.store.lease import Lease, expired_runs
from transforms.store.pointer import read_pointer
from transforms.store.verify import verify

KINDS = [
    "documents", "files", "rows", "contents", "snapshots", "units", "vectors", "index", "training", "ledger",
    "failures", "manifest", "pointer", "scratch-reads", "lease",
]  # fmt: skip


@pytest.fixture
def run_killed(publishing, documents):
    """`run_killed(store, point)` publishes v2 in a process that dies at `point`, and returns its exit code."""

    def publish(store: Store, point: str) -> None:
        gc.disable()  # what other tests left behind may hold threads, which a forked process does not have
        os.environ[VARIABLE] = point
        with Lease(store, "run"):
            store.write_named("runs/run/reads/part", b"work")
            publishing(store, "v2", documents | {"new": "delta epsilon"})

    def start(store: Store, point: str) -> int | None:
        process = multiprocessing.get_context("fork").Process(target=publish, args=(store, point))
        process.start()
        process.join(60)
        return process.exitcode

    return start


@pytest.mark.parametrize("kind", KINDS)
def test_killed_around_a_write(store, publishing, documents, run_killed, kind):
    old = publishing(store, "v1", documents)
    moment = "before" if len(kind) % 2 else "after"
    unchanged = {"training", "failures"}  # v1 has written the same file, so it is not written again
    assert run_killed(store, f"{kind}/{moment}:1") == (0 if kind in unchanged else -signal.SIGKILL)
    is_new = kind in unchanged or (kind, moment) == ("pointer", "after")
    assert read_pointer(store).version == ("v2" if is_new else "v1")
    assert verify(store) == verify(store, old.version) == []
    publishing(store, "v2" if not is_new else "v3", documents | {"new": "delta epsilon"})
    assert verify(store) == []


@pytest.mark.parametrize("point", ["manifest/before:2", "pointer/before:1", "pointer/after:1", "any/before:9"])
def test_killed_while_publishing(store, publishing, documents, run_killed, point):
    publishing(store, "v1", documents)
    assert run_killed(store, point) == -signal.SIGKILL
    assert read_pointer(store).version == ("v2" if point == "pointer/after:1" else "v1")
    assert verify(store) == []
    assert [lease.run for lease in expired_runs(store)] == ["run"]  # at once: its process is gone
    half = store.list("", temporary=True)
    assert len(half) == (1 if "before" in point else 0)


def test_no_crash_unless_asked(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    crash_point("units/x", "after")
    monkeypatch.setenv(VARIABLE, "vectors/after:1")
    crash_point("units/x", "after")
    crash_point("vectors/x", "before")
    monkeypatch.setenv(VARIABLE, "any/after:1")
    crash_point("runs/r/lease.json", "after")


def test_kinds():
    assert {kind_of(f"{folder}/x") for folder in ("units", "indexes", "versions", "runs/r", "runs/r/units")} == {
        "units", "index", "manifest", "scratch", "scratch-units",
    }  # fmt: skip
    assert kind_of("CURRENT") == "pointer"
    assert kind_of("runs/r/lease.json") == "lease"

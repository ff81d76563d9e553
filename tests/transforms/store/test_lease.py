"""Leases: renewed while their run lives, over when it dies, and never in the way of its finished work."""

import os
import time

import pytest

from models.errors import StoreError
from transforms.store.files import Store
from transforms.store.lease import Lease, LeaseRecord, all_runs, expired_runs, live_runs


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def names(records: list[LeaseRecord]) -> list[str]:
    return [record.run for record in records]


def test_a_lease_lives_until_it_is_released(store):
    clock = Clock()
    store.write_named("runs/r2/reads/part", b"x")
    with Lease(store, "r1", ttl_seconds=100, clock=clock) as lease:
        store.write_named("runs/r1/reads/part", b"x")
        assert names(live_runs(store, now=1099.9))[0] == "r1"
        assert names(live_runs(store, now=1100.0)) == ["r2"]
        clock.now = 1050.0
        lease.renew()
        assert "r1" in names(live_runs(store, now=1149.9))
        assert all_runs(store)[0].started_at == 1000.0
    assert not store.exists("runs/r1/reads/part")
    assert names(all_runs(store)) == ["r2"]


def test_a_failed_run_leaves_its_work_and_no_live_lease(store):
    with pytest.raises(RuntimeError, match="boom"), Lease(store, "r1"):
        store.write_named("runs/r1/reads/part", b"x")
        raise RuntimeError("boom")
    assert names(expired_runs(store)) == ["r1"]
    assert live_runs(store) == []
    assert store.read_named("runs/r1/reads/part") == b"x"


def test_a_thread_renews(store):
    with Lease(store, "r1", ttl_seconds=0.5):
        first = all_runs(store)[0].expires_at
        deadline = time.monotonic() + 20
        while all_runs(store)[0].expires_at == first and time.monotonic() < deadline:
            time.sleep(0.02)
        assert all_runs(store)[0].expires_at > first


def test_a_lost_lease_cannot_publish(store):
    clock = Clock()
    with Lease(store, "r1", ttl_seconds=100, clock=clock) as lease:
        lease.check()
        clock.now += 130
        with pytest.raises(StoreError, match="run r1 lost its lease 30 s ago"):
            lease.check()


def test_a_lease_that_cannot_be_renewed_is_told_and_tried_again(store, caplog, monkeypatch):
    with Lease(store, "r1", ttl_seconds=0.2) as lease:
        calls = []

        def fail(*_: object) -> None:
            calls.append(1)
            raise StoreError("cannot write: no space")

        with monkeypatch.context() as patch:
            patch.setattr(Store, "write_named", fail)
            deadline = time.monotonic() + 20
            while len(calls) < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
        lease.renew()
        lease.check()
    assert "could not renew the lease of run r1: cannot write: no space" in caplog.text


def test_the_base_is_the_version_that_was_current(store, publishing, documents):
    publishing(store, "v1", documents)
    with Lease(store, "r1"):
        publishing(store, "v2", {"x": "alpha"})
        assert live_runs(store)[0].base == "v1"


@pytest.mark.parametrize("data", [b"", b"nonsense", b'{"run":"other","started_at":1,"expires_at":9e99}'])
def test_a_damaged_lease_is_dated_by_its_files(store, data):
    store.write_named("runs/r1/lease.json", data)
    os.utime(store.path("runs/r1/lease.json"), (5000, 5000))
    assert all_runs(store) == [LeaseRecord("r1", 5000.0, 5300.0)]
    assert names(live_runs(store, now=5299)) == names(expired_runs(store, now=5300)) == ["r1"]


def test_hostile_run_names_are_refused(store):
    with pytest.raises(StoreError, match="is not a name"):
        Lease(store, "../r1")
    with pytest.raises(ValueError, match="was not acquired"):
        Lease(store, "r1").renew()

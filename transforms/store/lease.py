"""Leases: how a run tells others that it lives, so that nobody clears away what it is working on.

A lease is the small file runs/<run>/lease.json with an end that its run keeps moving ahead. A killed run's lease ends
by itself, and at once where one can see that its process is gone; its finished work stays beside it for the next run.
"""

import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import msgspec

from models.errors import StoreError
from transforms.store.files import Store
from transforms.store.pointer import checked_name, read_pointer
from transforms.store.processes import is_gone, this_process

RUNS = "runs"
TTL_SECONDS = 300.0
RENEWALS_PER_TTL = 10

_log = logging.getLogger(__name__)


class LeaseRecord(msgspec.Struct, frozen=True):
    """What lease.json says. Times are in seconds since 1970; `base` is the version that was current at the start.

    `holder` names the process that renews the lease, for those who can see it.
    """

    run: str
    started_at: float
    expires_at: float
    base: str = ""
    holder: str = ""


def lease_path(run: str) -> str:
    """Where a run's lease lies under the root."""
    return f"{RUNS}/{checked_name(run)}/lease.json"


class Lease:
    """The lease of one run: a context manager that renews it from a thread of its own.

    Leaving without an error removes the run's folder with all it holds; leaving with one ends the lease and keeps it.
    """

    def __init__(
        self, store: Store, run: str, ttl_seconds: float = TTL_SECONDS, clock: Callable[[], float] = time.time
    ) -> None:
        self.store = store
        self.run = checked_name(run)
        self.ttl_seconds = ttl_seconds
        self._clock = clock
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None
        self._record: LeaseRecord | None = None

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.release()
        else:
            self.abandon()

    def acquire(self) -> None:
        """Takes the lease and starts to renew it."""
        now, current = self._clock(), read_pointer(self.store)
        base = current.version if current else ""
        self._write(LeaseRecord(self.run, now, now + self.ttl_seconds, base, this_process()))
        self._is_over.clear()
        self._thread = threading.Thread(target=self._keep_renewing, name=f"lease {self.run}", daemon=True)
        self._thread.start()

    def renew(self) -> None:
        """Moves the lease's end ahead."""
        self._write(msgspec.structs.replace(self._held, expires_at=self._clock() + self.ttl_seconds))

    def check(self) -> None:
        """`StoreError` if the lease ran out, so that others may have removed this run's work; ask before publishing."""
        late_seconds = self._clock() - self._held.expires_at
        if late_seconds > 0:
            raise StoreError(
                f"run {self.run} lost its lease {late_seconds:.0f} s ago and cannot publish; "
                f"check that {self.store.root} can be written and run again"
            )

    def release(self) -> None:
        """Ends the lease and removes the run's folder."""
        self._stop()
        self.store.delete_folder(f"{RUNS}/{self.run}")

    def abandon(self) -> None:
        """Ends the lease and leaves the run's work for the next run."""
        self._stop()
        try:
            self._write(msgspec.structs.replace(self._held, expires_at=self._clock()))
        except StoreError as error:  # the error that brought us here is the one to show
            _log.info("the lease of run %s runs out by itself: %s", self.run, error)

    @property
    def _held(self) -> LeaseRecord:
        if self._record is None:
            raise ValueError(f"the lease of run {self.run} was not acquired")
        return self._record

    def _write(self, record: LeaseRecord) -> None:
        self.store.write_named(lease_path(self.run), msgspec.json.encode(record))
        self._record = record

    def _keep_renewing(self) -> None:
        while not self._is_over.wait(self.ttl_seconds / RENEWALS_PER_TTL):
            try:
                self.renew()
            except StoreError as error:
                _log.warning("could not renew the lease of run %s: %s", self.run, error)

    def _stop(self) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None


def all_runs(store: Store) -> list[LeaseRecord]:
    """Every run that has a folder, by name. One whose lease is missing or unreadable is dated by its files."""
    times: dict[str, list[float]] = {}
    for file in store.list(RUNS):
        times.setdefault(file.path.split("/")[1], []).append(file.modified_at)
    return [_read_lease(store, run) or _dated(run, seen) for run, seen in sorted(times.items())]


def live_runs(store: Store, now: float | None = None) -> list[LeaseRecord]:
    """The runs whose lease has not ended, by name."""
    return [record for record in all_runs(store) if _is_live(record, _or_now(now))]


def expired_runs(store: Store, now: float | None = None) -> list[LeaseRecord]:
    """The runs that ended without removing their folder: killed ones and failed ones, by name."""
    return [record for record in all_runs(store) if not _is_live(record, _or_now(now))]


def _is_live(record: LeaseRecord, now: float) -> bool:
    return record.expires_at > now and not is_gone(record.holder)


def _or_now(now: float | None) -> float:
    return time.time() if now is None else now


def _read_lease(store: Store, run: str) -> LeaseRecord | None:
    data = store.find_named(f"{RUNS}/{run}/lease.json")
    if data is None:
        return None
    try:
        record = msgspec.json.decode(data, type=LeaseRecord)
    except msgspec.MsgspecError:
        return None
    return record if record.run == run else None


def _dated(run: str, modified_at: list[float]) -> LeaseRecord:
    return LeaseRecord(run, min(modified_at), max(modified_at) + TTL_SECONDS)

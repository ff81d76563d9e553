"""What cutting paid for that no finished work bears: device time, failed requests, texts read to find boundaries.

Each process keeps its sums in one file of the run, written anew as they grow, so that neither a kill nor work that a
runner does twice loses or doubles them. A kill loses what the last second added.
"""

import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterable

import msgspec

from models.errors import StoreError
from transforms.store.files import Store
from transforms.store.lease import RUNS

FOLDER = "spent"
DETECTED = "detected_tokens"
WASTED_PROMPT, WASTED_ANSWER, DEVICE_MS = "llm_wasted_prompt_tokens", "llm_wasted_answer_tokens", "llm_device_ms"

_WRITE_SECONDS = 1.0


class Spending:
    """The sums of one process in one run. Safe to share between threads."""

    def __init__(self, store: Store, run: str) -> None:
        self._store = store
        self._path = f"{RUNS}/{run}/{FOLDER}/{uuid.uuid4().hex}.json"
        self._sums: Counter[str] = Counter()
        self._is_written = True
        self._written_at = time.monotonic()
        self._lock = threading.Lock()

    def add(self, name: str, amount: int) -> None:
        """Add to a sum; it is durable a second later, if anything else is added then, and after `flush`."""
        with self._lock:
            self._sums[name] += amount
            self._is_written &= not amount
            if time.monotonic() - self._written_at >= _WRITE_SECONDS:
                self._write()

    def flush(self) -> None:
        """Make all sums durable."""
        with self._lock:
            self._write()

    def _write(self) -> None:
        if not self._is_written:
            self._store.write_named(self._path, json.dumps(self._sums).encode())
            self._is_written = True
        self._written_at = time.monotonic()


def spent_in(store: Store, runs: Iterable[str]) -> Counter[str]:
    """The sums of all processes of the runs of these names.

    :raises StoreError: a file holds no sums.
    """
    sums: Counter[str] = Counter()
    for run in runs:
        for file in store.list(f"{RUNS}/{run}/{FOLDER}"):
            sums.update(_read(store, file.path))
    return sums


def _read(store: Store, path: str) -> dict[str, int]:
    try:
        return msgspec.json.decode(store.read_named(path), type=dict[str, int])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreError(
            f"{store.path(path)} is damaged; remove it: what it says was spent is then on no bill"
        ) from error

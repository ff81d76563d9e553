"""Packing contents into work items that cost about the same and are small as records."""

from collections.abc import Iterable, Iterator

import msgspec

from transforms.context import RunContext
from transforms.records import WorkEntry, WorkItem

CHARS_PER_TOKEN = 4
MAX_ENTRIES = 512
MAX_RECORD_BYTES = 128 * 1024


class WorkAhead(msgspec.Struct, frozen=True):
    """What a run is going to cut or encode, known before it pays for anything: contents, and characters of them.

    Of `parts_contents` of them, of `parts_chars`, the blocks decide the cuts: into so many `parts`, as was estimated
    when they were read.
    """

    work_chars: int
    work_contents: int = 0
    parts: int = 0
    parts_chars: int = 0
    parts_contents: int = 0


def write_work_ahead(context: RunContext, ahead: WorkAhead) -> None:
    """Leave it in the run's folder, for whoever watches the run."""
    context.store.write_named(f"runs/{context.run}/plan.json", msgspec.json.encode(ahead))


def read_work_ahead(context: RunContext) -> WorkAhead | None:
    """What was left; None before the run has read everything."""
    data = context.store.find_named(f"runs/{context.run}/plan.json")
    return msgspec.json.decode(data, type=WorkAhead) if data is not None else None


class WorkPacker:
    """Collects entries and hands out full items; what is left at the end is one more."""

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars
        self._start()

    def _start(self) -> None:
        self._entries: list[WorkEntry] = []
        self._n_chars = self._n_bytes = 0

    def add(self, entries: Iterable[WorkEntry]) -> Iterator[WorkItem]:
        """Take entries in order; yield each item that is full."""
        for entry in entries:
            n_bytes = 256 + 4 * len(entry.uri) + sum(len(path) for path in entry.leftovers)
            too_large = self._n_chars + entry.n_chars > self._max_chars or self._n_bytes + n_bytes > MAX_RECORD_BYTES
            if self._entries and (too_large or len(self._entries) >= MAX_ENTRIES):
                yield from self.flush()
            self._entries.append(entry)
            self._n_chars += entry.n_chars
            self._n_bytes += n_bytes

    def flush(self) -> Iterator[WorkItem]:
        """Yield what is left, if anything is."""
        if self._entries:
            yield WorkItem(tuple(self._entries))
            self._start()

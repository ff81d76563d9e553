"""Progress with an estimate of the time left: a bar on a terminal, a plain line every ten seconds elsewhere."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol, TextIO


@dataclass(frozen=True)
class Progress:
    """How far a stage is: `done` of `total` things called `unit`. A `total` of 0 is a total not known yet."""

    stage: str
    done: int
    total: int
    unit: str


Poll = Callable[[], Progress | None]
"""Called from another thread; None while there is nothing to say."""

Watch = Callable[[Poll], AbstractContextManager[None]]
"""What a run is given: `with watch(poll): ...` shows what `poll` returns while the block runs."""


@contextmanager
def watch_progress(poll: Poll, stream: TextIO | None = None, interval_s: float | None = None) -> Iterator[None]:
    """Show what `poll` returns on `stream` (standard error by default) until the block ends, in whatever way.

    A `poll` that raises ends the display with one line that says so; the work it reports on goes on.
    """
    stream = stream or sys.stderr
    display: _Display = _Bar(stream) if stream.isatty() else _Lines(stream)
    ended = threading.Event()
    interval_s = display.interval_s if interval_s is None else interval_s
    thread = threading.Thread(target=_report, args=(poll, display, ended, interval_s), name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(timeout=5)


def format_duration(seconds: float) -> str:
    """Two units at most.

    >>> [format_duration(s) for s in (0.42, 7, 75, 3720, 90000)]
    ['0.4 s', '7.0 s', '1 min 15 s', '1 h 2 min', '25 h 0 min']
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def seconds_left(done: int, total: int, elapsed_s: float) -> float | None:
    """The time left at the pace so far; None where nothing can be said yet.

    >>> seconds_left(25, 100, 10.0)
    30.0
    """
    return elapsed_s * (total - done) / done if 0 < done <= total else None


def _report(poll: Poll, display: "_Display", ended: threading.Event, interval_s: float) -> None:
    try:
        while not ended.wait(interval_s):
            progress = poll()
            if progress is not None:
                display.show(progress)
    except Exception as error:
        display.note(f"progress is not shown any more ({type(error).__name__}: {error}); the run goes on")
    finally:
        display.close()


class _Display(Protocol):
    interval_s: float

    def show(self, progress: Progress) -> None: ...

    def note(self, line: str) -> None: ...

    def close(self) -> None: ...


class _Lines:
    """One line for each interval in which something moved."""

    interval_s = 10.0

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last: Progress | None = None
        self._stage_began_s = time.monotonic()

    def show(self, progress: Progress) -> None:
        if progress == self._last:
            return
        if self._last is not None and progress.stage != self._last.stage:
            self._stage_began_s = time.monotonic()
        self._last = progress
        self.note(self._line(progress))

    def note(self, line: str) -> None:
        print(line, file=self._stream, flush=True)

    def close(self) -> None:
        pass

    def _line(self, progress: Progress) -> str:
        if not progress.total:
            return f"{progress.stage}: {progress.done:,} {progress.unit}"
        left_s = seconds_left(progress.done, progress.total, time.monotonic() - self._stage_began_s)
        eta = f", {format_duration(left_s)} left" if left_s is not None else ""
        percent = 100 * progress.done // progress.total
        return f"{progress.stage}: {progress.done:,} of {progress.total:,} {progress.unit} ({percent} %{eta})"


class _Bar:
    """A bar that redraws itself in place, one for the stage at work."""

    interval_s = 0.5

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[amount]}"),
            TimeRemainingColumn(),
        )
        self._bar = RichProgress(*columns, console=Console(file=stream), transient=True)
        self._stage = ""
        self._bar.start()

    def show(self, progress: Progress) -> None:
        from rich.markup import escape

        amount = f"{progress.done:,}" + (f" of {progress.total:,}" if progress.total else "") + f" {progress.unit}"
        total = progress.total or None
        if progress.stage != self._stage:
            for task in self._bar.task_ids:
                self._bar.remove_task(task)
            self._bar.add_task(escape(progress.stage), total=total, completed=progress.done, amount=escape(amount))
            self._stage = progress.stage
        else:
            self._bar.update(self._bar.task_ids[0], total=total, completed=progress.done, amount=escape(amount))

    def note(self, line: str) -> None:
        self._bar.console.print(line, markup=False, highlight=False)

    def close(self) -> None:
        self._bar.stop()

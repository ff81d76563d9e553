"""How a figure is taken and shown: CPU seconds of this process or of a child, medians, one table."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Figure:
    """A measured ratio with its target. `target` 0 says that there is none; `detail` is what the ratio came from."""

    part: str
    name: str
    value: float
    target: float = 0.0
    at_most: bool = True
    detail: str = ""
    unit: str = ""

    @property
    def verdict(self) -> str:
        if not self.target:
            return ""
        return "met" if (self.value <= self.target) == self.at_most or self.value == self.target else "MISSED"


def cpu_seconds(work: Callable[[], Any], repeats: int = 1) -> float:
    """The median CPU seconds of `work` in this process."""
    return statistics.median(_timed(work) for _ in range(repeats))


def _timed(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def side_by_side(works: dict[str, Callable[[], Any]], repeats: int = 3) -> dict[str, float]:
    """The median CPU seconds of each of `works`, taken in turns after one warm-up, so that all see the same machine."""
    for work in works.values():
        work()
    rounds = [{name: _timed(work) for name, work in works.items()} for _ in range(repeats)]
    return {name: statistics.median(taken[name] for taken in rounds) for name in works}


@dataclass(frozen=True)
class Child:
    """What a child process cost and printed. `peak_kib` is its largest resident set."""

    cpu_seconds: float
    wall_seconds: float
    peak_kib: int
    output: str


def run_child(*arguments: str, threads: int = 1) -> Child:
    """Run `python arguments` from the checkout to its end. Raises `SystemExit` with its last words where it fails.

    A resident set counts from before the child's own start, so measure memory from a small parent.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}
    started = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=CHECKOUT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with {child.returncode}:\n{output[-2000:]}")
    return Child(usage.ru_utime + usage.ru_stime, time.monotonic() - started, usage.ru_maxrss, output)


def show(figures: Iterable[Figure]) -> None:
    """Print figures as one table."""
    rows = [("part", "figure", "value", "target", "", "from")]
    for figure in figures:
        bound = "at most" if figure.at_most else "at least"
        target = f"{bound} {figure.target:g}" if figure.target else "-"
        value = f"{figure.value:.3g}{' ' + figure.unit if figure.unit else ''}"
        rows.append((figure.part, figure.name, value, target, figure.verdict, figure.detail))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        print("  ".join([*cells, row[5]]).rstrip())


def part_parser(description: str) -> argparse.ArgumentParser:
    """A parser with the flags that every part has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print figures as JSON lines for `python -m benchmarks`")
    parser.add_argument("--seed", type=int, default=0, help="of the made-up corpus")
    return parser


def hand_over(figures: Iterable[Figure], as_json: bool) -> None:
    """Print a part's figures, for a person or for the parent process."""
    if as_json:
        for figure in figures:
            print(json.dumps(asdict(figure)))
    else:
        show(figures)


def figures_of(output: str) -> list[Figure]:
    """The figures that a part printed with --json."""
    return [Figure(**json.loads(line)) for line in output.splitlines() if line.startswith('{"part"')]

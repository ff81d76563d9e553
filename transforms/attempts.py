"""What encoder calls cost, read off the names of scratch files, so that the bill can tell what was paid for nothing.

A call leaves a mark before it starts, and its vectors when it has finished. A mark without vectors is a call that was
interrupted: what it cost is not known, so it counts with what it had set out to encode.
"""

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator

from transforms.context import RunContext
from transforms.store.files import Store
from transforms.store.lease import RUNS, expired_runs
from transforms.store.manifest import Manifest

FOLDER = "attempts"


def note_attempt(context: RunContext, key: str, n_tokens: int) -> None:
    """Leave a mark that the item called `key` with about `n_tokens` is about to be encoded."""
    context.store.write_named(f"{context.scratch(FOLDER)}/{n_tokens}-{key}-{uuid.uuid4().hex}", b"")


def attempted_tokens(names: Iterable[str]) -> Iterator[int]:
    """The tokens of each attempt, read off the names of the marks.

    >>> list(attempted_tokens(["runs/a/attempts/120-ab-00ff"]))
    [120]
    """
    return (int(name.rsplit("/", 1)[-1].split("-")[0]) for name in names)


def spent_tokens(paths: Iterable[str]) -> int:
    """Tokens paid for by the runs whose scratch files these are, interrupted calls included.

    >>> spent_tokens(["runs/a/attempts/120-ab-00ff", "runs/a/attempts/90-cd-01ff", "runs/a/vectors/ab-123-0f.arrow"])
    213
    """
    finished: Counter[tuple[str, str]] = Counter()
    begun: Counter[tuple[str, str, int]] = Counter()
    n_tokens = 0
    for path in paths:
        parts = path.split("/")
        words = parts[-1].split("-")
        if parts[2] == FOLDER:
            begun[parts[1], words[1], int(words[0])] += 1
        elif parts[2] == "vectors":
            finished[parts[1], words[0]] += 1
            n_tokens += int(words[-2])
    interrupted = ((number - finished[run, key], estimate) for (run, key, estimate), number in begun.items())
    return n_tokens + sum(max(0, number) * estimate for number, estimate in interrupted)


def spent_by(store: Store, runs: Iterable[str]) -> int:
    """Tokens that the runs of these names paid for."""
    return sum(spent_tokens(file.path for file in store.list(f"{RUNS}/{run}")) for run in runs)


def dead_runs(store: Store, own: str) -> tuple[str, ...]:
    """The runs that ended without clearing their folders away, by name, `own` apart."""
    return tuple(record.run for record in expired_runs(store) if record.run != own)


def unsettled(runs: Iterable[str], base: Manifest | None) -> list[str]:
    """Those of the dead runs whose waste no ledger holds yet; `base` is the current version.

    A run that was killed just after it had published, and those it had settled, may still have their folders.
    """
    settled = {base.run, *base.settled_runs} if base else set()
    return [run for run in runs if run not in settled]

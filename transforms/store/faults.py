"""A test hook: die at a chosen write, as if the machine had been switched off.

`CORPUSMILL_CRASH_AT="units/after:3"` kills the process with SIGKILL when the third file of kind `units` has just got
its final name; `"units/before:3"` when it is complete under its temporary name. Kinds are the folders of the store
(documents, files, rows, contents, snapshots, units, vectors, training, ledger, failures, answers) and `index`,
`manifest`, `pointer`, `lease`, and for the scratch files of a run `scratch`, `scratch-units` and so on, by the folder
they are in; `any` counts every kind except leases, whose number depends on the clock.
Counts are kept per process. Without the variable nothing happens.
"""

import os
import signal
import threading
from collections import Counter

VARIABLE = "CORPUSMILL_CRASH_AT"

_NAMES = {"CURRENT": "pointer", "versions": "manifest", "indexes": "index"}
_lock = threading.Lock()
_seen: Counter[str] = Counter()


def kind_of(path: str) -> str:
    """The kind of a write from its path under the root.

    >>> kind_of("versions/v1/manifest.json"), kind_of("units/0000-0fff/ab.parquet"), kind_of("runs/r/lease.json")
    ('manifest', 'units', 'lease')
    >>> kind_of("runs/r/units/ab.arrow"), kind_of("runs/r/plan.json")
    ('scratch-units', 'scratch')
    """
    folders, _, name = path.rpartition("/")
    top, *below = folders.split("/")
    if top == "runs":
        return "lease" if name == "lease.json" else "-".join(["scratch", *below[1:]])
    return _NAMES.get(top or name, top)


def crash_point(path: str, moment: str) -> None:
    """Dies if the environment asks for it. `moment` is 'before' or 'after' the file at `path` gets its final name."""
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return
    point, _, number = wanted.partition(":")
    kind = kind_of(path)
    if point not in (f"{kind}/{moment}", "" if kind == "lease" else f"any/{moment}"):
        return
    with _lock:
        _seen[point] += 1
        if _seen[point] == int(number or 1):
            os.kill(os.getpid(), signal.SIGKILL)

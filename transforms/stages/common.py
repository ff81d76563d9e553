"""What the stages share: types of what is keyed, names of outputs, counters."""

from collections.abc import Iterable
from typing import Any, Tuple  # noqa: UP035 - Beam's type hints

import apache_beam as beam

import transforms.record_coder  # noqa: F401 - registered for every stage
from transforms.records import Record

Keyed = Tuple[int, Record]  # noqa: UP006
KeyedGroup = Tuple[int, Iterable[Record]]  # noqa: UP006
NOTES, FAILURES, ITEMS, COUNTS = "notes", "failures", "items", "counts"
"""Names of tagged outputs."""


def count(stage: str, name: str, n: int = 1) -> None:
    """Add to a Beam counter. Counters are for watching a run; what is true is computed from rows."""
    beam.metrics.Metrics.counter(f"corpusmill_{stage}", name).inc(n)


def same(element: Any) -> Any:
    """The element: what a tagged output is mapped with to be given its type."""
    return element

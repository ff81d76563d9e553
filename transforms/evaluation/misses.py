"""Why a reference was not retrieved whole: no unit holds it whole, or one does and others were ranked above it.

Only the first calls for overlap or longer units.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transforms.evaluation.extent import Numbers, Spans, union_lengths

Flags = NDArray[np.bool_]


class Misses(NamedTuple):
    """References retrieved whole, and the others: `severed` lie whole in no unit, `outranked` in one that came late."""

    retrieved: int
    severed: int
    outranked: int


def is_retrieved(gold: Spans, retrieved: Spans) -> Flags:
    """Whether the units retrieved for its question cover a reference from end to end, bool (n_gold,)."""
    order = np.argsort(retrieved.questions, kind="stable")
    questions, documents, starts, ends = (field[order] for field in retrieved)
    firsts, lasts = (np.searchsorted(questions, gold.questions, side) for side in ("left", "right"))
    n_units = lasts - firsts
    reference = np.repeat(np.arange(len(n_units)), n_units)
    unit = np.arange(n_units.sum()) - np.repeat(np.cumsum(n_units) - n_units - firsts, n_units)
    starts = np.maximum(starts[unit], gold.starts[reference])
    ends = np.minimum(ends[unit], gold.ends[reference])
    is_part = (documents[unit] == gold.documents[reference]) & (starts < ends)
    parts = Spans(reference[is_part], documents[unit][is_part], starts[is_part], ends[is_part])
    return np.asarray(union_lengths(parts, len(gold.starts)) == gold.ends - gold.starts)


def is_held(gold: Spans, units: Spans) -> Flags:
    """Whether any one of `units` holds a reference from end to end, bool (n_gold,); their questions do not matter."""
    if not len(units.starts):
        return np.zeros(len(gold.starts), np.bool_)
    width = int(max(units.ends.max(), gold.ends.max(initial=0))) + 1
    begins, ends = (units.documents * width + places for places in (units.starts, units.ends))
    order = np.argsort(begins, kind="stable")
    reached = np.maximum.accumulate(ends[order])
    last = np.searchsorted(begins[order], _on_line(gold, gold.starts, width), "right") - 1
    return np.asarray((last >= 0) & (reached[last] >= _on_line(gold, gold.ends, width)))


def count_misses(gold: Spans, retrieved: Spans, units: Spans) -> Misses:
    """What became of the references `gold`; `units` are all units of their documents."""
    came, held = is_retrieved(gold, retrieved), is_held(gold, units)
    return Misses(int(came.sum()), int((~came & ~held).sum()), int((~came & held).sum()))


def _on_line(gold: Spans, places: Numbers, width: int) -> Numbers:
    return gold.documents * width + places

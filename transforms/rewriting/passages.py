"""The sentences of one unit of a document."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from transforms.elements import Unit

Span = tuple[int, int]


def sentences_within(unit: Unit, sentences: Sequence[Span]) -> list[Span]:
    """The parts of a unit that the document's sentences make, which are in order and do not overlap.

    >>> sentences_within(Unit(3, 12, "", 0), [(0, 5), (6, 10), (11, 20), (21, 30)])
    [(3, 5), (6, 10), (11, 12)]
    """
    first = bisect_right(sentences, unit.start, key=lambda span: span[1])
    last = bisect_left(sentences, unit.end, key=lambda span: span[0])
    return [(max(start, unit.start), min(end, unit.end)) for start, end in sentences[first:last]]

"""Where a reference lies in a document as it is now. Quotes are found again after an edit, or counted as lost."""

from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from models.errors import SettingsError
from transforms.evaluation.extent import Numbers
from transforms.evaluation.questions import Reference

Fate = Literal["exact", "found", "moved", "lost", "ambiguous", "document_missing"]
"""What became of a reference.

`exact`: it stands where its span says. `found`: a quote without a span, found once. `moved`: the quote stands
elsewhere than its span says. `lost`: the quote is nowhere. `ambiguous`: it is there more than once, and no span says
which one is meant. `document_missing`: there is no such document.
"""

LAST_SPACE = 0x3000
_SPACES = np.array([point for point in range(LAST_SPACE + 1) if chr(point).isspace()], np.uint32)


class Located(NamedTuple):
    """A reference as a span `[start, end)` of the text, in code points; an empty one where it was not found."""

    start: int
    end: int
    fate: Fate


class SearchedText:
    """A document's text in which quotes are looked up, white space of any kind and length being the same.

    A look-up takes time in proportion to the text, whatever is quoted.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _joined(self) -> str:
        return " ".join(self.text.split())

    @cached_property
    def _words(self) -> tuple[Numbers, Numbers]:
        """Where each word begins, in the text and in `_joined`."""
        points = np.frombuffer(self.text.encode("utf-32-le", "surrogatepass"), np.uint32)
        is_word = np.concatenate([[False], ~np.isin(points, _SPACES), [False]])
        edges = np.flatnonzero(is_word[1:] != is_word[:-1])
        starts, ends = edges[::2], edges[1::2]
        return starts, np.cumsum(np.append(0, (ends - starts + 1)[:-1]))[: len(starts)]

    @property
    def _word_starts(self) -> Numbers:
        return self._words[0]

    @property
    def _joined_starts(self) -> Numbers:
        return self._words[1]

    def find(self, quote: str, near: int | None = None) -> tuple[list[tuple[int, int]], bool]:
        """The span of `quote`, or none, and whether it is the only one.

        With `near`, of several the one that begins closest to it, of two as close the earlier.
        """
        words = " ".join(quote.split())
        first = self._joined.find(words)
        if first < 0:
            return [], False
        last = self._joined.rfind(words)
        if first == last and (place := self.text.find(words)) >= 0:
            return [(place, place + len(words))], True
        if first == last or near is None:
            return [self._span(first, len(words))], first == last
        return [self._closest(words, near)], True

    def _closest(self, words: str, near: int) -> tuple[int, int]:
        at = self._to_joined(near)
        before, after = self._joined.rfind(words, 0, at + len(words)), self._joined.find(words, at)
        spans = [self._span(place, len(words)) for place in (before, after) if place >= 0]
        return min(spans, key=lambda span: abs(span[0] - near))

    def _span(self, place: int, length: int) -> tuple[int, int]:
        return self._to_text(place), self._to_text(place + length - 1) + 1

    def _to_text(self, place: int) -> int:
        word = int(np.searchsorted(self._joined_starts, place, "right")) - 1
        return int(self._word_starts[word] + place - self._joined_starts[word])

    def _to_joined(self, place: int) -> int:
        """The place in `_joined` of a place in the text, or of the first word after it."""
        word = int(np.searchsorted(self._word_starts, place, "right")) - 1
        if word < 0:
            return 0
        following = np.append(self._joined_starts, len(self._joined) + 1)[word + 1]
        return int(min(self._joined_starts[word] + place - self._word_starts[word], following - 1))


def locate(reference: Reference, searched: SearchedText, place: str) -> Located:
    """Where `reference` lies in the text.

    :param place: what an error begins with, such as the file and the line.
    :raises SettingsError: a span without a quote does not lie in the text.
    """
    if reference.quote is None:
        assert reference.start is not None and reference.end is not None
        if reference.end > len(searched.text):
            raise SettingsError(
                f"{place}: the span [{reference.start}:{reference.end}] does not lie in {reference.uri!a}, which has "
                f"{len(searched.text)} characters; correct it, or quote the text"
            )
        return Located(reference.start, reference.end, "exact")
    if _stands_there(reference, searched.text):
        assert reference.start is not None and reference.end is not None
        return Located(reference.start, reference.end, "exact")
    spans, is_only = searched.find(reference.quote, reference.start)
    if not spans:
        return Located(0, 0, "lost")
    if not is_only:
        return Located(0, 0, "ambiguous")
    return Located(*spans[0], "found" if reference.start is None else "moved")


def _stands_there(reference: Reference, text: str) -> bool:
    if reference.start is None or reference.end is None or reference.quote is None:
        return False
    return text[reference.start : reference.end].split() == reference.quote.split()

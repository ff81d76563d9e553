"""A text's sentences as spans: one scan for stops and line ends, each judged by what stands around it."""

import re
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from transforms.sentences.lines import Lines
from transforms.sentences.stops import CLOSERS, SCRIPT_STOPS, STRONG_STOPS, WEAK_STOPS, ends_sentence

VERSION = 2

_STOPS = STRONG_STOPS + WEAK_STOPS + "".join(SCRIPT_STOPS)
# Each alternative begins with one set of characters and cannot fail after it, so that the scan is linear.
_PLACES = re.compile(rf"([{_STOPS}]++{CLOSERS})(\s*+)|[\n\x0c\u2029]\s*+")
_LINE_FEEDS = str.maketrans(dict.fromkeys("\x0b\x85\u2028", "\n"))
_PARAGRAPH_ENDS = re.compile(r"\n[^\S\n]*+\n|[\x0c\u2029]")
_MAX_QUOTED_CHARS = 500


def split_sentences(text: str, breaks: Iterable[int] = ()) -> NDArray[np.int64]:
    """The spans [start, end) of the sentences of `text` in code points, int64 (n, 2), in order, without overlap.

    White space apart they cover the text; none is blank or begins or ends with white space. `breaks` are places where
    a sentence ends in any case, such as the edges of a heading.

    >>> split_sentences("Dr. Wu left at 5.30 p.m. She took v1.2.3 along.").tolist()
    [[0, 24], [25, 47]]
    """
    if any(mark in text for mark in "\x0b\x85\u2028"):
        text = text.translate(_LINE_FEEDS)
    forced = sorted(breaks)
    places = np.unique(np.fromiter([0, *_places(text), *forced, len(text)], np.int64))
    spans = [_stripped(text, start, end) for start, end in zip(places[:-1].tolist(), places[1:].tolist(), strict=True)]
    return np.array([span for span in spans if span[0] < span[1]], np.int64).reshape(-1, 2)


def _places(text: str) -> Iterator[int]:
    """Yields where a sentence begins after another."""
    lines: Lines | None = None
    begun = 0
    for match in _PLACES.finditer(text):
        place, follows = 0, match.end()
        if match[1] is not None:
            place = _end_at_stop(text, match.start(), match.end(1), follows, begun)
        if not place:
            newline = text.find("\n", match.start(), follows)
            if _PARAGRAPH_ENDS.search(text, match.start(), follows):
                place = follows
            elif newline >= 0:
                lines = lines or Lines(text)
                place = follows if lines.break_at(newline) else 0
        if place:
            yield place
            begun = max(place, follows)


def _end_at_stop(text: str, start: int, end: int, follows: int, begun: int) -> int:
    """Where the sentence that began at `begun` ends by the stop at `start`; 0 where it goes on.

    A mark that closes nothing belongs to the next sentence.
    """
    if text[start] in STRONG_STOPS and end == follows < len(text) and _opens(text, end - 1):
        end = follows = end - 1
    first = text[begun : begun + 1]
    return end if ends_sentence(text, start, end, follows, is_casual=first.islower()) else 0


def _opens(text: str, place: int) -> bool:
    """Whether the quotation mark at `place` is the first of its pair: where no space is, only counting tells."""
    mark = text[place]
    if mark not in '"”':
        return False
    seen = max(0, place - _MAX_QUOTED_CHARS)
    line = text.rfind("\n", seen, place) + 1
    if mark == '"':
        return (line > 0 or seen == 0) and text.count('"', line, place) % 2 == 0
    return text.count("“", line or seen, place) <= text.count("”", line or seen, place)


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    kept = text[start:end].rstrip()
    return start + len(kept) - len(kept.lstrip()), start + len(kept)

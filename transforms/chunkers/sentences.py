"""Where sentences and clauses begin, in any script, in linear time."""

import re
from collections.abc import Iterator

from transforms.sentences.stops import STRONG_STOPS, WEAK_STOPS

VERSION = 2

# Each pattern begins with one set of characters and cannot fail after it, so that a scan is fast and linear.
_SENTENCE_END = re.compile(rf"[{STRONG_STOPS}{WEAK_STOPS}]++[\"'”’»)\]」』）】》]*+(\s*+)")
_CLAUSE_END = re.compile(r"[,;:–—，、；：،؛]++(\s*+)")
_ENDS_WITHOUT_SPACE = frozenset(STRONG_STOPS + "，、；：،؛") - frozenset("．﹒")
_LAST_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|\.)*\Z")
_MAX_ABBREVIATION_LETTERS = 8
_ABBREVIATIONS = frozenset(
    re.findall(
        r"\S+",
        "mr mrs ms dr prof st jr sr vs etc e.g i.e cf al fig figs eq nos vol pp approx inc ltd co "
        "corp dept est gen gov rep sen rev hon capt col lt sgt jan feb mar apr jun jul aug sep sept oct "
        "nov dec art sec para bzw z.b d.h usw nr ",
    )
)


def sentence_starts(text: str) -> Iterator[int]:
    """Yields where a sentence begins after another, in order.

    >>> list(sentence_starts("Dr. Wu left. She took v1.2.3 along."))
    [13]
    """
    for match in _SENTENCE_END.finditer(text):
        start, end = match.start(), match.end()
        if text[start] in _ENDS_WITHOUT_SPACE or (match[1] and not _goes_on(text, start, end)):
            yield end


def clause_starts(text: str) -> Iterator[int]:
    """Yields where a clause begins after a comma, semicolon, colon or dash, in order."""
    for match in _CLAUSE_END.finditer(text):
        if match[1] or text[match.start()] in _ENDS_WITHOUT_SPACE:
            yield match.end()


def _goes_on(text: str, stop: int, end: int) -> bool:
    """Whether the mark at `stop` ends no sentence, as what stands at `end` or before the mark shows."""
    return "a" <= text[end : end + 1] <= "z" or (text[stop + 1 : stop + 2].isspace() and _is_abbreviated(text, stop))


def _is_abbreviated(text: str, stop: int) -> bool:
    """Whether the full stop at `stop` ends an initial or a known abbreviation."""
    if text[stop] != ".":
        return False
    word = _LAST_WORD.search(text[max(0, stop - _MAX_ABBREVIATION_LETTERS) : stop])
    if word is None:
        return False
    return (len(word[0]) == 1 and word[0].isupper()) or word[0].lower() in _ABBREVIATIONS

"""Whether a stop ends a sentence: what stands before it, and what follows."""

import re

from transforms.sentences.abbreviations import BEFORE_NUMBERS, GERMAN_MONTHS, MIDDLE, STARTERS, TITLES

# Marks that end a sentence without white space after them: CJK, Devanagari, Arabic, Khmer, Burmese, Ethiopic, Armenian.
STRONG_STOPS = "。！？｡।॥؟۔។៕။።፧։"
WEAK_STOPS = ".!?…‽"
CLOSERS = "\"'”’»›)\\]}」』）》】〉｣"
_OPENERS = re.compile(r"[\s\"'“‘«‹(\[{„‚¿¡*_—–-]*+")
_QUOTES = frozenset("\"'”’»›」』")
_NEXT_WORD = re.compile(r"[^\W_][\w'’]*+")
_MAX_WORD_CHARS = 24
# Marks of vowels are no word characters to `re`, so a word is what is no punctuation.
_LAST_WORD = re.compile(r"[^\s,;:!?()\[\]{}\"'“”‘’«»„/]{1,23}\Z")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]\Z")
_ENUMERATOR = re.compile(r"(?:\A|\n)[^\S\n]*(?:\(?\d{1,3}|[ivxlc]{1,5}|[a-zA-Z])\Z")
# Japanese goes on after a closing bracket with a particle of quotation, any script with a comma.
_GOES_ON_AFTER_QUOTE = frozenset("とっ、，,の")


def ends_sentence(text: str, start: int, end: int, follows: int, *, is_casual: bool = False) -> bool:
    """Whether the run of stops and closing marks [start, end) ends one; `follows` is where white space after it ends.

    `is_casual` says that the sentence itself began in lower case, so that the next one may, too.
    """
    if follows >= len(text):
        return True
    if text[start] in STRONG_STOPS:
        return not (text[end - 1] in _QUOTES and text[follows] in _GOES_ON_AFTER_QUOTE)
    return follows > end and _ends_before_space(text, start, end, follows, is_casual)


def _ends_before_space(text: str, start: int, end: int, follows: int, is_casual: bool) -> bool:
    opened = _OPENERS.match(text, follows)
    first = opened.end() if opened else follows
    if first >= len(text):
        return True
    if text[first] in ",;:،、" or (_begins_low(text, first) and not (is_casual and first == follows)):
        return False
    if _is_ellipsis(text, start, end) and text[first].isalpha() and not text[first].isupper():
        return False
    if text[start] != "." or text[start + 1] in WEAK_STOPS or text[end - 1] in _QUOTES:
        return True
    return not _is_abbreviated(text, start, first)


def _is_ellipsis(text: str, start: int, end: int) -> bool:
    return text[start] == "…" or text[start:end].startswith("...")


def _begins_low(text: str, first: int) -> bool:
    """Whether a lower-case word begins at `first`; names such as iPhone do not count."""
    return text[first].islower() and not text[first + 1 : first + 2].isupper()


def _is_abbreviated(text: str, stop: int, first: int) -> bool:
    """Whether the full stop at `stop` belongs to an abbreviation, initial, ordinal or enumerator before `first`."""
    before = text[max(0, stop - _MAX_WORD_CHARS) : stop]
    if _ENUMERATOR.search(before):
        return True
    found = _LAST_WORD.search(before)
    if found is None:
        return False
    word, following = found[0], _word_at(text, first)
    low = word.lower()
    if low in TITLES or ("." in word and all(part in TITLES for part in low.split("."))):
        return True
    if len(word) == len(following) == 1 and text[first + 1 : first + 2] == ".":
        return True
    if word.isdecimal():
        return len(word) <= 2 and following in GERMAN_MONTHS
    if low in BEFORE_NUMBERS and text[first].isdecimal():
        return True
    if low in MIDDLE or _is_initial(word) or _DOTTED.match(word):
        return following not in STARTERS or text[first + len(following) : first + len(following) + 1] == "."
    return False


def _is_initial(word: str) -> bool:
    return len(word) == 1 and not word.isdecimal() and not word.islower()


def _word_at(text: str, first: int) -> str:
    found = _NEXT_WORD.match(text[first : first + _MAX_WORD_CHARS])
    return found[0] if found else ""

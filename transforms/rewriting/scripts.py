"""Which scripts a text is written in, by words: one of software in Chinese has more letters of ours than of its own."""

import functools
import re
import unicodedata
from collections import Counter

# Raise when a text is judged otherwise.
VERSION = 1

_MAX_LETTERS = 2000
_JAPANESE = frozenset(["HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"])
_EAST = "CJK"
_SPACELESS = frozenset([_EAST, "THAI", "LAO", "KHMER", "MYANMAR"])
_MIN_SHARE = 0.1
_LONG_WITHOUT_KANA = 12
_WORD = re.compile(r"[^\W\d_]+")


def script_of(text: str) -> str:
    """The script of most letters of `text`, as Unicode names it; empty without letters.

    >>> script_of("mill"), script_of("мельница"), script_of("水车")
    ('LATIN', 'CYRILLIC', 'CJK')
    """
    scripts = Counter(map(_script, _letters(text)))
    return scripts.most_common(1)[0][0] if scripts else ""


def writes_another(text: str, own: str) -> bool:
    """Whether a text is in another script than `own`, or of Chinese and Japanese in the other.

    A text that mixes scripts may mix them in another proportion.

    >>> writes_another("It grinds.", "水車は古い。"), writes_another("Kubernetes は新しい。", "Kubernetes の一部です。")
    (True, False)
    """
    said, known = _shares(text), _shares(own)
    if not said or not known:
        return bool(said) != bool(known)
    main, own_main = max(said, key=lambda name: said[name]), max(known, key=lambda name: known[name])
    if main != own_main:
        return said.get(own_main, 0) < _MIN_SHARE or known.get(main, 0) < _MIN_SHARE
    return main == _EAST and _is_of_the_other(_letters(text), _letters(own))


def has_capitals(text: str) -> bool:
    """Whether the script of `text` knows capitals at all."""
    return any(letter.upper() != letter.lower() for letter in text[:_MAX_LETTERS] if letter.isalpha())


def is_spaceless(letter: str) -> bool:
    """Whether a letter is of a script that writes no spaces between words."""
    return not letter.isascii() and _eastern(_script(letter)) in _SPACELESS


def has_marks(text: str) -> bool:
    """Whether words of `text` hold signs that are no letters, as those of Hindi and Thai do."""
    return any(unicodedata.category(mark) in ("Mn", "Mc") for mark in unicodedata.normalize("NFC", text))


def _is_of_the_other(said: list[str], known: list[str]) -> bool:
    """Whether one has kana and the other, if it is long enough to tell, has none."""
    kana, own_kana = (any(_script(letter) in _JAPANESE for letter in letters) for letters in (said, known))
    return (kana and not own_kana) or (own_kana and not kana and len(said) > _LONG_WITHOUT_KANA)


@functools.lru_cache(maxsize=8)  # one passage, and what is said of it one after the other
def _shares(text: str) -> dict[str, float]:
    """The share of each script in the words of a text; a sign of Chinese or Japanese counts as half a word."""
    counts: Counter[str] = Counter()
    for word in _WORD.findall(text[:_MAX_LETTERS]):
        scripts = [_eastern(_script(letter)) for letter in word]
        n_east = scripts.count(_EAST)
        others = Counter(scripts)
        del others[_EAST]
        counts[_EAST] += n_east
        if others:
            counts[others.most_common(1)[0][0]] += 2
    total = sum(counts.values())
    return {script: n / total for script, n in counts.items() if n}


def _letters(text: str) -> list[str]:
    return [letter for letter in text[:_MAX_LETTERS] if letter.isalpha()]


@functools.cache
def _script(letter: str) -> str:
    return unicodedata.name(letter, "?").split(" ")[0]


def _eastern(script: str) -> str:
    return _EAST if script in _JAPANESE else script

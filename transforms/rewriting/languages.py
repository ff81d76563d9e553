"""What the checks of rewritten text know of a language: its small words, pronouns, and words that bound a statement.

English, German, French and Spanish are known. For other languages the checks that need words do not judge, and say so.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

VERSION = 2
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_MIN_SHARE, _MAX_WORDS = 0.08, 2000


class Language(NamedTuple):
    """Words of one language, in lower case.

    `small`: its most frequent words, by which it is known. `pronouns`: words that stand for a subject named elsewhere.
    `demonstratives`: words that do so where no noun follows. `bounds`: families of words that limit a statement.
    `verb_endings`: how a word ends that is a verb, right behind a demonstrative.
    """

    small: frozenset[str]
    pronouns: frozenset[str]
    demonstratives: frozenset[str]
    bounds: dict[str, frozenset[str]]
    capitalises_nouns: bool = False
    verb_endings: Mapping[str, tuple[str, ...]] = {}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LANGUAGES = {
    "en": Language(
        _words("the of and to in a is that for it as was with be by on not he but at are this have from or an they"),
        _words("it he she they him her them its his their theirs we you i"),
        _words("this that these those such"),
        {
            "negation": _words("not no never none neither nor without cannot"),
            "condition": _words("if unless except provided until only otherwise"),
            "bound": _words("least most maximum minimum"),
        },
        verb_endings={"this": ("s", "ed"), "that": ("s", "ed"), "these": ("ed",), "those": ("ed",)},
    ),
    "de": Language(
        _words("der die das und in den von zu mit sich des auf für ist im dem nicht ein eine als auch es an wird er"),
        _words("er sie es ihm ihr ihnen ihn wir"),
        _words("dies dieser diese dieses jener jene jenes solche das"),
        {
            "negation": _words("nicht kein keine keinen keiner nie niemals ohne weder"),
            "condition": _words("wenn falls sofern außer bis nur sonst"),
            "bound": _words("mindestens höchstens maximal minimal"),
        },
        capitalises_nouns=True,
        verb_endings={"dies": ("t",), "das": ("t",)},
    ),
    "fr": Language(
        _words("de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec"),
        _words("il elle ils elles lui leur nous vous je on y en cela ceci ceux celui celle celles ça"),
        _words("ce"),
        {
            "negation": _words("pas ne jamais aucun aucune sans ni n"),
            "condition": _words("si sauf sinon jusqu à seulement excepté"),
            "bound": _words("moins plus maximum minimum"),
        },
    ),
    "es": Language(
        _words("de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le"),
        _words("él ella ellos ellas ello le les nosotros yo esto eso aquello"),
        _words("este esta estos estas ese esa esos esas"),
        {
            "negation": _words("no nunca ningún ninguna sin ni jamás"),
            "condition": _words("si salvo excepto hasta solo sólo"),
            "bound": _words("menos más máximo mínimo"),
        },
    ),
}  # fmt: skip
_LATIN = "LATIN"


def words_of(text: str) -> list[str]:
    """Words of letters, as they are written."""
    return _WORD.findall(text)


def language_of(text: str) -> str:
    """The code of the language whose small words make up most of `text`; empty where none is known or it is unclear.

    >>> language_of("The fee is due by the end of the month."), language_of("費用は月末までに")
    ('en', '')
    """
    words = Counter(word.lower() for word in words_of(text)[:_MAX_WORDS])
    n_words = sum(words.values())
    shares = {
        code: sum(words[word] for word in language.small) / n_words if n_words else 0.0
        for code, language in LANGUAGES.items()
    }
    best, second = sorted(shares, key=lambda code: -shares[code])[:2]
    return best if shares[best] >= _MIN_SHARE and shares[best] > 1.2 * shares[second] else ""


def script_of(text: str) -> str:
    """The script of most letters of `text`, as Unicode names it; empty without letters.

    >>> script_of("mill"), script_of("мельница"), script_of("水车")
    ('LATIN', 'CYRILLIC', 'CJK')
    """
    letters = [letter for letter in text[:_MAX_WORDS] if letter.isalpha()]
    scripts = Counter(unicodedata.name(letter, "?").split(" ")[0] for letter in letters)
    return scripts.most_common(1)[0][0] if scripts else ""


def has_capitals(text: str) -> bool:
    """Whether the script of `text` knows capitals at all."""
    return any(letter.upper() != letter.lower() for letter in text[:_MAX_WORDS] if letter.isalpha())

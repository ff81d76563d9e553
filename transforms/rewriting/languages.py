"""What the checks of rewritten text know of a language: its small words, pronouns, and words that bound a statement.

English, German, French and Spanish are known. For other languages the checks that need words do not judge, and say so.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

VERSION = 3
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_MIN_SHARE, _MAX_WORDS = 0.08, 2000


class Language(NamedTuple):
    """Words of one language, in lower case.

    `small`: its most frequent words, by which it is known. `pronouns`: words that stand for a subject named elsewhere,
    or for its owner. `demonstratives`: words that do so where no noun follows. `subjects`: pronouns that are subjects
    behind one of the `openers`, words that begin with a time or a place. `verb_endings`: how a word ends that is a
    verb, right behind a demonstrative.
    """

    small: frozenset[str]
    pronouns: frozenset[str]
    demonstratives: frozenset[str]
    subjects: frozenset[str]
    openers: frozenset[str]
    capitalises_nouns: bool = False
    verb_endings: Mapping[str, tuple[str, ...]] = {}


def words_in(text: str) -> frozenset[str]:
    """The words of a list of words."""
    return frozenset(text.split())


LANGUAGES = {
    "en": Language(
        words_in("the of and to in a is that for it as was with be by on not he but at are this have from or an they"),
        words_in("it he she they him her them its his their theirs we you i"),
        words_in("this that these those such"),
        words_in("it he she they we"),
        words_in(
            "in on at after before during since until from by for with without within under "
            "however also then therefore today now currently there here"
        ),
        verb_endings={"this": ("s", "ed"), "that": ("s", "ed"), "these": ("ed",), "those": ("ed",)},
    ),
    "de": Language(
        words_in("der die das und in den von zu mit sich des auf für ist im dem nicht ein eine als auch es an wird er"),
        words_in("er sie es ihm ihr ihnen ihn wir sein seine seiner seinem ihre ihrem ihrer unser unsere"),
        words_in("dies dieser diese dieses jener jene jenes solche das"),
        words_in("er sie wir"),
        words_in(
            "in im am an nach vor seit bis während ab um bei mit ohne von zum zur auch dann daher "
            "heute jetzt dort hier außerdem jedoch"
        ),
        capitalises_nouns=True,
        verb_endings={"dies": ("t",), "das": ("t",)},
    ),
    "fr": Language(
        words_in("de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec"),
        words_in(
            "il elle ils elles lui leur leurs nous vous je on y cela ceci ceux celui celle celles ça son sa ses "
            "notre votre"
        ),
        words_in("ce"),
        words_in("il ils elle elles"),
        words_in(
            "en à au aux après avant depuis pendant dès pour avec sans ensuite puis toutefois "
            "cependant aussi"
        ),
    ),
    "es": Language(
        words_in("de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le"),
        words_in(
            "él ella ellos ellas ello le les nosotros yo esto eso aquello éste ésta éstos éstas su sus nuestro "
            "nuestra"
        ),
        words_in("este esta estos estas ese esa esos esas"),
        words_in("él ella ellos ellas ello"),
        words_in("en a al desde hasta durante tras después con sin además luego hoy"),
    ),
}  # fmt: skip
# Their texts would be taken for one of the languages above.
_OTHERS = {
    "pt": words_in("de a o que e do da em um para com não uma os no se na por mais as dos como ao das à ou são foi"),
    "it": words_in("di e il la che è per un in una sono non del della con si da al i le nel alla più dei gli anche"),
    "nl": words_in("de het een van en in is dat op te zijn met voor niet aan er om ook als door naar bij maar"),
    "scandinavian": words_in("och att det som en på är av för med den till inte har ett og at til er de af ikke i om"),
    "ro": words_in("de și în la a cu pe un o nu din care este că sunt"),
    "pl": words_in("w i na z do się nie że jest to od po za przez oraz"),
}


def words_of(text: str) -> list[str]:
    """Words of letters, as they are written."""
    return _WORD.findall(unicodedata.normalize("NFC", text))


def language_of(text: str) -> str:
    """The code of the language whose small words make up most of `text`; empty where none is known or it is unclear.

    >>> language_of("The fee is due by the end of the month."), language_of("費用は月末までに")
    ('en', '')
    """
    shares = _shares(text)
    best, second = sorted(shares, key=lambda code: -shares[code])[:2]
    return best if best in LANGUAGES and shares[best] >= _MIN_SHARE and shares[best] > 1.2 * shares[second] else ""


def speaks_another(text: str, language: str) -> bool:
    """Whether a text is clearly in another one of the known languages than `language`, which may be unknown (empty)."""
    other = language_of(text)
    if not other or not language or other == language:
        return False
    shares = _shares(text)
    return shares[other] > 2 * shares[language]


def _shares(text: str) -> dict[str, float]:
    words = Counter(word.lower() for word in words_of(text)[:_MAX_WORDS])
    n_words = max(sum(words.values()), 1)
    small = {code: language.small for code, language in LANGUAGES.items()} | _OTHERS
    return {code: sum(words[word] for word in known) / n_words for code, known in small.items()}

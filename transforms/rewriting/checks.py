"""Checks of text that a model wrote against the text that it was shown. Each says what it found, or cannot judge.

They are built to let nothing invented pass where they judge; a sound statement may be refused, which costs its passage
nothing but a finer match.
"""

import re
from collections.abc import Sequence

from transforms.rewriting.languages import LANGUAGES, has_capitals, words_of

VERSION = 2

_NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f' ]\d{3})*(?:[.,]\d+)?|\d+(?:[.,]\d+)*")
_GROUPING = re.compile(r"[.,\u00a0\u202f' ](?=\d{3}(?:\D|\Z))")
_CLAUSES = re.compile(r";|, (?:and|but|und|aber|et|mais|y|pero) |\. ")
_SENTENCE_ENDS = frozenset(".!?:…\n")
_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
}


def numbers_of(text: str) -> set[str]:
    """The numbers in `text`, in one spelling: digits without grouping, a point for the fraction, no zeros at its end.

    >>> sorted(numbers_of("1,250 rose to 1.250,50 (4.20 %)"))
    ['1250', '1250.5', '4.2']
    """
    return {_plain(match) for match in _NUMBER.findall(text)}


def _plain(number: str) -> str:
    digits = _GROUPING.sub("", number)
    whole, _, fraction = digits.replace(",", ".").partition(".")
    fraction = fraction.replace(".", "").rstrip("0")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{fraction}" if fraction else whole


def invented_numbers(statement: str, shown: str) -> set[str]:
    """Numbers of a statement that stand nowhere in what was shown, in digits or, up to twenty, in English words."""
    spelled = {_NUMBER_WORDS[word] for word in map(str.lower, words_of(shown)) if word in _NUMBER_WORDS}
    # 1.234 may be a fraction or a thousand: it is known if either is.
    digits = {re.sub(r"\D", "", number) for number in _NUMBER.findall(shown)}
    return {
        number
        for number in numbers_of(statement) - numbers_of(shown) - spelled
        if number.replace(".", "") not in digits
    }


def invented_names(statement: str, shown: str, language: str) -> set[str] | None:
    """Names of a statement that stand nowhere in what was shown; None where names cannot be told from other words.

    A name is a word with a capital that does not begin a sentence, or one with two capitals; case does not matter to
    find it. Languages that write every noun with a capital, and scripts without any, are not judged.
    """
    if not has_capitals(statement) or (language and LANGUAGES[language].capitalises_nouns):
        return None
    known = {_stem(part) for word in words_of(shown) for part in (word, *re.split(r"['’]", word))}
    return {word for word in _names(statement) if _stem(word) not in known}


def _names(text: str) -> list[str]:
    found = []
    for match in re.finditer(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", text):
        word = match[0]
        before = text[: match.start()].rstrip(" \"'“‘«(")
        begins = not before or before[-1] in _SENTENCE_ENDS
        n_capitals = sum(letter.isupper() for letter in word)
        if n_capitals > 1 or (n_capitals and word[0].isupper() and not begins and len(word) > 1):
            found += re.split(r"[-'’]", word)
    return [part for part in found if part and part[0].isupper()]


def _stem(word: str) -> str:
    """A word without case and without the ending of a plural or a possessive."""
    lower = re.sub(r"['’]s$", "", word.lower())
    return lower[:-1] if len(lower) > 3 and lower.endswith("s") else lower


def has_open_subject(statement: str, language: str) -> bool | None:
    """Whether a statement begins with a pronoun or a bare demonstrative; None where the language is unknown."""
    if not language:
        return None
    known = LANGUAGES[language]
    words = [word.lower() for word in words_of(statement)[:2]]
    first, second = [*words, "", ""][:2]
    # "It's" and "l'on": what stands before the apostrophe decides.
    first = re.split(r"['’]", first)[0]
    if first in known.pronouns:
        return True
    is_noun = known.capitalises_nouns and words_of(statement)[1:2] != [second]
    is_bare = not second or second in known.small or second in _VERBS
    is_verb = not is_noun and _is_verb(second, known.verb_endings.get(first, ()))
    return first in known.demonstratives and (is_bare or is_verb)


def _is_verb(word: str, endings: tuple[str, ...]) -> bool:
    """Whether a word ends as a verb does, such as opens and opened, and not as glass, bus and basis."""
    return word.endswith(endings) and not word.endswith(_NOUN_ENDINGS)


_NOUN_ENDINGS = ("ss", "us", "is")


_VERBS = frozenset(
    [
        "is",
        "are",
        "was",
        "were",
        "has",
        "have",
        "had",
        "can",
        "may",
        "must",
        "will",
        "shall",
        "should",
        "does",
        "do",
        "did",
        "means",
        "costs",
        "applies",
        "rises",
        "ist",
        "sind",
        "war",
        "hat",
        "kann",
        "muss",
        "wird",
        "kostet",
        "gilt",
        "beträgt",
        "est",
        "sont",
        "a",
        "peut",
        "doit",
        "coûte",
        "vaut",
        "es",
        "son",
        "fue",
        "puede",
        "debe",
        "cuesta",
        "vale",
    ]
)


def names_a_subject(statement: str, language: str) -> bool:
    """Whether a statement has a word of its own to be about: one that is no small word, or a number beside one."""
    small = LANGUAGES[language].small | LANGUAGES[language].pronouns if language else frozenset()
    own = [word for word in words_of(statement) if word.lower() not in small and (len(word) > 2 or not word.isascii())]
    return len(own) >= (1 if not has_capitals(statement) else 2) or bool(own and numbers_of(statement))


def lost_bounds(statement: str, sources: Sequence[str], language: str) -> set[str] | None:
    """Kinds of limits (negation, condition, bound) that the statement's own clause of the source has and it has not.

    None where the language is unknown. The clause is the part of the source sentences of which it says most.
    """
    if not language:
        return None
    clauses = [clause for source in sources for clause in _CLAUSES.split(source) if clause.strip()]
    own = _family_words(statement)
    if not clauses:
        return set()
    said = max(map(_family_words, clauses), key=lambda words: len(own & words) / max(len(words), 1))
    return {name for name, family in LANGUAGES[language].bounds.items() if said & family and not own & family}


def _family_words(text: str) -> set[str]:
    words = {word.lower().replace("’", "'") for word in words_of(text)} | numbers_of(text)
    return words | {"not" for word in words if word.endswith("n't")}


def overlap(statement: str, source: str) -> int:
    """How many different words two texts share."""
    return len({_stem(word) for word in words_of(statement)} & {_stem(word) for word in words_of(source)})

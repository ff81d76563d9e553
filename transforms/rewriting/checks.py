"""Checks of text that a model wrote against the text that it was shown. Each says what it found, or cannot judge.

They are built to let nothing invented pass where they judge; a sound statement may be refused, which costs its passage
nothing but a finer match.
"""

import functools
import re
import unicodedata
from collections.abc import Sequence

from transforms.rewriting import bounds
from transforms.rewriting.languages import LANGUAGES, words_in, words_of
from transforms.rewriting.quantities import known_numbers, month_named, said_numbers, unknown_numbers
from transforms.rewriting.scripts import has_capitals, has_marks, is_spaceless

VERSION = 3

_SENTENCE_ENDS = frozenset(".!?:…\n")
_MIN_COMMON_LETTERS = 4


def invented_numbers(statement: str, shown: str, language: str = "") -> set[str]:
    """Numbers of a statement, as it spells them, that stand nowhere in what was shown, in any spelling."""
    return unknown_numbers(statement, known_numbers(shown, language), language)


def invented_names(statement: str, shown: str, language: str, *, judges_first: bool = False) -> set[str] | None:
    """Names of a statement that stand nowhere in what was shown; None where names cannot be told from other words.

    A name is a word with a capital that does not begin a sentence, or one with two capitals; case does not matter to
    find it. With `judges_first` the first word is one too, where nothing speaks for a common word. Languages that write
    every noun with a capital, and scripts without any, are not judged.
    """
    if not has_capitals(statement) or (language and LANGUAGES[language].capitalises_nouns):
        return None
    known, numbers = _known(shown, language)
    found = {word for word in _names(statement) if _stem(word) not in known}
    found = {word for word in found if month_named(word) not in numbers}
    return found | (_first_name(statement, known, language) if judges_first else set())


@functools.lru_cache(maxsize=4)  # one passage, and what is said of it one after the other
def _known(shown: str, language: str) -> tuple[frozenset[str], frozenset[str]]:
    """The stems of the words in what was shown, and its numbers."""
    stems = {_stem(part) for word in words_of(shown) for part in (word, *re.split(r"['’]", word))}
    return frozenset(stems), known_numbers(shown, language)


def _first_name(statement: str, known: frozenset[str], language: str) -> set[str]:
    """The word that begins a statement, where it is of no known word's stem and is not likely to be a common word."""
    first = words_of(statement)[:1]
    if not first or not first[0][0].isupper() or not language:
        return set()
    word = re.split(r"['’]", first[0].lower())[-1]
    if len(word) < _MIN_COMMON_LETTERS or word in _common(language) or word.endswith(_COMMON_ENDINGS):
        return set()
    return (
        set()
        if _stem(word) in known or any(word[:_MIN_COMMON_LETTERS] == one[:_MIN_COMMON_LETTERS] for one in known)
        else {first[0]}
    )


def _names(text: str) -> list[str]:
    text = unicodedata.normalize("NFC", text)
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
    words = [word.lower() for word in words_of(statement)[:4]]
    first, second = [*words, "", ""][:2]
    # "It's" and "l'on": what stands before the apostrophe decides.
    first = re.split(r"['’]", first)[0]
    if first in known.pronouns:
        return not _only_introduces(words, language)
    if first in known.openers and _opens_with_a_time(statement, language):
        return True
    is_noun = known.capitalises_nouns and words_of(statement)[1:2] != [second]
    is_bare = not second or second in known.small or second in _VERBS
    is_verb = not is_noun and _is_verb(second, known.verb_endings.get(first, ()))
    return first in known.demonstratives and (is_bare or is_verb)


_INTRODUCTIONS = {
    "en": ("it is forbidden", "it is prohibited", "it is possible", "it is not possible"),
    "de": ("es gibt", "es ist verboten", "es ist möglich"),
    "fr": ("il y a", "il faut", "il est interdit", "il est possible", "on peut", "on ne peut"),
    "es": (),
}


def _only_introduces(words: Sequence[str], language: str) -> bool:
    """Whether a pronoun stands for nothing: there is nothing that it could be taken for."""
    return " ".join(words).startswith(_INTRODUCTIONS[language])


def _opens_with_a_time(statement: str, language: str) -> bool:
    """Whether a pronoun is the subject right behind an opening like "In 1990" or "After midnight"."""
    known, words = LANGUAGES[language], words_of(statement)[1:4]
    before = 0 if language == "de" else 2  # in German the verb comes first
    for number, word in enumerate(words[: before or 3]):
        following = words_of(statement)[number + 2 : number + 3]
        if word.lower() in known.subjects and following != ["y"]:
            return True
        if word.lower() in _DETERMINERS:
            return False
    return False


_DETERMINERS = words_in(
    "the a an every each all no der die das den dem ein eine einen einem einer le la les l un une des el los las"
)


def _is_verb(word: str, endings: tuple[str, ...]) -> bool:
    """Whether a word ends as a verb does, such as opens and opened, and not as glass, bus and basis."""
    return word.endswith(endings) and not word.endswith(_NOUN_ENDINGS)


_NOUN_ENDINGS = ("ss", "us", "is")
_COMMON_ENDINGS = ("ing", "ed", "ly", "ion", "ment", "ness", "ité", "dad", "ción", "ement", "mente")


_VERBS = words_in(
    "is are was were has have had can may must will shall should does do did means costs applies rises "
    "ist sind war hat kann muss wird kostet gilt beträgt est sont a peut doit coûte vaut "
    "es son fue puede debe cuesta vale abre cierra tiene está incluye permite"
)


def names_a_subject(statement: str, language: str) -> bool:
    """Whether a statement has a word of its own to be about: one that is no small word, or a number beside one."""
    small = LANGUAGES[language].small | LANGUAGES[language].pronouns if language else frozenset()
    own = [word for word in words_of(statement) if word.lower() not in small and (len(word) > 2 or not word.isascii())]
    is_one_enough = not has_capitals(statement) or any(map(is_spaceless, statement))
    return len(own) >= (1 if is_one_enough else 2) or bool(own and known_numbers(statement))


def lost_bounds(statement: str, sources: Sequence[str], language: str) -> set[str] | None:
    """Kinds of limits (`bounds`) that the statement's own clause of the source has and it has not.

    None where the language is unknown. The clause is the part of the source sentences of which it says most.
    """
    if not language:
        return None
    clauses = [clause for source in sources for clause in bounds.clauses_of(source, language)]
    if not clauses:
        return set()
    own = set(words_of(statement.lower())) | known_numbers(statement, language)
    said = max(clauses, key=lambda clause: _share(set(words_of(clause.lower())) | known_numbers(clause, language), own))
    return {kind for kind in bounds.bounds_of(said, language) if not bounds.keeps(statement, kind, said, language)}


def adds_negation(statement: str, sources: Sequence[str], language: str) -> bool | None:
    """Whether a statement denies something and its source denies, forbids or excepts nothing; None as above."""
    if not language:
        return None
    if "negation" not in bounds.bounds_of(statement, language):
        return False
    source = " ".join(sources)
    said = bounds.bounds_of(source, language)
    return not said & {"exception", "only"} and not bounds.keeps(source, "negation", statement, language)


def _share(words: set[str], own: set[str]) -> float:
    return len(own & words) / max(len(words), 1)


def terms_of(text: str, language: str) -> set[str]:
    """What a text is about: numbers, beginnings of words that are not small, pairs of signs of spaceless scripts."""
    small = _common(language)
    terms = set(said_numbers(text, language))
    # Marks that are no letters, such as vowel signs, would break a word into pieces.
    for word in text.split() if has_marks(text) else words_of(text):
        if is_spaceless(word[0]) or is_spaceless(word[-1]):
            terms |= {word[at : at + 2] for at in range(max(len(word) - 1, 1))}
        else:
            terms |= {
                _beginning(part) for part in re.split(r"['’]", word.lower()) if len(part) > 2 and part not in small
            }
    return terms


def _beginning(word: str) -> str:
    stem = _stem(word.strip("।॥.,;:!?؟،()\"'").removeprefix("ال"))
    return stem[:5]


def _common(language: str) -> frozenset[str]:
    if not language:
        return frozenset()
    known = LANGUAGES[language]
    return known.small | known.pronouns | known.demonstratives | known.openers | _VERBS | _DETERMINERS

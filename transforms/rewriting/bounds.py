"""Words that limit a statement: negations, conditions, exceptions, ends, exclusive words, least and most amounts."""

import functools
import re
import unicodedata

from transforms.rewriting.quantities import known_numbers

# Raise when other limits are found in a text.
VERSION = 1

# For each language and kind: what says it, and behind the bar what else says the same of it. A kind takes its words
# away from the ones after it, so that "not more than" denies nothing.
_BOUNDS = {
    "en": {
        "most": "at most, no more than, not more than, up to, less than, fewer than, or less, or fewer, maximum"
        " | not exceed, not exceeding, under, below, within, limit, limited",
        "least": "at least, no less than, not less than, no fewer than, more than, or more, minimum"
        " | over, above, exceeds, exceed",
        "exception": "unless, except, excepting, excluding, apart from, other than, with the exception"
        " | excluded, only",
        "only": "only, solely, exclusively | just, no other, alone, nothing but, unless, except, must",
        "condition": "if, provided, providing, as long as, on condition, in case, otherwise, subject to"
        " | when, whenever, with, without, must, unless, once, who, whose, requires, require",
        "end": "until, till | to, up to, before, through, by, ends, end, expires, expire",
        "negation": "not, no, never, none, neither, nor, without, cannot, nobody, nothing, no longer"
        " | lacks, lack, free of, excluded, forbidden, prohibited, banned, refused, unable, impossible, only",
    },
    "de": {
        "most": "höchstens, maximal, bis zu, nicht mehr als, weniger als | unter, maximum, innerhalb",
        "least": "mindestens, minimal, wenigstens, nicht weniger als, mehr als | über, minimum, ab",
        "exception": "außer, ausgenommen, es sei denn, mit ausnahme | nur, ausnahme",
        "only": "nur, ausschließlich, lediglich | allein, außer, muss, müssen",
        "condition": "wenn, falls, sofern, soweit, vorausgesetzt, sonst, andernfalls, unter der bedingung"
        " | bei, mit, ohne, muss, müssen, nur, wer, es sei denn, sobald",
        "end": "bis | vor, endet, enden, ende",
        "negation": "nicht, kein, keine, keinen, keinem, keiner, keines, nie, niemals, ohne, weder, niemand, nichts"
        " | verboten, untersagt, ausgeschlossen, nur",
    },
    "fr": {
        "most": "au plus, au maximum, moins de, pas plus de, jusqu à concurrence | maximum, sous, maximal, limite",
        "least": "au moins, au minimum, plus de, pas moins de | minimum, minimal",
        "exception": "sauf, excepté, hormis, à moins, à l exception | hors, exception",
        "only": "seulement, uniquement, exclusivement, seul, seule, seuls, seules | que",
        "condition": "si, s il, s ils, s elle, s elles, à condition, sinon, en cas, pourvu"
        " | quand, lorsque, avec, sans, doit, doivent, sous réserve, qui",
        "end": "jusqu | avant, à, fin, expire",
        "negation": "pas, ne, n, jamais, aucun, aucune, sans, ni, non, personne, rien"
        " | interdit, interdite, interdits, refusé, refusés, exclu, exclus",
    },
    "es": {
        "most": "como máximo, a lo sumo, menos de, no más de, máximo | máxima, límite, hasta",
        "least": "al menos, por lo menos, como mínimo, más de, mínimo | mínima",
        "exception": "salvo, excepto, a menos que, menos los, menos las, a excepción | excepción, solo, sólo",
        "only": "solo, sólo, solamente, únicamente, exclusivamente | sino, únicos, únicas, único, única",
        "condition": "si, siempre que, con tal, a condición, en caso, de lo contrario"
        " | cuando, con, sin, debe, deben, quien, quienes",
        "end": "hasta | antes, a, fin, termina",
        "negation": "no, nunca, ningún, ninguna, ninguno, sin, ni, jamás, nadie, nada"
        " | prohibido, prohibida, prohibidos, prohíbe, prohíben, excluido",
    },
}
_AMOUNTS = ("most", "least")
_MAX_WORDS_TO_AMOUNT = 3
# Words that are verbs wherever they stand, so that what they begin is a clause of its own.
_VERBS = {
    "en": "is are was were has have had can may must will shall should does do did",
    "de": "ist sind war waren hat haben hatte kann können darf dürfen muss müssen wird werden",
    "fr": "est sont était étaient a ont avait peut peuvent doit doivent sera seront coûte",
    "es": "es son era eran está están fue fueron ha han puede pueden debe deben será serán se cuesta",
}
_BEFORE_NOUNS = ("el", "la", "los", "las", "un", "una", "en", "a", "al", "de", "para", "con")
_JOINTS = {"en": "and but", "de": "und aber sondern", "fr": "et mais", "es": "y e pero sino"}

_SHORTENED = re.compile(r"n['’]t\b", re.IGNORECASE)
_ONLY_SEEMING = {"en": " not only ", "de": " nicht nur ", "fr": " non seulement ", "es": " no solo "}


def bounds_of(text: str, language: str) -> set[str]:
    """The kinds of limits that the words of `text` set."""
    line, found = _line(text, language), set()
    for kind, (said, _) in _patterns(language).items():
        line, n_found = said.subn(" ", line)
        found |= {kind} if n_found else set()
    return found


def keeps(statement: str, kind: str, clause: str, language: str) -> bool:
    """Whether a statement has the limit of this kind that `clause` has, said in one way or another.

    A least or most amount is only missed by a statement that says the amount.
    """
    said, alike = _patterns(language)[kind]
    if kind in bounds_of(statement, language) or alike.search(_line(statement, language)):
        return True
    if kind not in _AMOUNTS or not (match := said.search(_line(clause, language))):
        return False
    following = " ".join(_line(clause, language)[match.end() :].split()[:_MAX_WORDS_TO_AMOUNT])
    amounts = known_numbers(following, language)
    return bool(amounts) and not amounts & known_numbers(statement, language)


def clauses_of(sentence: str, language: str) -> list[str]:
    """The clauses of a sentence; one that is a limit without a verb belongs to the one before it."""
    parts = _joint(language).split(sentence)
    clauses = [parts[0]]
    for joint, part in zip(parts[1::2], parts[2::2], strict=True):
        if _only_limits(part, language):
            clauses[-1] += joint + part
        else:
            clauses.append(part)
    return [clause for clause in clauses if clause.strip()]


def _only_limits(clause: str, language: str) -> bool:
    line = _line(clause, language)
    ends = [match.end() for said, _ in _patterns(language).values() if (match := said.match(line))]
    following = set(line[max(ends) :].split()[:1]) if ends else set()
    if line.split()[:1] in (["no"], ["ne"], ["n"]) and language in ("es", "fr"):
        return bool(following & set(_BEFORE_NOUNS))  # else a verb follows
    return bool(ends) and not following & set(_VERBS[language].split())


@functools.cache
def _joint(language: str) -> re.Pattern[str]:
    words, verbs = ("|".join(one[language].split()) for one in (_JOINTS, _VERBS))
    begins = rf"(?:{verbs}|not|nicht|ne|no)\b|n['’]"
    return re.compile(rf"(; |, (?:{words}) |, (?:of )?(?:which|whose|dont) | (?:{words}) (?={begins}))", re.IGNORECASE)


def _line(text: str, language: str) -> str:
    words = re.findall(r"[^\W_]+", _SHORTENED.sub(" not", unicodedata.normalize("NFC", text)).lower())
    return f" {' '.join(words)} ".replace(_ONLY_SEEMING[language], " ")


@functools.cache
def _patterns(language: str) -> dict[str, tuple[re.Pattern[str], re.Pattern[str]]]:
    return {kind: tuple(map(_pattern, phrases.split("|"))) for kind, phrases in _BOUNDS[language].items()}  # type: ignore[misc]


def _pattern(phrases: str) -> re.Pattern[str]:
    longest_first = sorted((phrase.strip() for phrase in phrases.split(",")), key=len, reverse=True)
    return re.compile(f" (?:{'|'.join(longest_first)})(?= )")

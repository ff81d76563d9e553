"""The numbers that a text says, however they are spelled, and those of a statement that nothing shown says."""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from transforms.rewriting.number_words import (
    CARDINALS,
    FIRST_WORDS,
    HAN_NUMERALS,
    HAN_UNITS,
    LOOSE,
    MAX_WORDS,
    MONTHS,
    han_value,
    roman_value,
)

# Raise when a text says other numbers.
VERSION = 1

# Digits joined by single marks; a space joins only groups of three.
_NUMBER = re.compile(r"\d+(?:[.,']\d+| \d{3}(?!\d))*")
_MARK = re.compile(r"[.,' ]")
_HOUR = re.compile(r"(?<![\d.,:])(\d{1,2})[.:](\d\d)(?= ?(?:uhr|h|[ap]\.?m|hrs?)\b)", re.IGNORECASE)
_FULL_HOUR = re.compile(r"(?<![\d.,:])(\d{1,2}):00(?![\d:])")
_AFTERNOON = re.compile(r"(?<![\d.,:])(1[01]|[1-9])((?::\d\d)?)(?= ?p\.?m\b)", re.IGNORECASE)
_DATE = re.compile(r"(?<!\d)\d{1,4}([-/.])(\d{1,2})(?:\1(\d{1,4}))?(?!\d)")
_WORD = re.compile(r"[^\W\d_]+")
_SCALES = {
    "hundred": 2, "hundert": 2, "cents": 2, "thousand": 3, "tausend": 3, "tsd": 3, "mille": 3, "mil": 3, "k": 3,
    "million": 6, "millions": 6, "millionen": 6, "mio": 6, "millón": 6, "millones": 6,
    "billion": 9, "billions": 9, "bn": 9, "milliarde": 9, "milliarden": 9, "mrd": 9, "milliard": 9, "milliards": 9,
    "trillion": 12, "trillions": 12, "billionen": 12, "billón": 12, "billones": 12,
    "百": 2, "千": 3, "万": 4, "萬": 4, "亿": 8, "億": 8,
}  # fmt: skip
_SCALE = re.compile(r"[ -]?([百千万萬亿億]|[^\W\d_]+)")
_HAN = re.compile(f"[{HAN_NUMERALS}]+")
_ROMAN = re.compile(r"\b[IVXLCDM]{2,12}\b")
_BEFORE_MONTH = re.compile(r"\d(?:st|nd|rd|th|er|\.)? ?(?:of |de |-|/)?\Z")
_AFTER_MONTH = re.compile(r"\.?,? ?(?:de |del |-|/)?\d")
_MAX_HAN = 24


class _Ascii(dict[int, str]):
    """Maps digits of any script to ours, and marks within numbers to those of ASCII."""

    def __missing__(self, code: int) -> str:
        mark = chr(code)
        self[code] = str(unicodedata.decimal(mark)) if mark.isdecimal() else mark
        return self[code]


_ASCII = _Ascii(
    {ord("٫"): ".", ord("．"): ".", ord("٬"): ",", ord("’"): "'"}
    | dict.fromkeys(map(ord, "\u00a0\u202f\u2009\n\t"), " ")
)


class Said(NamedTuple):
    """One number of a text: how it stands there, and sets of values of which one must be known for it to be known."""

    spelled: str
    readings: tuple[frozenset[str], ...]


def known_numbers(shown: str, language: str = "") -> frozenset[str]:
    """Every value that a number in `shown` may have, in one spelling, from digits, words and numerals."""
    text = _plain(shown)
    said = [*_in_digits(text), *_in_digits(_by_24_hours(text)), *_in_words(text, language)]
    known = {value for one in said for reading in one.readings for value in reading}
    known |= {value.removeprefix("month ") for value in known} | _months_in_digits(text)
    known |= {str(value) for word in _words(text) if (value := LOOSE.get(language, {}).get(word)) is not None}
    known |= {str(han_value(found[0])) for found in _HAN.finditer(text) if len(found[0]) <= _MAX_HAN}
    return frozenset(known | {str(roman_value(found[0])) for found in _ROMAN.finditer(text)})


def said_numbers(text: str, language: str = "") -> frozenset[str]:
    """Every value of the numbers that a text says for certain: those that a statement of it is judged by."""
    return frozenset(value for one in _said(text, language) for reading in one.readings for value in reading)


def unknown_numbers(statement: str, known: frozenset[str], language: str = "") -> set[str]:
    """Numbers of a statement, as they stand there, of which no reading is among the known ones.

    Digits are judged in every language, words from two to 99 in those of `number_words`, and Chinese numerals from ten.
    """
    said = _said(statement, language)
    return {one.spelled for one in said if not any(reading <= known for reading in one.readings)}


def _said(text: str, language: str) -> list[Said]:
    text = _by_24_hours(_plain(text))
    return [*_in_digits(text), *_in_words(text, language), *_in_han(text)]


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFC", text).translate(_ASCII)
    return _FULL_HOUR.sub(r"\1", _HOUR.sub(r"\1:\2", text))


def _by_24_hours(text: str) -> str:
    return _AFTERNOON.sub(lambda hour: f"{int(hour[1]) + 12}{hour[2]}", text)


def month_named(word: str) -> str:
    """The value that the name of a month has among known numbers; empty for other words."""
    return f"month {MONTHS[word.lower()]}" if word.lower() in MONTHS else ""


def _months_in_digits(text: str) -> set[str]:
    parts = {int(part) for match in _DATE.finditer(text) for part in re.split(r"[-/.]", match[0])}
    return {f"month {part}" for part in parts if 1 <= part <= len(set(MONTHS.values()))}


def _in_digits(text: str) -> Iterator[Said]:
    for match in _NUMBER.finditer(text):
        readings = _readings(match[0])
        n_places = _scale(text, match.end())
        if n_places and len(readings) > 1:
            readings = readings[:1]  # what is in millions is one number
        yield Said(match[0], tuple(frozenset(_shifted(value, n_places) for value in one) for one in readings))


def _in_words(text: str, language: str) -> Iterator[Said]:
    """Numbers and months that are words; of the numbers those that nothing else is likely to be meant by."""
    cardinals, firsts = CARDINALS.get(language, {}), FIRST_WORDS.get(language, set())
    found = [(match[0].lower(), match.start(), match.end()) for match in _WORD.finditer(text)]
    at = 0
    while at < len(found):
        word, start, end = found[at]
        for n_words in range(MAX_WORDS if word in firsts else 0, 0, -1):
            value = cardinals.get(" ".join(one[0] for one in found[at : at + n_words]), 0)
            if value > 1 or (value == 1 and n_words == 1 and word in ("one", "eins", "uno")):
                end = found[min(at + n_words, len(found)) - 1][2]
                n_places = _scale(text, end)
                if value > 1 or n_places:
                    yield Said(text[start:end], (frozenset({_shifted(str(value), n_places)}),))
                at += n_words - 1
                break
        if word in MONTHS and _is_month(text, start, end):
            yield Said(text[start:end], (frozenset({month_named(word)}),))
        at += 1


def _is_month(text: str, start: int, end: int) -> bool:
    beside = text[max(start - 8, 0) : start]
    return bool(_BEFORE_MONTH.search(beside) or _AFTER_MONTH.match(text, end))


def _in_han(text: str) -> Iterator[Said]:
    for match in _HAN.finditer(text):
        numerals = match[0]
        is_number = (
            1 < len(numerals) <= _MAX_HAN and numerals[0] not in "百千万萬亿億零〇" and set(numerals) & set(HAN_UNITS)
        )
        if is_number and not text[max(match.start() - 1, 0) : match.start()].isdigit():
            yield Said(numerals, (frozenset({str(han_value(numerals))}),))


def _words(text: str) -> list[str]:
    return [match[0].lower() for match in _WORD.finditer(text)]


def _scale(text: str, at: int) -> int:
    """By how many places the words behind a number shift it: 6 for millions."""
    n_places = 0
    while (match := _SCALE.match(text, at)) and (places := _SCALES.get(match[1].lower(), 0)):
        if match[1] == "K" or (match[1] == "k" and match[0] != "k"):
            break
        n_places, at = n_places + places, match.end()
    return n_places


def _readings(number: str) -> tuple[frozenset[str], ...]:
    """The ways to read a number: as one value, in the parts that spaces make, or in those of a date or a list."""
    groups, marks = _MARK.split(number), _MARK.findall(number)
    values = [frozenset({value}) for value in _values(groups, marks)]
    if " " in marks:
        parts = [_values(_MARK.split(part), _MARK.findall(part)) for part in number.split(" ")]
        if all(parts):
            values.append(frozenset(part[0] for part in parts))
    elif not values:
        values.append(frozenset({number}))  # a version, or an address
        if set(marks) == {","} or (len(groups) == 3 and 4 in map(len, groups)):
            values.append(frozenset(map(_trimmed, groups)))
    return tuple(values)


def _values(groups: list[str], marks: list[str]) -> list[str]:
    """What a number may be worth as a whole: 1.250 is a thousand or a fraction."""
    if not marks:
        return [_trimmed(groups[0])]
    found = []
    if len(set(marks)) == 1 and _is_grouped(groups, marks[0]):
        found.append(_trimmed("".join(groups)))
    is_fraction = len(marks) == 1 or (
        marks[-1] not in marks[:-1] and len(set(marks[:-1])) == 1 and _is_grouped(groups[:-1], marks[0])
    )
    if marks[-1] in ".," and is_fraction:
        found.append(_trimmed("".join(groups[:-1]), groups[-1]))
    return found


def _is_grouped(groups: list[str], mark: str) -> bool:
    first, inner, last = groups[0], groups[1:-1], groups[-1]
    in_lakhs = mark == "," and bool(inner) and len(first) < 3 and all(len(group) == 2 for group in inner)
    in_thousands = all(len(group) == 3 for group in inner)
    return len(last) == 3 and 0 < len(first) < 4 and first[0] != "0" and (in_thousands or in_lakhs)


def _trimmed(whole: str, fraction: str = "") -> str:
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _shifted(value: str, n_places: int) -> str:
    whole, _, fraction = value.partition(".")
    if not n_places or "." in fraction:
        return value
    fraction = fraction.ljust(n_places, "0")
    return _trimmed(whole + fraction[:n_places], fraction[n_places:])

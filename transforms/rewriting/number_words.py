"""Numbers and months as words, in English, German, French and Spanish, and in Chinese and Roman numerals."""

from collections.abc import Iterator

MAX_WORDS = 5
"""Words of the longest number that is known, with the "et" that it may be written with."""

_SMALL = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen",
    "de": "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
    "siebzehn achtzehn neunzehn",
    "fr": "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept "
    "dix-huit dix-neuf",
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis "
    "diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis "
    "veintisiete veintiocho veintinueve",
}
_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "fr": "vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt",
    "es": "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
}
# Words that say a number in a source, and are too often something else to be held against a statement.
_LOOSE = {
    "en": {
        1: "a an once single first", 2: "both pair couple twice second", 3: "third thrice", 4: "fourth",
        5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth", 9: "ninth", 10: "tenth decade", 11: "eleventh",
        12: "twelfth dozen", 100: "hundred century", 1000: "thousand",
    },
    "de": {1: "ein eine einen einem einer eines einmal", 2: "beide beiden zweimal paar", 12: "dutzend",
           100: "hundert jahrhundert", 1000: "tausend"},
    "fr": {1: "une premier première", 2: "deuxième second seconde", 3: "troisième", 4: "quatrième", 5: "cinquième",
           10: "dixième décennie", 12: "douzaine", 100: "cent siècle", 1000: "mille"},
    "es": {1: "un una primer primero primera", 2: "ambos ambas segundo segunda", 3: "tercer tercero tercera",
           4: "cuarto cuarta", 5: "quinto quinta", 10: "décimo década", 12: "docena", 100: "cien ciento siglo",
           1000: "mil"},
}  # fmt: skip
_LEAST_CERTAIN = 2
_JOINTS = ("", "et ")
_GERMAN_ORDINALS = "erst zweit dritt viert fünft sechst siebt acht neunt zehnt elft zwölft"
_MONTHS = (
    "january jan januar janvier enero", "february feb februar février febrero", "march mar märz mars marzo",
    "april apr avril abril", "may mai mayo", "june jun juni juin junio", "july jul juli juillet julio",
    "august aug août agosto", "september sep sept septembre septiembre", "october oct oktober okt octobre octubre",
    "november nov novembre noviembre", "december dec dezember dez décembre diciembre",
)  # fmt: skip

_HAN_DIGITS = {mark: value for value, marks in enumerate(["零〇", "一", "二两兩", *"三四五六七八九"]) for mark in marks}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000}
_HAN_MYRIADS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
HAN_NUMERALS = "".join([*_HAN_DIGITS, *_HAN_UNITS, *_HAN_MYRIADS])
HAN_UNITS = "".join([*_HAN_UNITS, *_HAN_MYRIADS])
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}

MONTHS = {word: number for number, words in enumerate(_MONTHS, 1) for word in words.split()}
"""The month, from 1, that a word in lower case names."""


def _cardinals(language: str) -> Iterator[tuple[str, int]]:
    small, tens = _SMALL[language].split(), _TENS[language].split()
    yield from ((word, value) for value, word in enumerate(small))
    for number, ten in enumerate(tens, 2):
        base = 10 * number
        if language == "fr":
            yield from _french(ten, base, small)
            continue
        yield ten, base
        for unit in range(1, 10):
            if language == "de":
                yield f"{'ein' if unit == 1 else small[unit]}und{ten}", base + unit
            elif language == "en" or base > 20:
                yield f"{ten} {'y ' if language == 'es' else ''}{small[unit]}", base + unit


def _french(ten: str, base: int, small: list[str]) -> Iterator[tuple[str, int]]:
    if base not in (70, 90):
        yield from ((ten, base), (f"{ten}s", base))
        yield from ((f"{ten} {joint}{small[unit]}", base + unit) for unit in range(1, 10) for joint in _JOINTS)
    else:
        yield from ((f"{ten} {joint}{small[unit]}", base - 10 + unit) for unit in range(10, 20) for joint in _JOINTS)


def _spaced(words: str) -> str:
    return words.replace("-", " ")


CARDINALS = {language: {_spaced(words): value for words, value in _cardinals(language)} for language in _SMALL}
"""For each language: numbers below 100, as words in lower case with one space between."""

FIRST_WORDS = {language: {words.split()[0] for words in numbers} for language, numbers in CARDINALS.items()}
"""For each language: the words that such a number begins with."""

LOOSE = {
    language: {word: value for value, words in numbers.items() for word in words.split()}
    | {words: value for words, value in CARDINALS[language].items() if value < _LEAST_CERTAIN}
    for language, numbers in _LOOSE.items()
}
"""For each language: words that may say a number, or something else."""
LOOSE["de"] |= {
    f"{stem}e{ending}": value
    for value, stem in enumerate(_GERMAN_ORDINALS.split(), 1)
    for ending in ("", "n", "r", "s", "m")
}


def han_value(numerals: str) -> int:
    """The value of Chinese numerals, those of a year too.

    >>> han_value("三十"), han_value("一万二千"), han_value("二〇二三")
    (30, 12000, 2023)
    """
    total = section = number = 0
    for mark in numerals:
        if mark in _HAN_DIGITS:
            number = 10 * number + _HAN_DIGITS[mark]
        elif mark in _HAN_UNITS:
            section, number = section + (number or 1) * _HAN_UNITS[mark], 0
        else:
            myriad = _HAN_MYRIADS[mark]
            open_ones, done = (total, 0) if myriad > total else (0, total)
            total, section, number = done + (open_ones + section + number) * myriad, 0, 0
    return total + section + number


def roman_value(numerals: str) -> int:
    """The value of Roman numerals, such as XIV.

    >>> roman_value("XIV"), roman_value("MMXXIV")
    (14, 2024)
    """
    values = [_ROMAN[mark] for mark in numerals]
    return sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True))

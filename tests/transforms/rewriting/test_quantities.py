"""A number is known however it is spelled, and no other number is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.rewriting.number_words import CARDINALS, han_value, roman_value
from transforms.rewriting.quantities import known_numbers, said_numbers, unknown_numbers

LANGUAGES = st.sampled_from(["", *CARDINALS])


def unknown(statement, shown, language="en"):
    return unknown_numbers(statement, known_numbers(shown, language), language)


@given(st.text() | st.text("0123456789.,' -/:三十千万 IVXpm"), LANGUAGES)
def test_a_text_knows_its_own_numbers(text, language):
    assert unknown(text, text, language) == set()
    assert said_numbers(text, language) <= known_numbers(text, language)


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_another_number_is_unknown(number, other):
    assert bool(unknown(f"It costs {other}.", f"It costs {number}.")) is (number != other)


@pytest.mark.parametrize("language", CARDINALS)
def test_words_are_known_as_digits_and_digits_as_words(language):
    assert set(CARDINALS[language].values()) == set(range(100))
    for words, number in CARDINALS[language].items():
        assert unknown(str(number), f"x {words} x", language) == set()
        assert unknown(words, f"x {number} x", language) == set()
        assert bool(unknown(words, "x 123 x", language)) is (number > 1)


@pytest.mark.parametrize(
    ("statement", "shown", "language"),
    [("300 in 2024", "In 2024 300 people", "en"), ("3 May 2019", "on 2019-05-03", "en"), ("3 May", "03/05/2019",
     "en"),
     ("3. Mai 2024", "am 03.05.2024", "de"), ("on 03.05.2024", "3 May 2024", "en"), ("9:30", "9.30 Uhr", "de"),
     ("18", "18.00 Uhr", "de"), ("9:00", "at 9", "en"), ("5:30 p.m.", "17:30", "en"), ("17:30", "5:30 pm", "en"),
     ("1,200,000", "1.2 million", "en"), ("1.2 million", "1,200,000", "en"), ("zwei Millionen", "2 Mio.", "de"),
     ("5 mil", "5000", "es"), ("twenty five", "25", "en"), ("25", "twenty-five", "en"), ("3rd", "the third", "en"),
     ("12000", "1.2万", ""), ("30", "三十", ""), ("4.20", "٤٫٢٠", ""), ("٤٫٢٠", "4.20", ""), ("１２", "12", ""),
     ("14", "Louis XIV", "en"), ("100000", "1,00,000", "en"), ("1 250", "1'250", "fr"), ("v1.2.3", "v1.2.3", "en"),
     ("1, 2 and 3", "1,2,3", "en"), ("20 pour cent", "20 %", "fr"), ("in May", "it may be", "en"), ("10k", "10,000",
     "en")],
)  # fmt: skip
def test_one_number_in_two_spellings(statement, shown, language):
    assert unknown(statement, shown, language) == set()


@pytest.mark.parametrize(
    ("statement", "shown", "language"),
    [("12.5", "1.25", "en"), ("42.0", "4.20", "en"), ("five euros", "three euros", "en"), ("zwölf", "zehn", "de"),
     ("neuf euros", "8 euros", "fr"), ("tres", "dos", "es"), ("1.2 billion", "1.2 million", "en"), ("12",
     "12 million", "en"),
     ("3 June 2019", "2019-05-03", "en"), ("12. Oktober", "12. September, zehn Wochen", "de"), ("五十", "三十", ""),
     ("1.2亿", "1.2万", ""), ("3.2.1", "1.2.3", "en"), ("125", "1.25", "en"), ("٣١", "30", ""), ("17:30", "5:30",
     "en"),
     ("2024300", "In 2024 3000 people", "en")],
)  # fmt: skip
def test_two_numbers(statement, shown, language):
    assert unknown(statement, shown, language)


@given(st.integers(1, 3999))
def test_roman_numerals(number):
    signs = [("M", 1000), ("CM", 900), ("D", 500), ("CD", 400), ("C", 100), ("XC", 90), ("L", 50), ("XL", 40),
     ("X", 10),
             ("IX", 9), ("V", 5), ("IV", 4), ("I", 1)]  # fmt: skip
    text, rest = "", number
    for sign, value in signs:
        text, rest = text + sign * (rest // value), rest % value
    assert roman_value(text) == number


@pytest.mark.parametrize(
    ("numerals", "value"),
    [
        ("十", 10),
        ("十二", 12),
        ("两百零五", 205),
        ("三千", 3000),
        ("一万二千", 12000),
        ("三亿五千万", 350_000_000),
        ("二〇二三", 2023),
    ],
)
def test_chinese_numerals(numerals, value):
    assert han_value(numerals) == value


@pytest.mark.parametrize("part", ["1,", "1 000 ", "one ", "I", "三", "1.2.3,", "5 million "])
def test_a_long_text_is_read_once(part):
    text = part * 4_000
    assert unknown(text, text) == set()

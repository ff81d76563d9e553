"""The checks of model-written text, one by one: what they find, and what they do not pretend to judge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.rewriting.checks import (
    has_open_subject,
    invented_names,
    invented_numbers,
    lost_bounds,
    names_a_subject,
)
from transforms.rewriting.languages import LANGUAGES, language_of, speaks_another
from transforms.rewriting.scripts import script_of


@given(st.text() | st.lists(st.sampled_from(["A'A", "O’Brien", "the", "IBM's", "X-Y", ". "])).map(" ".join))
def test_a_text_invents_nothing_against_itself(text):
    assert invented_numbers(text, text) == set()
    assert not invented_names(text, text, "en")
    assert lost_bounds(text, [text], "en") is not None


@given(st.text(), st.text(), st.sampled_from(["", *LANGUAGES]))
def test_no_text_raises(statement, shown, language):
    invented_numbers(statement, shown)
    invented_names(statement, shown, language)
    has_open_subject(statement, language)
    names_a_subject(statement, language)
    lost_bounds(statement, [shown], language)
    language_of(statement), script_of(statement)


@given(st.integers(0, 10**9))
def test_a_number_is_known_in_every_grouping(number):
    for spelled in (f"{number:,}", f"{number:,}".replace(",", "."), f"{number:,}".replace(",", " "), str(number)):
        assert invented_numbers(f"It costs {number}.", f"price: {spelled} euros") == set()


@pytest.mark.parametrize(
    ("statement", "shown", "invented"),
    [("at 4.20", "at 4,2 euros", set()), ("2 buses", "Two buses", set()),
     ("20 %", "20%", set()), ("v1.2", "v1.2", set()),
     ("7", "17", {"7"}), ("4.21", "4.20", {"4.21"}), ("2026", "2025", {"2026"}), ("1,250", "1.250", set())],
)  # fmt: skip
def test_numbers(statement, shown, invented):
    assert invented_numbers(statement, shown, "en") == invented


@pytest.mark.parametrize(
    ("statement", "invented"),
    [("The mill of Harrow turns.", set()), ("Harrow's mill turns.", set()), ("The NATO mill turns.", {"NATO"}),
     ("The mill of Leeds turns.", {"Leeds"}), ("Millers in Harrow grind.", set()),
     ('He said: "Harrow turns."', set())],
)  # fmt: skip
def test_names(statement, invented):
    assert invented_names(statement, "the mill of Harrow turns; millers grind", "en") == invented


def test_names_are_not_judged_where_capitals_do_not_tell():
    assert invented_names("Die Mühle von Leeds", "nichts", "de") is None
    assert invented_names("利兹的磨坊", "没有", "") is None


@pytest.mark.parametrize(
    ("statement", "is_open"),
    [("It turns.", True), ("It's a mill.", True), ("This turns out to be a mill.", True), ("This is one.", True),
     ("This mill turns.", False), ("Those who turn it grind.", False), ("The mill turns.", False), ("These", True),
     ("This opened in 1990.", True), ("These opened in 1990.", True), ("This glass is old.", False),
     ("This famous mill turns.", False), ("That bus is late.", False), ("These mills turn.", False)],
)  # fmt: skip
def test_subjects(statement, is_open):
    assert has_open_subject(statement, "en") is is_open and has_open_subject(statement, "") is None


@pytest.mark.parametrize(
    ("statement", "language", "is_open"),
    [("Das öffnet am Montag.", "de", True), ("Dies kostet Geld.", "de", True), ("Das rote Haus ist alt.",
     "de", False),
     ("Das Büro ist auf.", "de", False), ("Das Ticket ist alt.", "de", False),
     ("Cela ouvre le lundi.", "fr", True), ("Ce moulin tourne.", "fr", False),
     ("Celui du quai tourne.", "fr", True), ("Esto abre el lunes.", "es", True), ("Este molino gira.", "es", False)],
)  # fmt: skip
def test_subjects_in_other_languages(statement, language, is_open):
    assert has_open_subject(statement, language) is is_open


@pytest.mark.parametrize(
    ("statement", "lost"),
    [("The fee is 5 euros.", {"exception"}), ("The fee is 5 euros unless it is paid late.", set()),
     ("The fee is 5 euros except when late.", set()), ("Cards are free.", {"negation"}),
     ("Cards aren't free.", set()),
     ("The mill turns.", set())],
)  # fmt: skip
def test_limits_of_the_own_clause_are_kept(statement, lost):
    sources = ["The fee is 5 euros unless it is paid late; cards are not free.", "The mill turns."]
    assert lost_bounds(statement, sources, "en") == lost


@pytest.mark.parametrize(
    ("statement", "language", "is_open"),
    [("In 1990 it opened.", "en", True), ("After midnight they are free.", "en", True), ("However, it turns.",
     "en", True),
     ("In Harrow the mill turns when it rains.", "en", False), ("After 2020 visitors use it.", "en", False),
     ("It is forbidden to swim in the pond.", "en", False), ("Seit 2024 gilt er nicht.", "de", True),
     ("Es gibt drei Mühlen in Harrow.", "de", False), ("Seine Mühle ist alt.", "de", True),
     ("En 1990 il a ouvert.", "fr", True), ("Il y a trois moulins à Harrow.", "fr", False),
     ("Sa meule est vieille.", "fr", True), ("Su muela es vieja.", "es", True), ("Esta abre los lunes.", "es", True)],
)  # fmt: skip
def test_subjects_behind_an_opening_and_owners(statement, language, is_open):
    assert has_open_subject(statement, language) is is_open


@pytest.mark.parametrize(
    ("statement", "invented"),
    [("Leeds mills turn.", {"Leeds"}), ("Milling is an art.", set()), ("Harrow has a mill.", set()),
     ("On Mondays the mill turns.", set()), ("Visiting is free.", set())],
)  # fmt: skip
def test_the_first_word_may_be_a_name(statement, invented):
    shown = "the mill of Harrow turns on Mondays"
    assert invented_names(statement, shown, "en", judges_first=True) == invented
    assert invented_names(statement, shown, "en") == set()


def test_names_are_known_however_their_letters_are_composed():
    assert invented_names("The mill of Andre\u0301 turns.", "the mill of Andr\u00e9", "en") == set()


def test_a_line_of_chinese_with_a_name_in_latin_has_a_subject():
    assert names_a_subject("這次集會在H街上舉行。", "") and not names_a_subject("is H to", "en")


@pytest.mark.parametrize(
    "text",
    ["As multas são de 2 euros por dia e não se aplicam no mês de agosto.",
     "La tariffa è di 4 euro e non è rimborsabile.",
     "De bibliotheek is op maandag open van tien tot zes en het is er druk.",
     "Avgiften är 20 kronor och den är inte med."],
)  # fmt: skip
def test_languages_near_a_known_one_are_not_taken_for_it(text):
    assert language_of(text) == ""


def test_names_with_small_words_make_no_other_language():
    assert not speaks_another("Die Hard plays in Des Moines on the first Monday of the month.", "en")
    assert speaks_another("Die Mühle ist alt und steht in der Stadt.", "en")


def test_languages_and_scripts():
    assert language_of("Die Gebühr ist bis zum Ende des Monats zu zahlen.") == "de"
    assert language_of("El pago de la cuota se hace en el banco.") == "es"
    assert language_of("Le prix du billet est de 4 euros pour les enfants.") == "fr"
    assert language_of("xyzzy") == "" and script_of("123") == ""

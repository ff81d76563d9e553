"""Limits are found by kind, kept in other words, and belong to the clause they limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.rewriting.bounds import bounds_of, clauses_of
from transforms.rewriting.checks import adds_negation, lost_bounds
from transforms.rewriting.languages import LANGUAGES


@given(
    st.text() | st.lists(st.sampled_from(["and", "not", ", but", "if", "; ", "is", "no"])).map(" ".join),
    st.sampled_from([*LANGUAGES]),
)
def test_clauses_hold_every_word_and_a_text_loses_no_limit_of_its_own(text, language):
    assert len("".join(clauses_of(text, language)).split()) <= len(text.split())
    assert lost_bounds(text, [text], language) == set() and not adds_negation(text, [text], language)


@pytest.mark.parametrize(
    ("text", "language", "kinds"),
    [("not more than 5 buses", "en", {"most"}), ("at least two", "en", {"least"}), ("It isn't open.",
     "en", {"negation"}),
     ("only until six unless it rains", "en", {"only", "end", "exception"}), ("not only buses", "en", set()),
     ("ouvert jusqu'à six heures s'il pleut", "fr", {"end", "condition"}), ("à la gare", "fr", set()),
     ("n’est plus ouvert", "fr", {"negation"}), ("es sei denn, es regnet", "de", {"exception"}),
     ("nicht mehr als zehn", "de", {"most"}), ("al menos diez", "es", {"least"}), ("a menos que llueva",
     "es", {"exception"})],
)  # fmt: skip
def test_kinds(text, language, kinds):
    assert bounds_of(text, language) == kinds


@pytest.mark.parametrize(
    ("sentence", "language", "n_clauses"),
    [("Members enter free, but only with a card.", "en", 1), ("It opens at six, and day passes are valid.", "en", 2),
     ("It is open until six and is not free.", "en", 2), ("Fees and fines are not due.", "en", 1),
     ("Il est ouvert et n'est pas gratuit.", "fr", 2), ("La visita dura una hora y no incluye la cata.", "es", 2),
     ("Abre los lunes, pero no los festivos.", "es", 1), ("Es gilt, aber nicht an Feiertagen.", "de", 1)],
)  # fmt: skip
def test_clauses(sentence, language, n_clauses):
    assert len(clauses_of(sentence, language)) == n_clauses


@pytest.mark.parametrize(
    ("statement", "source", "lost"),
    [("At most 30 days.", "At least 30 days.", {"least"}), ("Passes are valid if it rains.",
     "Passes are valid unless it rains.", {"exception"}),
     ("The depot keeps bags.", "The depot keeps bags for at most 30 days.", set()),
     ("The depot keeps bags for 30 days.", "The depot keeps bags for at most 30 days.", {"most"}),
     ("Members enter free.", "Members enter free, but only with a card.", {"only"}),
     ("The pool must not be used.", "The pool may not be used.", set()),
     ("Dogs are forbidden.", "Dogs are not admitted.", set()), ("Dogs are admitted.",
     "Dogs are not admitted.", {"negation"})],
)  # fmt: skip
def test_what_is_lost(statement, source, lost):
    assert lost_bounds(statement, [source], "en") == lost


@pytest.mark.parametrize(
    ("statement", "source", "adds"),
    [("Dogs are not admitted.", "Dogs are admitted.", True), ("Dogs are not admitted.", "Dogs are forbidden.", False),
     ("Cats are not admitted.", "Only dogs are admitted.", False), ("Dogs are admitted.",
     "Dogs are admitted.", False)],
)  # fmt: skip
def test_what_is_denied_without_a_reason(statement, source, adds):
    assert adds_negation(statement, [source], "en") is adds
    assert adds_negation(statement, [source], "") is None

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.extraction.plain import extract_plain


@settings(max_examples=300, deadline=None)
@given(text=st.text(st.characters(exclude_categories=()) | st.sampled_from("§(a)1.2\n\n \r\0"), max_size=150))
def test_any_text_gives_exact_blocks_that_cover_it(check, uncovered, text):
    snapshot = extract_plain(text)
    check(snapshot)
    assert uncovered(snapshot) == ""
    assert len(snapshot.text) == len(text) - text.count("\r\n")
    assert snapshot.counts.get("replaced_nul", 0) == text.count("\0")
    n_surrogates = sum("\ud800" <= letter <= "\udfff" for letter in text)
    assert snapshot.counts.get("replaced_surrogate", 0) == n_surrogates


def test_paragraphs_are_separated_by_blank_lines(kinds):
    text = "\n one\ntwo \n \t\n\u3000\nthree\n\n\n"
    assert kinds(extract_plain(text)) == [("paragraph", "one\ntwo"), ("paragraph", "three")]


def test_numbered_clauses_are_headings_with_levels():
    text = "Policy\n\n1 Scope\n\nText.\n\n1.1 Who\n\nAll.\n\n1.1.1 Details\n\nx\n\n1.2 When\n\n2 End\n"
    snapshot = extract_plain(text)
    found = [(b.level, snapshot.text[b.start : b.end]) for b in snapshot.blocks if b.kind == "heading"]
    assert found == [(1, "1 Scope"), (2, "1.1 Who"), (3, "1.1.1 Details"), (2, "1.2 When"), (1, "2 End")]


def test_a_clause_with_its_text_on_the_line_has_its_label_as_heading(kinds):
    text = "§ 1 Loans\n\n(a) Books are lent.\n(b) Films are lent.\n\n§ 2 Fees\n\nNone.\n\n§ 3 End\n"
    assert kinds(extract_plain(text)) == [
        ("heading", "§ 1 Loans"),
        ("heading", "(a)"),
        ("paragraph", "Books are lent."),
        ("heading", "(b)"),
        ("paragraph", "Films are lent."),
        ("heading", "§ 2 Fees"),
        ("paragraph", "None."),
        ("heading", "§ 3 End"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "1. milk\n2. bread\n3. salt\n",
        "2021 was warm.\n\n12 people came.\n\n4.2 litres were lost.\n",
        "1.2.3 was released\n\n0.9 before\n\n7.7 later\n\n3.1 never\n",
        "(a) one\n(b) two\n(c) three\n",
        "§ 5 BGB is old.\n\n§ 812 is not.\n\n§ 3 is short.\n",
        "1.1 Scope ........ 3\n1.2 Who ........ 4\n1.3 End ........ 5\n",
    ],
)
def test_numbers_alone_make_no_clause(text, kinds):
    assert {kind for kind, _ in kinds(extract_plain(text))} == {"paragraph"}


@pytest.mark.parametrize(
    "text",
    [
        "word " * 2_000_000,
        "\n " * 2_000_000,
        " " * 10_000_000 + "x",
        "1.1 a\n" * 100_000,
        "1." * 2_000_000,
        ". . ." * 2_000_000,
    ],
    ids=["no line feed", "blank", "spaces", "clauses", "digits", "dots"],
)
def test_hostile_text_takes_linear_time(text, check):
    start = time.process_time()
    check(extract_plain(text))
    assert time.process_time() - start < 10

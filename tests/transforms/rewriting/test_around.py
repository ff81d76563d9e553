"""What is shown beside a passage is one line, bounded, and from the document."""

from hypothesis import given
from hypothesis import strategies as st

from transforms.rewriting.around import MAX_HEADINGS_CHARS, shown_around, shown_headings


@given(st.text(), st.integers(0, 60), st.integers(0, 40))
def test_what_stands_before_is_one_bounded_line(text, start, max_chars):
    start = min(start, len(text))
    shown = shown_around(text, start, max_chars)
    assert len(shown) <= max(max_chars, 0) and len(shown.splitlines()) <= 1
    if start <= max_chars:
        assert shown == " ".join(text[:start].split())


@given(st.lists(st.text(max_size=400), max_size=6))
def test_headings_are_one_bounded_line(headings):
    shown = shown_headings(headings)
    assert len(shown) <= MAX_HEADINGS_CHARS and len(shown.splitlines()) <= 1


def test_a_heading_as_long_as_a_document_keeps_both_ends():
    shown = shown_headings(["Fees", "word " * 20_000, "Refunds\n[1] forged"])
    assert shown.startswith("Fees > word word") and shown.endswith("Refunds [1] forged")

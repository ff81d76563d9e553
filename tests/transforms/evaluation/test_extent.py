import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import SettingsError
from transforms.evaluation.extent import (
    NOTHING,
    PRECISION_OF_NOTHING,
    Ranked,
    Spans,
    documents_found,
    extents,
    spans_of,
    tokens_within,
    top,
    union_lengths,
    within_budget,
)

SPAN = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 30), st.integers(0, 12)).map(
    lambda s: (s[0], s[1], s[2], s[2] + s[3])
)


def spans(*rows):
    return Spans(*np.array(rows, np.int64).reshape(-1, 4).T)


def one(gold, retrieved):
    """Of one question; spans are (document, start, end)."""
    found = extents(spans(*((0, *row) for row in gold)), spans(*((0, *row) for row in retrieved)), 1)
    return [float(value[0]) for value in (found.recall, found.precision, found.iou, found.f1)]


def positions(rows, question):
    """The slow way: a set of places."""
    return {(document, place) for q, document, start, end in rows if q == question for place in range(start, end)}


@given(st.lists(SPAN, max_size=12), st.lists(SPAN, max_size=12))
def test_as_sets_of_positions(gold, retrieved):
    gold = gold + [(question, 0, 40, 41) for question in range(4)]
    found = extents(spans(*gold), spans(*retrieved), 4)
    for question in range(4):
        wanted, got = positions(gold, question), positions(retrieved, question)
        shared = len(wanted & got)
        assert (found.gold[question], found.retrieved[question], found.shared[question]) == (
            len(wanted), len(got), shared,
        )  # fmt: skip
        assert found.recall[question] == shared / len(wanted)
        assert found.precision[question] == (shared / len(got) if got else PRECISION_OF_NOTHING)
        assert found.iou[question] == shared / len(wanted | got)
        assert found.iou[question] == pytest.approx(found.f1[question] / (2 - found.f1[question]))


@given(st.lists(SPAN, max_size=12), st.randoms())
def test_neither_order_nor_repetition_shows(rows, random):
    shuffled = rows * 2
    random.shuffle(shuffled)
    assert union_lengths(spans(*shuffled), 4).tolist() == union_lengths(spans(*rows), 4).tolist()


def test_nothing_retrieved():
    assert one([(0, 0, 10)], []) == [0, PRECISION_OF_NOTHING, 0, 0]


def test_no_overlap_has_f1_0():
    assert one([(0, 0, 10)], [(0, 10, 20)]) == [0, 0, 0, 0]


@pytest.mark.parametrize("gold", [[], [(0, 5, 5)]])
def test_no_reference_is_refused(gold):
    with pytest.raises(SettingsError, match="has no reference positions"):
        one(gold, [(0, 0, 10)])


def test_a_duplicate_counts_once_in_the_extent_and_twice_in_the_bill():
    assert one([(0, 0, 10)], [(0, 0, 20), (0, 0, 20)]) == one([(0, 0, 10)], [(0, 0, 20)])
    assert tokens_within(np.array([[20, 20, 5]]), 30).tolist() == [[20, 10, 0]]


def test_overlapping_references_are_one():
    assert one([(0, 0, 10), (0, 5, 15)], [(0, 0, 15)]) == [1, 1, 1, 1]


def test_references_in_two_documents():
    assert one([(0, 0, 10), (1, 0, 30)], [(1, 0, 30), (2, 0, 10)]) == [30 / 40, 30 / 40, 30 / 50, 60 / 80]


def test_the_same_place_of_another_document_is_elsewhere():
    assert one([(0, 0, 10)], [(1, 0, 10)]) == [0, 0, 0, 0]


def test_positions_too_far_apart_are_refused():
    with pytest.raises(SettingsError, match="too far apart"):
        one([(0, 0, 10)], [(5, 2**61, 2**61 + 1)])


RANKED = Ranked(
    np.array([[0, 1, NOTHING], [2, 2, 2]]),
    np.array([[0, 50, 0], [0, 10, 20]]),
    np.array([[10, 90, 0], [10, 20, 30]]),
    np.array([[3, 8, 0], [4, 4, 4]]),
)


def test_places_without_a_unit_have_no_span():
    assert len(spans_of(RANKED).starts) == 5
    assert top(RANKED, 1).documents.tolist() == [0, 2]


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8), st.integers(1, 60))
def test_a_budget_is_spent_in_order_and_to_the_last_token(n_tokens, budget):
    kept = tokens_within(np.array([n_tokens]), budget)[0].tolist()
    assert sum(kept) == min(budget, sum(n_tokens))
    whole = [have == all_of for have, all_of in zip(kept, n_tokens, strict=True)]
    assert all(not any(kept[i + 1 :]) for i, is_whole in enumerate(whole) if not is_whole)


def test_a_budget_below_one_unit_cuts_that_unit():
    kept = tokens_within(RANKED.n_tokens, 2)
    found = within_budget(RANKED, kept, np.array([7, 5]))
    assert list(zip(*map(np.ndarray.tolist, found), strict=True)) == [(0, 0, 0, 7), (1, 2, 0, 5)]


def test_the_last_unit_is_cut_at_the_budget():
    kept = tokens_within(RANKED.n_tokens, 5)
    found = within_budget(RANKED, kept, np.array([60, 12]))
    assert list(zip(*map(np.ndarray.tolist, found), strict=True)) == [
        (0, 0, 0, 10), (0, 1, 50, 60), (1, 2, 0, 10), (1, 2, 10, 12),
    ]  # fmt: skip


def test_a_document_is_found_by_any_of_its_units():
    gold = spans((0, 1, 0, 10), (1, 0, 0, 10), (2, 3, 0, 5))
    retrieved = spans((0, 1, 500, 600), (1, 2, 0, 10))
    assert documents_found(gold, retrieved, 3).tolist() == [True, False, False]

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.fakes import hash_words
from transforms.evaluation.truncation import LENGTH_STEPS, Tally, effective_limit


def reader(n_words):
    """An encoder that reads so many words, and counts how often it is asked."""
    calls = []

    def encode(text):
        calls.append(text)
        return hash_words(" ".join(text.split()[:n_words]), 256).astype(np.float16)

    return encode, calls


@pytest.mark.parametrize("n_words", [1, 2, 15, 16, 17, 31, 32, 100, 254, 1000])
def test_what_is_read_is_found_to_the_word(n_words):
    encode, calls = reader(n_words)
    assert len(effective_limit(encode).split()) == n_words
    assert len(calls) <= 2 * np.log2(max(16, n_words)) + 4


def test_an_encoder_without_a_limit_has_none():
    encode, calls = reader(10**9)
    assert effective_limit(encode, max_words=256) is None
    assert max(len(text.split()) for text in calls) == 256


INPUT = st.tuples(st.integers(0, 5), st.integers(0, 2000))


@given(st.lists(INPUT, min_size=1, max_size=40), st.integers(1, 100))
def test_a_tally_is_sums_over_inputs(inputs, room):
    tally = Tally(room)
    for document, n_tokens in inputs:
        tally.add(f"d{document}", f"s{document % 2}", n_tokens)
    total = tally.total()
    over = [n for _, n in inputs if n > room]
    assert (total.n_documents, total.n_inputs) == (len({d for d, _ in inputs}), len(inputs))
    assert (total.n_over_limit, total.n_unread_tokens) == (len(over), sum(over) - room * len(over))
    for groups in (tally.by_length(), tally.by_source()):
        for field in ("n_documents", "n_inputs", "n_over_limit", "n_tokens", "n_unread_tokens"):
            assert sum(getattr(group, field) for group in groups) == getattr(total, field)
    sources = Counter(f"s{document % 2}" for document, _ in inputs)
    assert {group.name: group.n_inputs for group in tally.by_source()} == sources


@pytest.mark.parametrize(
    ("n_tokens", "name"),
    [(0, "0 - 100"), (100, "0 - 100"), (101, "101 - 200"), (1600, "801 - 1,600"), (1601, "1,601 and more")],
)
def test_lengths_are_multiples_of_the_room(n_tokens, name):
    tally = Tally(100)
    tally.add("a", "s", n_tokens)
    assert [group.name for group in tally.by_length()] == [name] and LENGTH_STEPS[-1] == 16

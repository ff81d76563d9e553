import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.indexing.sampling import hash_ids, take_sample

IDS = st.lists(st.integers(0, 2**63 - 1), max_size=60)


@given(IDS, st.integers(0, 70), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_a_sample_is_sorted_unique_and_blind_to_order(ids, n, random):
    shuffled = random.sample(ids, len(ids))
    sample = take_sample(np.array(ids, np.int64), n, "s")
    assert np.array_equal(sample, take_sample(np.array(shuffled, np.int64), n, "s"))
    assert len(sample) == min(n, len(set(ids)))
    assert np.all(np.diff(sample) > 0)


@given(IDS, IDS, st.integers(0, 20))
@settings(max_examples=100, deadline=None)
def test_samples_of_parts_sample_to_that_of_the_whole(left, right, n):
    a, b = np.array(left, np.int64), np.array(right, np.int64)
    parts = np.concatenate([take_sample(a, n, "s"), take_sample(b, n, "s")])
    assert np.array_equal(take_sample(parts, n, "s"), take_sample(np.concatenate([a, b]), n, "s"))


def test_salts_give_different_samples():
    ids = np.arange(10_000)
    common = np.intersect1d(take_sample(ids, 100, "one"), take_sample(ids, 100, "two"))
    assert len(common) < 20


def test_golden_hash_raise_version_when_this_changes():
    hashes = hash_ids(np.array([0, 1, 2**63 - 1]), "golden").tolist()
    assert hashes == [987672536055312878, 4206758963012401880, 1704051906007884322]

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.indexing import searching
from transforms.indexing.searching import Candidates, exact_search, merge_candidates, rescore, search_shard, without
from transforms.indexing.shards import fill


def brute_force(ids, vectors, queries, k):
    scores = (queries.astype(np.float64) @ vectors.astype(np.float64).T).astype(np.float32)
    order = [np.lexsort((ids, -row))[:k] for row in scores]
    return [ids[row].tolist() for row in order], [s[row].tolist() for s, row in zip(scores, order, strict=True)]


@given(
    st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 12), st.integers(1, 4), st.integers(1, 20), st.booleans()
)
@settings(max_examples=100, deadline=None)
def test_exact_search_is_brute_force_with_ties_by_id(seed, n, k, n_queries, block_rows, has_copies):
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-2, 3, (n, 4)).astype(np.float16) if has_copies else rng.random((n, 4)).astype(np.float16)
    ids, queries = rng.permutation(n * 3)[:n], rng.random((n_queries, 4)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "BLOCK_BYTES", block_rows * 16)
        patch.setattr(searching, "CROWDED", seed % 4)
        found = exact_search(ids, vectors, queries, k)
    wanted_ids, wanted_scores = brute_force(ids, vectors, queries, k)
    assert found.ids[:, : min(n, k)].tolist() == wanted_ids
    assert found.scores[:, : min(n, k)].tolist() == wanted_scores
    assert np.all(found.ids[:, n:] == -1) and np.all(found.scores[:, n:] == -np.inf)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 80), k=st.integers(1, 8))
@settings(max_examples=50, deadline=None)
def test_a_flat_shard_is_exact(seed, n, k, empty_shard, make_vectors):
    vectors, ids = make_vectors(n, seed), np.random.default_rng(seed).permutation(n)
    queries = make_vectors(3, seed + 1).astype(np.float32)
    found = search_shard(fill(empty_shard("flat"), ids, vectors), queries, k)
    wanted = exact_search(ids, vectors, queries, k)
    assert np.array_equal(found.ids, wanted.ids) and np.array_equal(found.scores, wanted.scores)


@pytest.mark.parametrize("kind", ["flat", "ivfpq"])
@pytest.mark.parametrize("n_excluded", [0, 1, 150, 300])
def test_what_is_excluded_might_as_well_not_be_there(kind, n_excluded, empty_shard, make_vectors):
    vectors, ids = make_vectors(300, 5), np.random.default_rng(5).permutation(300)
    queries = make_vectors(21, 6).astype(np.float32)
    found = search_shard(fill(empty_shard(kind), ids, vectors), queries, 40, 4, np.sort(ids[:n_excluded]))
    without_them = search_shard(fill(empty_shard(kind), ids[n_excluded:], vectors[n_excluded:]), queries, 40, 4)
    assert np.array_equal(found.ids, without_them.ids) and np.array_equal(found.scores, without_them.scores)


@pytest.mark.parametrize("kind", ["flat", "ivfpq"])
def test_neither_shards_nor_batches_nor_threads_show(kind, empty_shard, make_vectors):
    vectors, ids = make_vectors(300, 5), np.random.default_rng(5).permutation(300)
    queries = make_vectors(41, 6).astype(np.float32)
    whole = search_shard(fill(empty_shard(kind), ids, vectors), queries, 300, 4)
    shards = [fill(empty_shard(kind), ids[rows], vectors[rows]) for rows in np.split(np.arange(300), [7, 120])]
    faiss.omp_set_num_threads(3)
    try:
        parts = [search_shard(shard, queries, 300, 4) for shard in shards]
        single = [search_shard(shards[1], query[None], 300, 4) for query in queries]
    finally:
        faiss.omp_set_num_threads(1)
    assert np.array_equal(merge_candidates(parts, 300).ids, whole.ids)
    assert np.array_equal(merge_candidates(parts[::-1], 300).ids, whole.ids)
    assert np.array_equal(np.vstack([one.ids for one in single]), parts[1].ids)
    assert np.array_equal(np.vstack([one.scores for one in single]), parts[1].scores)


def test_rescoring_gives_exact_scores_and_order(empty_shard, make_vectors):
    vectors, ids = make_vectors(300, 5), np.random.default_rng(5).permutation(300) * 10
    queries = make_vectors(9, 6).astype(np.float32)
    found = search_shard(fill(empty_shard("ivfpq"), ids, vectors), queries, 300, 99)
    order = np.argsort(ids)
    exact = rescore(queries, found, lambda wanted: vectors[order[np.searchsorted(ids[order], wanted)]])
    wanted = exact_search(ids, vectors, queries, 300)
    assert np.array_equal(exact.ids, wanted.ids) and np.array_equal(exact.scores, wanted.scores)


def test_nothing_to_search_or_to_ask(empty_shard, make_vectors):
    nothing = search_shard(empty_shard("flat"), make_vectors(2).astype(np.float32), 3)
    assert nothing.ids.tolist() == [[-1] * 3] * 2
    full = fill(empty_shard("ivfpq"), np.arange(2), make_vectors(2))
    assert search_shard(full, np.empty((0, 16), np.float32), 3).ids.shape == (0, 3)
    assert rescore(np.ones((2, 16), np.float32), nothing, lambda ids: pytest.fail("no rows to ask for")) == nothing


def test_a_query_does_not_find_itself():
    found = Candidates(np.array([[4, 2, 9], [1, 2, -1]]), np.array([[3, 2, 1], [3, 2, -np.inf]], np.float32))
    alone = without(found, np.array([2, 7]), 2)
    assert alone.ids.tolist() == [[4, 9], [1, 2]]
    assert alone.scores.tolist() == [[3, 1], [3, 2]]

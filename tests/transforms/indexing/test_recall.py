import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.indexing.recall import Answers, answer, choose_queries, choose_shards, measure_recall
from transforms.indexing.recipe import plan_index
from transforms.indexing.searching import Candidates
from transforms.indexing.shards import empty, fill
from transforms.indexing.training import train
from transforms.settings import IndexSettings


@given(st.sets(st.integers(0, 300)), st.sets(st.integers(0, 300)), st.integers(0, 50))
@settings(max_examples=100, deadline=None)
def test_half_of_the_queries_are_new(new, old, n):
    everything = np.array(sorted(new | old), np.int64)
    queries = choose_queries(np.array(sorted(new), np.int64), everything, n)
    assert len(queries) == len(np.unique(queries)) == min(n, len(everything))
    assert len(set(queries.tolist()) & new) >= min(n // 2, len(new))


@given(st.dictionaries(st.text(max_size=4), st.integers(0, 50)), st.integers(1, 100))
@settings(max_examples=100, deadline=None)
def test_whole_shards_up_to_the_limit(sizes, limit):
    chosen = choose_shards(sizes, limit)
    total = sum(sizes[name] for name in chosen)
    assert bool(chosen) == any(sizes.values())
    assert all(sizes[name] for name in chosen)
    assert total <= limit or len(chosen) == 1
    assert chosen == choose_shards(dict(reversed(sizes.items())), limit)


def test_flat_has_perfect_recall_also_among_copies(flat_recipe, empty_shard, make_vectors):
    vectors = np.repeat(make_vectors(30, 3), 20, axis=0)
    ids = np.random.default_rng(0).permutation(600)
    queries = choose_queries(ids[:50], ids, 100)
    rows = np.argsort(ids)[queries]
    parts = [
        answer(
            fill(empty_shard("flat"), ids[part], vectors[part]),
            flat_recipe,
            ids[part],
            vectors[part],
            queries,
            vectors[rows],
        )
        for part in np.split(np.arange(600), [100, 250])
    ]
    recall = measure_recall(parts)
    assert (recall.recall_at_10, recall.n_queries) == (1.0, 100)


def test_default_recipe_reaches_its_recall_on_clustered_vectors(make_vectors):
    """48 bytes of 384 components, re-ranked from fp16: at least 0.95."""
    vectors = make_vectors(4_000, 1, 384, spread=0.4)
    ids = np.random.default_rng(1).permutation(4_000)
    plan = plan_index(IndexSettings(index="ivfpq"), 384, 4_000)
    shard = fill(empty(plan, train(plan, vectors[:1200]).data, "t"), ids, vectors)
    queries = choose_queries(ids[:0], ids, 200)
    recall = measure_recall([answer(shard, plan, ids, vectors, queries, vectors[np.argsort(ids)[queries]])])
    assert recall.n_queries == 200
    assert recall.recall_at_10 >= 0.95


def test_what_is_not_found_is_missed():
    best = Candidates(np.arange(10)[None], np.linspace(1, 0.1, 10, dtype=np.float32)[None])
    found = Candidates(np.r_[0:5, 50:55][None], np.r_[best.scores[0, :5], np.full(5, 0.01)].astype(np.float32)[None])
    assert measure_recall([Answers(found, best)]).recall_at_10 == pytest.approx(0.5)


def test_a_lonely_vector_has_no_neighbour_to_find(flat_recipe, empty_shard, make_vectors):
    vectors, ids = make_vectors(1), np.array([3])
    alone = answer(fill(empty_shard("flat"), ids, vectors), flat_recipe, ids, vectors, ids, vectors)
    assert measure_recall([alone]).recall_at_10 is None
    assert measure_recall([]).recall_at_10 is None

"""The bytes of a shard depend on its rows and its training alone, and bad rows never reach FAISS."""

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import RefusedError, StoreError
from transforms.indexing import recipe
from transforms.indexing.searching import search_shard
from transforms.indexing.shards import dump, empty, fill, ids_of, load, merge, update
from transforms.indexing.training import train

KINDS = ["flat", "ivfpq"]
NO_IDS = np.empty(0, np.int64)
STEPS = st.lists(
    st.tuples(st.sets(st.integers(0, 79), max_size=40), st.sets(st.integers(0, 79), max_size=60)), max_size=5
)


def some_ids(numbers) -> np.ndarray:
    """Scattered 63-bit ids, in the order given."""
    return (np.array(list(numbers), np.int64) * 7919 + 3) % 104_729 * 10**12


@pytest.mark.parametrize("kind", KINDS)
@given(steps=STEPS)
@settings(max_examples=30, deadline=None)
def test_updates_leave_the_bytes_of_a_fresh_fill(kind, steps, empty_shard, make_vectors):
    vectors = make_vectors(160, seed=4)
    rows: dict[int, int] = {}
    shard = empty_shard(kind)
    for number, (gone, come) in enumerate(steps):
        gone, come = sorted(gone & rows.keys(), reverse=True), sorted(come - (rows.keys() - gone))
        rows = {n: row for n, row in rows.items() if n not in gone}
        fresh = {n: (n + 80 * number) % 160 for n in come}
        shard = load(dump(shard), shard.training) if number % 2 else shard
        shard = update(shard, some_ids(gone), some_ids(fresh), vectors[list(fresh.values())].reshape(-1, 16))
        rows |= fresh
    order = sorted(rows, reverse=True)
    fresh_fill = fill(empty_shard(kind), some_ids(order), vectors[[rows[n] for n in order]].reshape(-1, 16))
    assert dump(shard) == dump(fresh_fill)
    assert ids_of(shard).tolist() == sorted(some_ids(order).tolist())
    assert shard.n_vectors == len(rows)


@pytest.mark.parametrize(("dimension", "pq_bytes"), [(64, 2), (384, 48)])
def test_neither_order_nor_batches_nor_threads_show(dimension, pq_bytes, make_vectors):
    vectors = make_vectors(2_000, 6, dimension)
    plan = recipe.IndexRecipe("ivfpq", dimension, 40, pq_bytes)
    data = train(plan, vectors[:400]).data
    ids = np.random.default_rng(0).permutation(2_000)
    shard = empty(plan, data, "t")
    for rows in np.split(np.random.default_rng(1).permutation(2_000), [1, 3, 22, 700]):
        shard = update(shard, NO_IDS, ids[rows], vectors[rows])
    faiss.omp_set_num_threads(2)
    try:
        at_once = fill(empty(plan, data, "t"), ids, vectors)
    finally:
        faiss.omp_set_num_threads(1)
    assert dump(shard) == dump(at_once)


@pytest.mark.parametrize("kind", KINDS)
def test_a_raw_faiss_add_gives_the_same_codes(kind, empty_shard, make_vectors):
    vectors, ids = make_vectors(100, seed=7), np.arange(100)
    raw = empty_shard(kind).index
    raw.add_with_ids(vectors.astype(np.float32), ids)
    assert faiss.serialize_index(raw).tobytes() == dump(fill(empty_shard(kind), ids, vectors))


@pytest.mark.parametrize("kind", KINDS)
def test_removing_ids_one_after_the_other(kind, empty_shard, make_vectors):
    vectors = make_vectors(5, seed=8)
    shard = fill(empty_shard(kind), np.arange(5), vectors)
    shard = update(shard, np.array([1]), NO_IDS, vectors[:0])
    shard = update(shard, np.array([3]), NO_IDS, vectors[:0])
    shard = update(shard, np.array([0]), np.array([0]), vectors[:1])
    assert ids_of(shard).tolist() == [0, 2, 4]
    found = search_shard(shard, vectors[:1].astype(np.float32), 5, 99)
    assert found.ids[0, 0] == 0
    assert sorted(found.ids[0].tolist()) == [-1, -1, 0, 2, 4]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([7, 8, 7], "id 7 occurs twice"),
        ([7, 2, 8], "id 2 is in the index already; remove it before"),
        ([7, -1, -2], "ids -1, -2 is negative; ids are the first 63 bits"),
    ],
)
def test_bad_ids_are_named(kind, ids, message, empty_shard, make_vectors):
    shard = fill(empty_shard(kind), np.arange(5), make_vectors(5))
    before = dump(shard)
    with pytest.raises(StoreError, match=message):
        update(shard, NO_IDS, np.array(ids), make_vectors(3))
    assert dump(shard) == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0])
def test_bad_vectors_are_named(kind, value, empty_shard, make_vectors):
    vectors = make_vectors(20)
    vectors[9, 3] = value
    if value == 0.0:
        vectors[9] = value
    with pytest.raises(StoreError, match="id 9 has a NaN, infinite or zero vector"):
        fill(empty_shard(kind), np.arange(20), vectors)


@pytest.mark.parametrize("kind", KINDS)
def test_ids_that_are_not_there_cannot_be_removed(kind, empty_shard, make_vectors):
    shard = fill(empty_shard(kind), np.arange(3), make_vectors(3))
    with pytest.raises(StoreError, match="ids 10, 11, 12, 13, 14 and 1 more cannot be removed"):
        update(shard, np.arange(10, 16), NO_IDS, make_vectors(0))


def test_vectors_of_another_shape_or_type(empty_shard, make_vectors):
    with pytest.raises(ValueError, match=r"need float16 vectors of shape \(3, 16\), not float16 \(3, 8\)"):
        fill(empty_shard("flat"), np.arange(3), make_vectors(3, 0, 8))
    with pytest.raises(ValueError, match="not float32"):
        fill(empty_shard("flat"), np.arange(3), make_vectors(3).astype(np.float32))


@pytest.mark.parametrize("kind", KINDS)
def test_a_merge_has_the_bytes_of_one_fill(kind, empty_shard, make_vectors):
    vectors, ids = make_vectors(90, seed=9), np.random.default_rng(0).permutation(90)
    parts = [fill(empty_shard(kind), ids[i : i + 30], vectors[i : i + 30]) for i in (0, 30, 60)]
    assert dump(merge(parts)) == dump(fill(empty_shard(kind), ids, vectors))
    with pytest.raises(StoreError, match="id 5 occurs twice"):
        merge([fill(empty_shard(kind), np.array([5]), vectors[:1]) for _ in range(2)])


def test_shards_of_other_centroids_are_refused(ivfpq_recipe, empty_shard, make_vectors):
    other = empty(ivfpq_recipe, train(ivfpq_recipe, make_vectors(600, seed=11)).data, "t2")
    with pytest.raises(RefusedError, match="training t1 and t2 cannot be merged"):
        merge([empty_shard("ivfpq"), other])
    with pytest.raises(RefusedError, match="training none and t1"):
        merge([empty_shard("flat"), empty_shard("ivfpq")])


def test_shards_of_equal_centroids_and_other_code_books_are_refused(empty_shard):
    forged = empty_shard("ivfpq")
    books = faiss.vector_to_array(forged.index.pq.centroids)
    faiss.copy_array_to_vector(np.ascontiguousarray(books[::-1]), forged.index.pq.centroids)
    with pytest.raises(RefusedError, match="training t1 differ in centroids or code books"):
        merge([empty_shard("ivfpq"), forged])
    forged.training = "t9"
    with pytest.raises(RefusedError, match="training t1 and t9"):
        merge([empty_shard("ivfpq"), forged])


@pytest.mark.parametrize("n", [1, 111, 255])
def test_tiny_corpora_fall_back_to_flat_and_are_searched(n, make_vectors):
    from transforms.settings import IndexSettings

    plan = recipe.plan_index(IndexSettings(index="ivfpq", pq_bytes=4), 16, n)
    assert plan.factory == "IVF1,SQfp16"
    vectors = make_vectors(n)
    shard = fill(empty(plan), np.arange(n), vectors)
    found = search_shard(shard, vectors.astype(np.float32), 1)
    same = np.all(vectors[found.ids[:, 0]] == vectors, axis=1)
    assert same.mean() > 0.98


def test_one_vector_in_a_shard_of_a_trained_version(empty_shard, make_vectors):
    shard = fill(empty_shard("ivfpq"), np.array([2**63 - 1]), make_vectors(1))
    found = search_shard(shard, make_vectors(1).astype(np.float32), 3, 8)
    assert found.ids.tolist() == [[2**63 - 1, -1, -1]]


def test_bytes_that_are_no_index():
    with pytest.raises(StoreError, match="not a FAISS index"):
        load(b"nonsense and more of it")


def test_an_ivfpq_shard_needs_its_training(ivfpq_recipe):
    with pytest.raises(ValueError, match="needs its trained index"):
        empty(ivfpq_recipe)


def test_golden_rows_raise_version_when_this_changes(flat_recipe):
    vectors = ((np.arange(48) + 1) / 64).astype(np.float16).reshape(3, 16)
    data = bytes(dump(fill(empty(flat_recipe), np.array([5, 1, 3]), vectors)))
    assert recipe.VERSION == 2
    codes, ids = vectors[[1, 2, 0]].tobytes(), np.array([1, 3, 5]).tobytes()
    assert data.endswith(codes + ids)

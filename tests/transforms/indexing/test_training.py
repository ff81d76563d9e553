import faiss
import numpy as np
import pytest

from models.errors import RefusedError
from transforms.indexing.drift import drift_ratio
from transforms.indexing.recipe import n_holdout_rows
from transforms.indexing.training import assign, measure_errors, train, training_id


def test_equal_rows_give_equal_bytes(ivfpq_recipe, trained, make_vectors):
    again = train(ivfpq_recipe, make_vectors(600, seed=1))
    assert again == trained
    assert trained.n_sample == 600
    assert trained.holdout.n_vectors == n_holdout_rows(600) == 37


def test_the_number_of_threads_does_not_show(ivfpq_recipe, trained, make_vectors):
    n_threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(2)
    try:
        assert train(ivfpq_recipe, make_vectors(600, seed=1)) == trained
    finally:
        faiss.omp_set_num_threads(n_threads)


def test_what_is_trained_is_an_empty_plain_cpu_index(ivfpq_recipe, trained):
    index = faiss.deserialize_index(np.frombuffer(trained.data, np.uint8))
    assert (index.ntotal, index.is_trained, index.nlist) == (0, True, ivfpq_recipe.nlist)
    assert index.metric_type == faiss.METRIC_INNER_PRODUCT
    assert index.do_polysemous_training is False


def test_errors_tell_strangers_from_the_like(trained, make_vectors):
    like = measure_errors(trained.data, make_vectors(500, seed=2))
    rng = np.random.default_rng(3)
    strange = rng.standard_normal((500, 16))
    strange = measure_errors(trained.data, (strange / np.linalg.norm(strange, axis=1)[:, None]).astype(np.float16))
    assert drift_ratio(like, trained.holdout) < 1.25 < drift_ratio(strange, trained.holdout)


def test_no_vectors_have_no_error(trained):
    assert measure_errors(trained.data, np.empty((0, 16), np.float16)).n_vectors == 0


def test_too_few_rows_are_refused(ivfpq_recipe, make_vectors):
    with pytest.raises(RefusedError, match="270 vectors cannot train IVF15,PQ4x8np; take index = 'flat'"):
        train(ivfpq_recipe, make_vectors(270))


def test_a_training_is_named_by_recipe_and_sample(flat_recipe, ivfpq_recipe):
    ids = np.arange(100)
    name = training_id(ivfpq_recipe, ids)
    assert name == training_id(ivfpq_recipe, ids[::-1].copy())
    assert name != training_id(ivfpq_recipe, ids[:-1])
    assert name != training_id(flat_recipe, ids)


@pytest.mark.parametrize("n_lists", [3, 64, 700])
def test_a_vector_goes_to_one_list_in_any_batch_and_with_equal_centroids(n_lists):
    rng = np.random.default_rng(5)
    centroids = rng.standard_normal((n_lists, 96)).astype(np.float32)
    centroids[2::3] = centroids[0]
    centroids[1::3] = centroids[1] * (1 + 1e-7)
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(96), 96, n_lists, faiss.METRIC_INNER_PRODUCT)
    index.quantizer.add(centroids)
    rows = rng.standard_normal((400, 96)).astype(np.float32)
    lists = assign(index, rows)
    for size in (1, 7, 25, 399):
        parts = [assign(index, rows[i : i + size]) for i in range(0, 400, size)]
        assert np.array_equal(np.concatenate(parts), lists)
    assert not np.any(lists % 3 == 2)

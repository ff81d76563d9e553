"""A small trained index and vectors with structure, made once."""

import numpy as np
import pytest

from transforms.indexing.recipe import IndexRecipe, plan_index
from transforms.indexing.training import train
from transforms.settings import IndexSettings

DIMENSION = 16


@pytest.fixture(scope="session")
def make_vectors():
    """`make_vectors(n, seed, dimension)`: float16 unit vectors in clusters."""

    def make(n: int, seed: int = 0, dimension: int = DIMENSION, spread: float = 0.5) -> np.ndarray:
        rng = np.random.default_rng(seed)
        centres = np.random.default_rng(99).standard_normal((50, dimension))
        rows = centres[rng.integers(0, 50, n)] + spread * rng.standard_normal((n, dimension))
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)

    return make


@pytest.fixture(scope="session")
def flat_recipe() -> IndexRecipe:
    return plan_index(IndexSettings(), DIMENSION, 100)


@pytest.fixture(scope="session")
def ivfpq_recipe() -> IndexRecipe:
    return plan_index(IndexSettings(index="ivfpq", pq_bytes=4, nprobe=8), DIMENSION, 600)


@pytest.fixture(scope="session")
def trained(ivfpq_recipe, make_vectors):
    return train(ivfpq_recipe, make_vectors(600, seed=1))


@pytest.fixture(scope="session")
def empty_shard(flat_recipe, ivfpq_recipe, trained):
    """`empty_shard("flat" or "ivfpq")`: a fresh, empty shard."""
    from transforms.indexing.shards import empty

    def make(kind: str):
        return empty(flat_recipe) if kind == "flat" else empty(ivfpq_recipe, trained.data, "t1")

    return make

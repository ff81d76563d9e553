"""Training the coarse quantizer and the product quantizer once, for all shards."""

import hashlib
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.errors import RefusedError
from models.extras import require
from transforms.indexing.drift import Errors, pool_errors
from transforms.indexing.recipe import N_CODEWORDS, VERSION, IndexRecipe, n_holdout_rows
from transforms.indexing.sampling import Ids

Vectors16 = NDArray[np.float16]
Vectors32 = NDArray[np.float32]

BLOCK_ROWS = 16_384
CLOSE = 1e-5
"""Two centroids whose scores lie nearer than this times the vector's length are told apart in double precision."""


class Trained(msgspec.Struct, frozen=True):
    """A trained, empty index as FAISS bytes, and the errors of the rows kept out of its training."""

    data: bytes
    n_sample: int
    holdout: Errors


def training_id(recipe: IndexRecipe, sample_ids: Ids) -> str:
    """The name of a training, known before it is paid for: a hash of the recipe and of the sorted sample ids."""
    digest = hashlib.sha256(f"{VERSION} {recipe.dimension} {recipe.factory}\n".encode())
    digest.update(np.sort(sample_ids).astype("<i8").tobytes())
    return digest.hexdigest()[:32]


def train(recipe: IndexRecipe, vectors: Vectors16) -> Trained:
    """The index that every shard of an IVF-PQ version is filled from.

    :param vectors: float16 (n, dimension), in the order of their ids; equal rows give equal bytes on equal hardware.
    :raises RefusedError: fewer rows than code words after the hold-out.
    """
    faiss = require("faiss", "cpu")

    is_held = _holdout_mask(len(vectors))
    sample = vectors[~is_held].astype(np.float32)
    if len(sample) < max(N_CODEWORDS, recipe.nlist):
        raise RefusedError(
            f"{len(vectors)} vectors cannot train {recipe.factory}; take index = 'flat' or 'auto', or add documents"
        )
    index = faiss.index_factory(recipe.dimension, recipe.factory, faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = index.pq.cp.min_points_per_centroid = 1  # the recipe has seen to it
    on_gpu = _gpu_clustering_index(recipe.dimension)
    if on_gpu is not None:
        index.clustering_index = on_gpu
    index.train(sample)
    index.clustering_index = None
    data = faiss.serialize_index(index).tobytes()
    return Trained(data, len(vectors), measure_index_errors(index, vectors[is_held]))


def measure_errors(trained: bytes, vectors: Vectors16) -> Errors:
    """The errors of `vectors`, float16 (n, d), under a trained index: over the hold-out's, the sign of drift."""
    faiss = require("faiss", "cpu")

    return measure_index_errors(faiss.deserialize_index(np.frombuffer(trained, np.uint8)), vectors)


def measure_index_errors(index: Any, vectors: Vectors16) -> Errors:
    """`measure_errors` for an IVF-PQ index that is loaded."""
    blocks = range(0, len(vectors), BLOCK_ROWS)
    return pool_errors(_block_errors(index, vectors[i : i + BLOCK_ROWS].astype(np.float32)) for i in blocks)


def assign(index: Any, vectors: Vectors32) -> NDArray[np.int64]:
    """The inverted list of each vector, whatever batch and number of threads it comes with.

    A matrix product's last bits depend on the row's place in the batch. So where the two best centroids are that
    close, double precision decides, and equal centroids go to the lower list.
    """
    if index.nlist == 1:
        return np.zeros(len(vectors), np.int64)
    scores, lists = index.quantizer.search(vectors, 2)
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    close = np.flatnonzero(scores[:, 0] - scores[:, 1] <= CLOSE * np.maximum(lengths, 1e-30))
    best = np.array(lists[:, 0], np.int64)
    if len(close):
        centroids = index.quantizer.reconstruct_n(0, index.nlist).astype(np.float64)
        for rows in np.array_split(close, -(-len(close) // 256)):
            best[rows] = np.argmax(np.round(vectors[rows].astype(np.float64) @ centroids.T, 12), axis=1)
    return best


def _block_errors(index: Any, vectors: Vectors32) -> Errors:
    lists = assign(index, vectors)
    residuals = vectors - index.quantizer.reconstruct_batch(lists)
    errors = residuals - index.pq.decode(index.pq.compute_codes(residuals))
    return Errors(len(vectors), _mean_square(residuals), _mean_square(errors))


def _mean_square(rows: Vectors32) -> float:
    return float(np.einsum("ij,ij->i", rows, rows, dtype=np.float64).mean())


def _holdout_mask(n_rows: int) -> NDArray[np.bool_]:
    mask = np.zeros(n_rows, np.bool_)
    n_held = n_holdout_rows(n_rows)
    mask[np.arange(n_held) * n_rows // max(1, n_held)] = True
    return mask


def _gpu_clustering_index(dimension: int) -> Any | None:
    """An index on all GPUs for the k-means of the coarse quantizer; None with a CPU build of FAISS or no GPU."""
    faiss = require("faiss", "cpu")

    if not hasattr(faiss, "index_cpu_to_all_gpus") or faiss.get_num_gpus() == 0:
        return None
    return faiss.index_cpu_to_all_gpus(faiss.IndexFlatIP(dimension))

"""Filling, updating and merging shards, so that the bytes of a shard depend on its rows and its training alone."""

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import RefusedError, StoreError
from models.extras import require
from transforms.indexing.recipe import IndexRecipe
from transforms.indexing.sampling import Ids
from transforms.indexing.training import BLOCK_ROWS, Vectors16, Vectors32, assign

N_NAMED = 5


@dataclass
class ShardIndex:
    """A FAISS index in memory and the id of the training it was filled from ('' for flat, which has none)."""

    index: Any
    training: str = ""

    @property
    def is_flat(self) -> bool:
        """Whether codes are the fp16 vectors themselves."""
        return not hasattr(self.index, "pq")

    @property
    def n_vectors(self) -> int:
        return int(self.index.ntotal)


def empty_flat(recipe: IndexRecipe) -> ShardIndex:
    """A flat shard without vectors: half-precision codes in one list around the origin."""
    faiss = require("faiss", "cpu")
    index = faiss.index_factory(recipe.dimension, "IVF1,SQfp16", faiss.METRIC_INNER_PRODUCT)
    index.quantizer.add(np.zeros((1, recipe.dimension), np.float32))
    index.by_residual = False
    index.is_trained = True
    return ShardIndex(index)


def empty(recipe: IndexRecipe, trained: bytes | None = None, training: str = "") -> ShardIndex:
    """A shard without vectors: flat, or a copy of the `trained` index of that id."""
    if recipe.kind == "flat":
        return empty_flat(recipe)
    if trained is None or not training:
        raise ValueError("an IVF-PQ shard needs its trained index and the training's id")
    return load(trained, training)


def fill(shard: ShardIndex, ids: Ids, vectors: Vectors16) -> ShardIndex:
    """An empty shard with `vectors`, float16 (n, d), under `ids`, int64 (n,). In any order: same rows, same bytes."""
    return update(shard, np.empty(0, np.int64), ids, vectors)


def update(shard: ShardIndex, remove_ids: Ids, add_ids: Ids, add_vectors: Vectors16) -> ShardIndex:
    """The shard without `remove_ids` and with the added rows; the shard given is changed and must not be used again.

    :raises StoreError: an id to remove is not there; an id to add is negative, doubled or there already; a vector is
        NaN, infinite or zero. FAISS accepts all of these and answers wrongly afterwards.
    """
    _check_shapes(shard, add_ids, add_vectors)
    _remove(shard.index, np.unique(remove_ids))
    _check_ids(shard.index, add_ids)
    for start in range(0, len(add_ids), BLOCK_ROWS):
        stop = start + BLOCK_ROWS
        _add(shard, add_ids[start:stop], np.ascontiguousarray(add_vectors[start:stop]))
    _sort_lists(shard.index)
    return shard


def merge(shards: Sequence[ShardIndex]) -> ShardIndex:
    """All rows of `shards` in the first one; all of them are used up.

    :raises RefusedError: shards of different training, which FAISS may well accept: with equal centroids and other
        code books it merges, and recall falls to zero.
    :raises StoreError: an id is in two shards.
    """
    first, *others = shards
    for other in others:
        _check_same_training(first, other)
    ids = np.concatenate([ids_of(shard) for shard in shards])
    _check_ids_unique(ids)
    for other in others:
        first.index.merge_from(other.index, 0)
    _sort_lists(first.index)
    return first


def load(data: bytes, training: str = "") -> ShardIndex:
    """The shard in FAISS bytes whose sha256 was checked: FAISS itself loads flipped bytes without a word."""
    faiss = require("faiss", "cpu")
    try:
        return ShardIndex(faiss.deserialize_index(np.frombuffer(data, np.uint8)), training)
    except RuntimeError as error:
        raise StoreError(f"not a FAISS index: {str(error).splitlines()[0]}") from error


def dump(shard: ShardIndex) -> memoryview:
    """The shard as FAISS bytes, readable by plain faiss. Held once: faiss's own way in memory holds them thrice."""
    faiss, data = require("faiss", "cpu"), io.BytesIO()
    faiss.write_index(shard.index, faiss.PyCallbackIOWriter(data.write))
    return data.getbuffer()


def ids_of(shard: ShardIndex) -> Ids:
    """The ids in a shard, sorted."""
    return _sorted_ids(shard.index)


def flat_rows(shard: ShardIndex, ids: Ids) -> Vectors16:
    """The vectors of `ids` that a flat shard stores, float16 (n, d), without a copy of the shard."""
    stored, codes = _list_arrays(shard.index, 0)
    return codes[np.searchsorted(stored, ids)].view(np.float16)


def _add(shard: ShardIndex, ids: Ids, vectors: Vectors16) -> None:
    faiss = require("faiss", "cpu")
    index, ids = shard.index, np.ascontiguousarray(ids)
    rows = vectors.astype(np.float32)
    _check_vectors(ids, rows)
    if shard.is_flat:  # its codes are the fp16 values as they come
        index.invlists.add_entries(0, len(ids), faiss.swig_ptr(ids), faiss.swig_ptr(vectors.view(np.uint8)))
        index.ntotal += len(ids)
    else:
        lists = assign(index, rows)
        index.add_core(len(ids), faiss.swig_ptr(rows), faiss.swig_ptr(ids), faiss.swig_ptr(lists))


def _remove(index: Any, ids: Ids) -> None:
    if len(ids) == 0:
        return
    missing = np.setdiff1d(ids, _sorted_ids(index), assume_unique=True)
    if len(missing):
        raise StoreError(f"{_named(missing)} cannot be removed from the index, which does not hold them")
    index.remove_ids(ids)


def _sort_lists(index: Any) -> None:
    """Put each list in id order; removals and additions leave it in the order they came in."""
    faiss = require("faiss", "cpu")
    for number in range(index.nlist):
        ids, codes = _list_arrays(index, number)
        if len(ids) < 2 or np.all(ids[1:] > ids[:-1]):
            continue
        order = np.argsort(ids)
        ids, codes = ids[order], codes[order]
        index.invlists.update_entries(number, 0, len(ids), faiss.swig_ptr(ids), faiss.swig_ptr(codes))


def _list_arrays(index: Any, number: int) -> tuple[Ids, NDArray[np.uint8]]:
    """Ids and codes of one inverted list, as views of FAISS's memory."""
    faiss = require("faiss", "cpu")
    lists, size = index.invlists, index.invlists.list_size(number)
    if size == 0:
        return np.empty(0, np.int64), np.empty((0, index.code_size), np.uint8)
    ids = faiss.rev_swig_ptr(lists.get_ids(number), size)
    codes = faiss.rev_swig_ptr(lists.get_codes(number), size * index.code_size)
    return ids, codes.reshape(size, index.code_size)


def _sorted_ids(index: Any) -> Ids:
    parts = [_list_arrays(index, number)[0] for number in range(index.nlist)]
    return np.sort(np.concatenate(parts))


def _check_shapes(shard: ShardIndex, ids: Ids, vectors: Vectors16) -> None:
    if vectors.dtype != np.float16 or vectors.shape != (len(ids), shard.index.d):
        raise ValueError(
            f"{len(ids)} ids need float16 vectors of shape ({len(ids)}, {shard.index.d}), "
            f"not {vectors.dtype} {vectors.shape}"
        )


def _check_ids(index: Any, ids: Ids) -> None:
    if len(ids) == 0:
        return
    if np.any(ids < 0):
        raise StoreError(f"{_named(ids[ids < 0])} is negative; ids are the first 63 bits of a unit id")
    _check_ids_unique(ids)
    if index.ntotal == 0:
        return
    known = np.intersect1d(ids, _sorted_ids(index), assume_unique=True)
    if len(known):
        raise StoreError(f"{_named(known)} is in the index already; remove it before it is added again")


def _check_ids_unique(ids: Ids) -> None:
    unique, counts = np.unique(ids, return_counts=True)
    if len(unique) < len(ids):
        raise StoreError(f"{_named(unique[counts > 1])} occurs twice; an id names one vector")


def _check_vectors(ids: Ids, rows: Vectors32) -> None:
    squares = np.einsum("ij,ij->i", rows, rows)
    bad = ~(np.isfinite(squares) & (squares > 0))
    if np.any(bad):
        raise StoreError(f"{_named(ids[bad])} has a NaN, infinite or zero vector; such units are dead letters")


def _check_same_training(first: ShardIndex, other: ShardIndex) -> None:
    if first.training != other.training:
        raise RefusedError(
            f"shards of training {first.training or 'none'} and {other.training or 'none'} cannot be merged; "
            "fill them from one training"
        )
    ours, theirs = training_digest(first), training_digest(other)
    if ours != theirs:
        raise RefusedError(
            f"shards of training {first.training or 'none'} differ in centroids or code books "
            f"({ours} and {theirs}) and cannot be merged; fill them from one training"
        )


def training_digest(shard: ShardIndex) -> str:
    """A hash of what training left in a shard: the kind of codes, the centroids and the code books."""
    faiss = require("faiss", "cpu")
    index = shard.index
    digest = hashlib.sha256(f"{index.d} {index.nlist} {index.code_size} {index.metric_type}".encode())
    digest.update(index.quantizer.reconstruct_n(0, index.nlist).tobytes())
    if not shard.is_flat:
        digest.update(faiss.vector_to_array(index.pq.centroids).tobytes())
    return digest.hexdigest()[:32]


def _named(ids: Ids) -> str:
    names = ", ".join(str(number) for number in ids[:N_NAMED])
    more = f" and {len(ids) - N_NAMED} more" if len(ids) > N_NAMED else ""
    return f"{'id' if len(ids) == 1 else 'ids'} {names}{more}"

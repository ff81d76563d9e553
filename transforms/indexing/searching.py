"""Search in a shard, re-scoring from the stored vectors, merging over shards, and exact search to compare with."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from models.extras import require
from transforms.indexing.sampling import Ids
from transforms.indexing.shards import ShardIndex, flat_rows
from transforms.indexing.training import Vectors16, Vectors32

NONE = -1
QUERIES_AT_ONCE = 16
"""Below 20 queries FAISS scores each one by itself; from there on, the batch shows in the last bits."""

BLOCK_BYTES = 8 << 20
MARGIN = 1e-4
CROWDED = 256
"""Rows that a query may have within `MARGIN` of its best before one product scores the whole block for it."""


class Candidates(NamedTuple):
    """The best vectors of each query: int64 ids and float32 inner products, both (n_queries, n).

    Sorted by falling score, then by id. Places left over hold id -1 and minus infinity.
    """

    ids: Ids
    scores: Vectors32


def search_shard(
    shard: ShardIndex, queries: Vectors32, n: int, nprobe: int = 1, excluded: Ids | None = None
) -> Candidates:
    """The `n` best of a shard for each query, float32 (q, d). Scores are exact for flat and estimates for IVF-PQ.

    A query's answer does not depend on the queries beside it, nor on the number of threads.

    :param excluded: ids of the shard, each once, that are passed over as if they were not there.
    """
    index = shard.index
    n_places = min(n, shard.n_vectors - (0 if excluded is None else len(excluded)))
    if n_places < 1 or len(queries) == 0:
        return _nothing(len(queries), n)
    parameters = _parameters(min(nprobe, index.nlist), excluded)
    parts = []
    for start in range(0, len(queries), QUERIES_AT_ONCE):
        block = np.ascontiguousarray(queries[start : start + QUERIES_AT_ONCE], np.float32)
        scores, ids = index.search(block, n_places, params=parameters)
        parts.append(Candidates(ids, scores))
    found = Candidates(np.vstack([part.ids for part in parts]), np.vstack([part.scores for part in parts]))
    if shard.is_flat:
        return _best(rescore(queries, found, lambda wanted: flat_rows(shard, wanted)), n)
    return _best(found, n)


def _parameters(nprobe: int, excluded: Ids | None) -> Any:
    faiss = require("faiss", "cpu")
    if excluded is None or not len(excluded):
        return faiss.SearchParametersIVF(nprobe=nprobe)
    selector = faiss.IDSelectorNot(faiss.IDSelectorBatch(np.ascontiguousarray(excluded, np.int64)))
    return faiss.SearchParametersIVF(nprobe=nprobe, sel=selector)


def rescore(queries: Vectors32, found: Candidates, rows: Callable[[Ids], Vectors16]) -> Candidates:
    """The same candidates with exact scores, sorted by them.

    :param rows: gives the float16 vectors (n, d) of sorted, unique ids.
    """
    wanted = np.unique(found.ids[found.ids != NONE])
    if len(wanted) == 0:
        return found
    vectors = rows(wanted)
    scores = np.full(found.ids.shape, -np.inf, np.float32)
    for number, (query, ids) in enumerate(zip(queries, found.ids, strict=True)):
        is_there = ids != NONE
        scores[number, is_there] = exact_scores(query, vectors[np.searchsorted(wanted, ids[is_there])])
    return _best(Candidates(found.ids, scores), found.ids.shape[1])


def merge_candidates(parts: Sequence[Candidates], k: int) -> Candidates:
    """The `k` best of several shards, ties broken by id: neither order nor number of the parts shows."""
    ids = np.hstack([part.ids for part in parts])
    return _best(Candidates(ids, np.hstack([part.scores for part in parts])), k)


def without(found: Candidates, own_ids: Ids, k: int) -> Candidates:
    """The `k` best with each query's own id, int64 (q,), taken out."""
    is_own = found.ids == own_ids[:, None]
    return _best(Candidates(np.where(is_own, NONE, found.ids), np.where(is_own, -np.inf, found.scores)), k)


def exact_search(ids: Ids, vectors: Vectors16, queries: Vectors32, k: int) -> Candidates:
    """The true `k` best among `vectors`, float16 (n, d) under `ids`, in blocks of bounded memory."""
    dimension = max(1, queries.shape[1])
    block_rows = max(1, BLOCK_BYTES // (4 * max(dimension, len(queries))))
    best = _nothing(len(queries), k)
    for start in range(0, len(ids), block_rows):
        block = slice(start, start + block_rows)
        best = merge_candidates([best, _exact_block(ids[block], vectors[block], queries, k)], k)
    return best


def exact_scores(query: Vectors32, rows: Vectors16) -> Vectors32:
    """Inner products rounded from double precision: equal vectors score equally wherever they lie.

    :param query: float32 (d,) or, as columns, (d, q); the scores are float32 (n,) or (n, q).
    """
    return (rows.astype(np.float64) @ query.astype(np.float64)).astype(np.float32)


def _exact_block(ids: Ids, vectors: Vectors16, queries: Vectors32, k: int) -> Candidates:
    rough = queries @ vectors.astype(np.float32).T
    n = min(k, len(ids))
    floors = np.partition(rough, len(ids) - n, axis=1)[:, len(ids) - n]
    is_near = rough >= (floors - MARGIN * np.maximum(1.0, np.abs(floors)))[:, None]
    crowded = np.flatnonzero(is_near.sum(axis=1) > max(CROWDED, n)).tolist()
    whole = exact_scores(queries[crowded].T, vectors).T if crowded else ()
    scored = dict(zip(crowded, whole, strict=True))
    found = _nothing(len(queries), k)
    for number, query in enumerate(queries):
        rows = np.flatnonzero(is_near[number])
        scores = scored[number][rows] if number in scored else exact_scores(query, vectors[rows])
        order = np.lexsort((ids[rows], -scores))[:n]
        found.ids[number, :n], found.scores[number, :n] = ids[rows[order]], scores[order]
    return found


def _best(found: Candidates, n: int) -> Candidates:
    order = np.lexsort((found.ids, -found.scores), axis=1)[:, :n]
    ids, scores = np.take_along_axis(found.ids, order, 1), np.take_along_axis(found.scores, order, 1)
    scores = np.where(ids == NONE, -np.inf, scores).astype(np.float32)
    if ids.shape[1] == n:
        return Candidates(ids, scores)
    padded = _nothing(len(ids), n)
    padded.ids[:, : ids.shape[1]], padded.scores[:, : ids.shape[1]] = ids, scores
    return padded


def _nothing(n_queries: int, n: int) -> Candidates:
    return Candidates(np.full((n_queries, n), NONE, np.int64), np.full((n_queries, n), -np.inf, np.float32))

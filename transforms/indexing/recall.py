"""Recall@10 of shards as they are served, against exact search over the same vectors."""

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np

from transforms.indexing.recipe import IndexRecipe
from transforms.indexing.sampling import Ids, hash_ids, take_sample
from transforms.indexing.searching import Candidates, exact_search, merge_candidates, rescore, search_shard, without
from transforms.indexing.shards import ShardIndex
from transforms.indexing.training import Vectors16

K = 10
TOLERANCE = 1e-6
QUERY_SALT = "recall query"


class Answers(msgspec.Struct, frozen=True):
    """What one shard, or several together, answered: `found` as served, `best` by exact search."""

    found: Candidates
    best: Candidates


class Recall(msgspec.Struct, frozen=True):
    """Mean share of the true ten best that were found. `recall_at_10` is None where no query had a neighbour."""

    recall_at_10: float | None
    n_queries: int


def choose_queries(new_ids: Ids, all_ids: Ids, n: int) -> Ids:
    """Ids of `n` vectors to ask with, sorted: half of them new, as far as there are so many, the rest from all."""
    new = take_sample(new_ids, n // 2, QUERY_SALT)
    others = np.setdiff1d(take_sample(all_ids, n, QUERY_SALT), new)
    return np.sort(np.concatenate([new, take_sample(others, n - len(new), QUERY_SALT)]))


def choose_shards(n_vectors: Mapping[str, int], limit: int) -> tuple[str, ...]:
    """Names of whole shards with at most `limit` vectors together, taken in the order of their names' hashes.

    Where each one alone is over the limit, the smallest: a gate that asks nothing would be none.
    """
    sizes = {name: size for name, size in n_vectors.items() if size}
    chosen: list[str] = []
    for name in sorted(sizes, key=_name_hash):
        if sum(sizes[taken] for taken in chosen) + sizes[name] <= limit:
            chosen.append(name)
    if not chosen and sizes:
        chosen = [min(sizes, key=lambda name: (sizes[name], name))]
    return tuple(sorted(chosen))


def answer(
    shard: ShardIndex, recipe: IndexRecipe, ids: Ids, vectors: Vectors16, query_ids: Ids, queries: Vectors16
) -> Answers:
    """One shard's answers to `queries`, float16 (q, d), each without the query's own vector.

    :param ids: int64 (n,), the shard's live vectors in any order, with `vectors`, float16 (n, d), beside them.
    """
    asked = queries.astype(np.float32)
    found = search_shard(shard, asked, K * recipe.rerank_factor + 1, recipe.nprobe)
    if not shard.is_flat:
        found = rescore(asked, found, _row_reader(ids, vectors))
    best = exact_search(ids, vectors, asked, K + 1)
    return Answers(without(found, query_ids, K), without(best, query_ids, K))


def measure_recall(parts: Sequence[Answers]) -> Recall:
    """Recall@10 over the shards that answered the same queries.

    A found vector is right when its score reaches the tenth best: among copies of one passage, any will do.
    """
    if not parts:
        return Recall(None, 0)
    found = merge_candidates([part.found for part in parts], K)
    best = merge_candidates([part.best for part in parts], K)
    n_best = (best.ids >= 0).sum(axis=1)
    asked = n_best > 0
    if not asked.any():
        return Recall(None, 0)
    last = np.take_along_axis(best.scores, np.maximum(n_best - 1, 0)[:, None], axis=1)
    n_right = ((found.ids >= 0) & (found.scores >= last - TOLERANCE * np.maximum(1, np.abs(last)))).sum(axis=1)
    shares = np.minimum(n_right, n_best)[asked] / n_best[asked]
    return Recall(float(shares.mean()), int(asked.sum()))


def _row_reader(ids: Ids, vectors: Vectors16) -> Callable[[Ids], Vectors16]:
    order = np.argsort(ids)
    return lambda wanted: vectors[order[np.searchsorted(ids, wanted, sorter=order)]]


def _name_hash(name: str) -> int:
    return int(hash_ids(np.zeros(1, np.int64), name)[0])

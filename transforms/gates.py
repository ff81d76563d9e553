"""Recall@10 of a version as it will be served, against exact search, before it is published."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from transforms.context import RunContext
from transforms.indexing.recall import Answers, answer, choose_queries, choose_shards, measure_recall
from transforms.indexing.recipe import IndexRecipe, code_bytes
from transforms.indexing.shards import load
from transforms.live_units import live_ids, live_rows
from transforms.store.manifest import Gates, Shard, Training

Ids = NDArray[np.int64]
Halves = NDArray[np.float16]


def measure_gates(context: RunContext, shards: Sequence[Shard], training: Training | None) -> Gates:
    """Recall@10 over whole shards chosen by hash, half of the queries new. One shard's vectors are held at a time."""
    sizes = {shard.name: shard.n_units for shard in shards}
    names = choose_shards(sizes, context.index.recall_vectors)
    if not names or context.index.recall_queries == 0:
        return Gates()
    chosen = {index: shard for index, shard in enumerate(shards) if shard.name in names}
    query_ids = _choose_queries(context, chosen)
    queries = _vectors_of(context, chosen, query_ids)
    recall = measure_recall(list(_answers(context, chosen, training, query_ids, queries)))
    return Gates(recall.recall_at_10, recall.n_queries, names)


def _choose_queries(context: RunContext, chosen: dict[int, Shard]) -> Ids:
    """Half of them from vectors that the last version does not have."""
    all_ids = np.concatenate([live_ids(context, shard) for shard in chosen.values()])
    known = np.concatenate([live_ids(context, context.shards[index]) for index in chosen])
    new_ids = np.setdiff1d(all_ids, known, assume_unique=True)
    return choose_queries(new_ids, all_ids, context.index.recall_queries)


def _vectors_of(context: RunContext, chosen: dict[int, Shard], ids: Ids) -> Halves:
    """The vectors of sorted `ids`, float16 (n, d), which lie in any of the chosen shards."""
    found = np.empty((len(ids), context.dimension), np.float16)
    for shard in chosen.values():
        others = np.setdiff1d(live_ids(context, shard), ids, assume_unique=True)
        some_ids, vectors = live_rows(context, shard, without=others)
        found[np.searchsorted(ids, some_ids)] = vectors
    return found


def _answers(
    context: RunContext, chosen: dict[int, Shard], training: Training | None, query_ids: Ids, queries: Halves
) -> Iterator[Answers]:
    recipe = _served(context, training)
    for shard in chosen.values():
        assert shard.index is not None
        index = load(context.store.read(shard.index), shard.training)
        yield answer(index, recipe, *live_rows(context, shard), query_ids, queries)


def _served(context: RunContext, training: Training | None) -> IndexRecipe:
    if training is None:
        return IndexRecipe("flat", context.dimension)
    settings = context.index
    return IndexRecipe(
        "ivfpq",
        context.dimension,
        pq_bytes=code_bytes(settings, context.dimension),
        nprobe=settings.nprobe,
        rerank_factor=settings.rerank_factor,
    )

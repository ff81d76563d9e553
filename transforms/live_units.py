"""What of a shard's segments lives: the rows that its contents point at, with their ids and vectors."""

import numpy as np
from numpy.typing import NDArray

from transforms.contents import load_contents
from transforms.context import RunContext
from transforms.store.manifest import Shard
from transforms.store.segments import open_vectors

ROWS_AT_ONCE = 8192


def live_places(context: RunContext, shard: Shard) -> dict[str, NDArray[np.int64]]:
    """The rows of each vectors segment, by its path, that the shard's contents point at."""
    places: dict[str, list[NDArray[np.int64]]] = {entry.path: [] for entry in shard.vectors}
    for row in sorted(load_contents(context.store, shard).values(), key=lambda row: row.vectors_row):
        if row.n_units:
            places[row.vectors_segment].append(np.arange(row.vectors_row, row.vectors_row + row.n_units))
    return {path: np.concatenate(parts) for path, parts in places.items() if parts}


def live_ids(context: RunContext, shard: Shard) -> NDArray[np.int64]:
    """The ids of a shard's live units that an index holds, sorted. Reads no vector."""
    places = live_places(context, shard)
    segments = [entry for entry in shard.vectors if entry.path in places]
    ids = [open_vectors(context.store, entry).ids[places[entry.path]] for entry in segments]
    found = np.sort(np.concatenate([np.empty(0, np.int64), *ids]))
    return found[found >= 0]


def live_rows(
    context: RunContext, shard: Shard, without: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float16]]:
    """The ids and vectors of a shard's live units that an index holds, in id order, less those in `without`."""
    places = live_places(context, shard)
    segments = [open_vectors(context.store, entry) for entry in shard.vectors if entry.path in places]
    rows = [places[entry.path] for entry in shard.vectors if entry.path in places]
    rows = [some[segment.ids[some] >= 0] for segment, some in zip(segments, rows, strict=True)]
    if without is not None:
        rows = [some[~np.isin(segment.ids[some], without)] for segment, some in zip(segments, rows, strict=True)]
    found = [segment.ids[some] for segment, some in zip(segments, rows, strict=True)]
    ids = np.concatenate([np.empty(0, np.int64), *found])
    order = np.argsort(ids)
    to = np.empty(len(order), np.int64)
    to[order] = np.arange(len(order))
    vectors = np.empty((len(ids), context.dimension), np.float16)
    for segment, some, first in zip(segments, rows, np.cumsum([0, *map(len, found)])[:-1], strict=True):
        for start in range(0, len(some), ROWS_AT_ONCE):
            part = some[start : start + ROWS_AT_ONCE]
            vectors[to[first + start : first + start + len(part)]] = segment.rows(part)
    return ids[order], vectors

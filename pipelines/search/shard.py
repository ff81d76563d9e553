"""One shard of a version, opened for search."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import StoreError
from pipelines.search.levels import Levels, read_levels
from pipelines.search.live_rows import LiveRows, Numbers
from transforms.indexing.searching import Candidates, rescore, search_shard
from transforms.indexing.shards import ShardIndex, load
from transforms.settings import IndexSettings
from transforms.store.files import Store
from transforms.store.manifest import Shard
from transforms.store.segments import ROWS_PER_GROUP, read_rows

UNIT_COLUMNS = [
    "unit_id", "vector_id", "content_id", "start", "end", "text", "context", "heading_path", "n_tokens", "level",
    "label",
]  # fmt: skip

Row = Mapping[str, Any]


class SearchedShard:
    """A shard's index and segments, read when they are first needed, and checked before they are used.

    :param plain_recipe: the recipe of cutting that is known to make no propositions; none where it may be any.
    :raises DamagedFileError: by every method, naming the file whose bytes are not those promised.
    """

    def __init__(self, store: Store, shard: Shard, plain_recipe: str | None = None) -> None:
        self._store, self._shard, self._plain_recipe = store, shard, plain_recipe
        self._unit_entries = {entry.path: entry for entry in shard.units}

    @cached_property
    def index(self) -> ShardIndex:
        assert self._shard.index is not None
        return load(self._store.read(self._shard.index), self._shard.training)

    @cached_property
    def live(self) -> LiveRows:
        return LiveRows(self._store, self._shard)

    @cached_property
    def levels(self) -> Levels:
        """Which units are served in place of others. A document that failed since may have been cut otherwise."""
        is_plain = self.live.cut_recipes <= {self._plain_recipe}
        return Levels() if is_plain else read_levels(self._store, self._shard, self.live)

    def search(
        self, queries: NDArray[np.float32], k: int, settings: IndexSettings, excluded: Numbers | None = None
    ) -> Candidates:
        """Candidates of each query, float32 (q, d), with exact scores. The index has no passages with propositions.

        Units under the ids `excluded` are passed over as if they were not there.
        """
        n_candidates = k * settings.rerank_factor
        found = search_shard(self.index, queries, n_candidates, settings.nprobe, excluded)
        return found if self.index.is_flat else rescore(queries, found, self.live.vectors)

    def indexed_outside(self, content_ids: Iterable[str]) -> Numbers:
        """The ids in the index of all units whose content is none of `content_ids`."""
        return np.setdiff1d(self.live.ids_outside(content_ids), self.levels.parents)

    def holds(self, ids: Numbers) -> NDArray[np.bool_]:
        """Which of `ids` are live units of this shard."""
        return np.isin(ids, self.live.ids)

    def units(self, ids: Numbers) -> dict[int, Row]:
        """The unit rows of live ids. Neighbours in one row group are decoded once."""
        positions = self.live.find(ids)
        segments, numbers, rows = self.live.unit_places(positions)
        owners = self.live.content_ids(positions)
        groups: dict[tuple[int, int], list[int]] = {}
        for place, (number, row) in enumerate(zip(numbers.tolist(), rows.tolist(), strict=True)):
            groups.setdefault((number, row // ROWS_PER_GROUP), []).append(place)
        found: dict[int, Row] = {}
        for (number, _), places in groups.items():
            for place, unit in zip(places, self._read(segments[number], rows[places]), strict=True):
                self._check(unit, int(ids[place]), owners[place], segments[number])
                found[int(ids[place])] = unit
        return found

    def _read(self, path: str, rows: Numbers) -> list[Row]:
        if path not in self._unit_entries:
            raise StoreError(f"the contents of shard {self._shard.name} name {path}, which the version lacks")
        first, last = int(rows.min()), int(rows.max())
        table = read_rows(self._store, self._unit_entries[path], first, last - first + 1, UNIT_COLUMNS)
        return [dict(unit) for unit in table.take((rows - first).tolist()).to_pylist()]

    def _check(self, unit: Row, vector_id: int, content_id: str, path: str) -> None:
        if unit["vector_id"] != vector_id or unit["content_id"] != content_id:
            raise StoreError(
                f"{self._store.path(path)} has unit {unit['unit_id']} where id {vector_id} of content {content_id} "
                "should be; run `corpusmill verify`"
            )

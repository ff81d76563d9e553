"""Which rows of a shard's segments are live, found by vector id."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from models.errors import StoreError
from transforms.identity import matched
from transforms.store.files import Store
from transforms.store.manifest import Shard
from transforms.store.segments import Vectors, open_vectors, read_table

_COLUMNS = ["content_id", "n_units", "units_segment", "units_row", "vectors_segment", "vectors_row", "cut_recipe"]

Numbers = NDArray[np.int64]


class Places(NamedTuple):
    """Rows in segments: `rows` int64 (n,) of the files whose paths are `segments[numbers]`."""

    segments: Sequence[str]
    numbers: Numbers
    rows: Numbers


class LiveRows:
    """The live units of a shard: those that the contents table points at. 16 bytes each stay in memory.

    A segment may hold a dead row of the same id, so a look-up goes by content and not by searching a segment.

    :raises StoreError: the contents table points at rows or files that are not there.
    """

    def __init__(self, store: Store, shard: Shard) -> None:
        assert shard.contents is not None
        contents = read_table(store, shard.contents, _COLUMNS)
        self._contents = contents.filter(pa.array(_numbers(contents["n_units"]) > 0))
        self._units = _encoded(self._contents, "units")
        self._vectors = _encoded(self._contents, "vectors")
        self._path = store.path(shard.contents.path)
        self.opened = self._open(store, shard)
        n_units = _numbers(self._contents["n_units"])
        content = np.repeat(np.arange(len(n_units)), n_units)
        offset = np.arange(len(content)) - np.repeat(np.cumsum(n_units) - n_units, n_units)
        ids = self._read_ids(content, offset)
        order = np.argsort(ids)
        self.ids = ids[order]
        self._content, self._offset = content[order].astype(np.int32), offset[order].astype(np.int32)

    @property
    def cut_recipes(self) -> frozenset[str]:
        """The recipes by which the contents were cut."""
        return frozenset(map(str, self._contents["cut_recipe"].unique().to_pylist()))

    def ids_outside(self, content_ids: Iterable[str]) -> Numbers:
        """The ids of all units whose content is none of `content_ids`."""
        column = self._contents["content_id"]
        is_in = pc.is_in(column, value_set=pa.array(sorted(content_ids), column.type))
        return self.ids[~np.asarray(is_in.to_numpy(zero_copy_only=False), np.bool_)[self._content]]

    def find(self, ids: Numbers) -> Numbers:
        """Positions of `ids` among the live rows. `StoreError` names an id that is not live."""
        positions = np.searchsorted(self.ids, ids)
        is_there = positions < len(self.ids)
        is_there[is_there] = self.ids[positions[is_there]] == ids[is_there]
        if not is_there.all():
            raise StoreError(
                f"the index has id {ids[~is_there][0]}, which {self._path} does not; run `corpusmill verify`"
            )
        return positions

    def unit_places(self, positions: Numbers) -> Places:
        return self._places(self._units, positions)

    def vectors(self, ids: Numbers) -> NDArray[np.float16]:
        """The stored vectors of live ids, float16 (n, d); only the blocks they lie in are read and checked."""
        segments, numbers, rows = self._places(self._vectors, self.find(ids))
        dimension = next(iter(self.opened.values())).dimension
        vectors = np.empty((len(ids), dimension), np.float16)
        for number in np.unique(numbers):
            is_here = numbers == number
            vectors[is_here] = self.opened[segments[number]].rows(rows[is_here])
        return vectors

    def content_ids(self, positions: Numbers) -> list[str]:
        """The contents that hold the units at `positions`."""
        return [str(name) for name in self._contents["content_id"].take(self._content[positions]).to_pylist()]

    def _open(self, store: Store, shard: Shard) -> Mapping[str, Vectors]:
        entries = {entry.path: entry for entry in shard.vectors}
        unknown = set(self._vectors.segments) - entries.keys()
        if unknown:
            raise StoreError(f"{self._path} names {min(unknown)}, which the version lacks; run `corpusmill verify`")
        return {path: open_vectors(store, entries[path]) for path in self._vectors.segments}

    def _read_ids(self, content: Numbers, offset: Numbers) -> Numbers:
        ids = np.empty(len(content), np.int64)
        numbers, rows = self._vectors.numbers[content], self._vectors.rows[content] + offset
        for number, path in enumerate(self._vectors.segments):
            is_here = numbers == number
            stored = self.opened[path].ids
            if np.any(rows[is_here] >= len(stored)):
                raise StoreError(f"{self._path} names rows that {path} does not have; run `corpusmill verify`")
            ids[is_here] = stored[rows[is_here]]
        return matched(ids)

    def _places(self, first: Places, positions: Numbers) -> Places:
        content = self._content[positions]
        return Places(first.segments, first.numbers[content], first.rows[content] + self._offset[positions])


def _encoded(contents: pa.Table, part: str) -> Places:
    """Where each content's first row of `part` lies, with each path kept once."""
    column = contents[f"{part}_segment"]
    segments = column.unique()
    numbers = _numbers(pc.index_in(column, segments))
    return Places([str(path) for path in segments.to_pylist()], numbers, _numbers(contents[f"{part}_row"]))


def _numbers(column: Any) -> Numbers:
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.int64)

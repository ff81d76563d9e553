"""Which units of a shard are matched but not served, and what is served in their place."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.search.live_rows import LiveRows, Numbers
from transforms.identity import vector_id
from transforms.store.files import Store
from transforms.store.manifest import Shard
from transforms.store.segments import take_rows

NO_IDS = np.empty(0, np.int64)


class Levels(NamedTuple):
    """Ids, int64: propositions, sorted, with the passages that are served for them."""

    children: Numbers = NO_IDS
    parents: Numbers = NO_IDS

    def served(self, ids: Numbers) -> Numbers:
        """The units to serve where `ids`, of any shape, are matched: the passages of propositions, else themselves."""
        if not len(self.children):
            return ids
        places = np.minimum(np.searchsorted(self.children, ids), len(self.children) - 1)
        return np.where(self.children[places] == ids, self.parents[places], ids)


def read_levels(store: Store, shard: Shard, live: LiveRows) -> Levels:
    """The levels of a shard's live units, which reads two small columns of all its units."""
    entries = {entry.path: entry for entry in shard.units}
    places = live.unit_places(np.arange(len(live.ids)))
    tables = []
    for number, path in enumerate(places.segments):
        rows = np.sort(places.rows[places.numbers == number])
        tables.append(take_rows(store, entries[path], rows.tolist(), ["vector_id", "parent_id"]))
    return _levels(pa.concat_tables(tables)) if tables else Levels()


def _levels(units: pa.Table) -> Levels:
    ids = units.column("vector_id").to_numpy()
    is_child = pc.is_valid(units.column("parent_id")).to_numpy()
    parents = [vector_id(str(name)) for name in units.column("parent_id").drop_null().to_pylist()]
    order = np.argsort(ids[is_child])
    return Levels(ids[is_child][order], np.array(parents, np.int64)[order])

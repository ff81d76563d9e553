"""What a run made for one content shard, out of its scratch files: units beside their vectors, in one order."""

from collections.abc import Collection, Iterable, Mapping

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from transforms.context import RunContext
from transforms.ledger import DETECTION_COLUMNS
from transforms.records import Record, UnitsWritten, VectorsWritten
from transforms.scattered import Scattered
from transforms.scratch import read_all
from transforms.store.schemas import UNITS
from transforms.work_vectors import work_vectors_schema

KEYS = pa.schema([UNITS.field(name) for name in ("content_id", "ordinal", "unit_id", "vector_id", "n_tokens")])
BILLED = pa.schema([*KEYS, *(pa.field(name, pa.float64()) for name in ("seconds", *DETECTION_COLUMNS))])


class NewUnits(msgspec.Struct):
    """The units made in this run for one shard, sorted by (content, ordinal), row for row beside their vectors.

    `keys` are small columns of `units`; `costs` those of `vectors`, whose column `vector` stays where it is. `n_bad`
    counts the units left out because nothing brought their vector.
    """

    units: Scattered
    keys: pa.Table
    vectors: Scattered
    costs: pa.Table
    n_bad: int


def collect_units(
    context: RunContext,
    index: int,
    records: Iterable[Record],
    failed: Collection[str],
    counts: Mapping[str, int],
    known: Collection[str],
) -> NewUnits:
    """The shard's units and vectors out of the run's scratch files; a unit without a sound vector is left out."""
    records = list(records)
    paths = sorted({r.path for r in records if isinstance(r, UnitsWritten)})
    units = _of_shard(Scattered.of([read_all(context.root, path) for path in paths]), index)
    is_wanted = {name: n > 0 for name, n in counts.items()} | dict.fromkeys(set(known) - counts.keys(), True)
    wanted = pa.array(sorted(name for name, wanted in is_wanted.items() if wanted and name not in failed), pa.string())
    names = units.column("content_id", pa.string())
    units = _ordered(units.take(np.flatnonzero(pc.is_in(names, value_set=wanted).to_numpy())))
    paths = sorted({r.path for r in records if isinstance(r, VectorsWritten)})
    return _aligned(context, units, Scattered.of([read_all(context.root, path) for path in paths]))


def _of_shard(units: Scattered, index: int) -> Scattered:
    return units.take(np.flatnonzero(units.column("shard", pa.int32()).to_numpy() == index))


def _ordered(units: Scattered) -> Scattered:
    """Units by (content, ordinal), each once: work that a retry did twice counts once."""
    keys = units.columns(KEYS)
    order = pc.sort_indices(keys, [(name, "ascending") for name in ("content_id", "ordinal", "unit_id")])
    names = keys.column("unit_id").take(order).combine_chunks()
    is_first = np.ones(len(names), bool)
    is_first[1:] = pc.not_equal(names[1:], names[:-1]).to_numpy(zero_copy_only=False)
    return units.take(order.to_numpy()[is_first])


def _aligned(context: RunContext, units: Scattered, vectors: Scattered) -> NewUnits:
    wanted = units.column("vector_id", pa.int64()).to_numpy()
    have = vectors.column("vector_id", pa.int64()).to_numpy()
    order = np.argsort(have, kind="stable")  # of vectors that were made twice, the first
    place = np.searchsorted(have, wanted, sorter=order)
    found = np.zeros(len(wanted), bool)
    inside = place < len(have)
    found[inside] = have[order[place[inside]]] == wanted[inside]
    units, vectors = units.take(np.flatnonzero(found)), vectors.take(order[place[found]])
    schema = work_vectors_schema(context.dimension, "").remove_metadata()
    costs = vectors.columns(schema.remove(schema.get_field_index("vector")))
    return NewUnits(units, units.columns(BILLED), vectors, costs, int((~found).sum()))

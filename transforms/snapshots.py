"""Snapshots as rows of a table (see `transforms.store.schemas.SNAPSHOTS`) and back, a column at a time."""

import itertools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from transforms.columns import strings
from transforms.elements import Block, Snapshot
from transforms.store.schemas import SNAPSHOTS

_BLOCK = SNAPSHOTS.field("blocks").type.value_type


def snapshots_table(names: Sequence[str], snapshots: Sequence[Snapshot]) -> pa.Table:
    """A row for each snapshot, named by its content id."""
    blocks = [block for snapshot in snapshots for block in snapshot.blocks]
    fields = [pa.array([getattr(block, field.name) for block in blocks], field.type) for field in _BLOCK]
    ends = np.cumsum([0, *(len(snapshot.blocks) for snapshot in snapshots)])
    structs = pa.StructArray.from_arrays(fields, fields=list(_BLOCK))
    lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), structs, type=SNAPSHOTS.field("blocks").type)
    texts = pa.array([snapshot.text for snapshot in snapshots], pa.string())
    return pa.Table.from_arrays([pa.array(names, pa.string()), texts, lists], schema=SNAPSHOTS)


def snapshots_of(table: pa.Table) -> list[Snapshot]:
    """The snapshots in the rows of `table`, in order."""
    lists = table.column("blocks").combine_chunks()
    assert isinstance(lists, pa.ListArray)
    structs = lists.flatten()
    assert isinstance(structs, pa.StructArray)
    blocks = [Block(*values) for values in zip(*(field.to_pylist() for field in structs.flatten()), strict=True)]
    edges = np.cumsum([0, *lists.value_lengths().to_pylist()]).tolist()
    spans = itertools.pairwise(edges)
    return [
        Snapshot(text, tuple(blocks[first:end]))
        for text, (first, end) in zip(strings(table, "text"), spans, strict=True)
    ]

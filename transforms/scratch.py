"""Files of a run that is not yet published: named, not content-addressed, written whole or not at all."""

import functools
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from transforms.context import open_store
from transforms.store.files import Store

ROWS_PER_GROUP = 64


def write_rows(store: Store, path: str, table: pa.Table) -> None:
    """Write `table` as Parquet in groups of 64 rows, so that a few of its rows are read at little cost."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", compression_level=1, row_group_size=ROWS_PER_GROUP)
    store.write_named(path, sink.getvalue())


def read_rows(root: str, path: str, rows: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
    """The given rows, in the given order, of the file at `path` under `root`."""
    parquet = _open(root, path)
    groups = sorted({row // ROWS_PER_GROUP for row in rows})
    table = parquet.read_row_groups(groups, columns=list(columns) if columns else None)
    place = {group: position * ROWS_PER_GROUP for position, group in enumerate(groups)}
    return table.take(pa.array([place[row // ROWS_PER_GROUP] + row % ROWS_PER_GROUP for row in rows], pa.int64()))


def read_all(root: str, path: str, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of the file at `path` under `root`."""
    return _open(root, path).read(columns=list(columns) if columns else None)


@functools.lru_cache(maxsize=16)
def _open(root: str, path: str) -> pq.ParquetFile:
    return pq.ParquetFile(pa.BufferReader(open_store(root).read_named(path)))

"""Tables as immutable Parquet segments, and small tables as Arrow IPC bytes. Equal tables give equal bytes."""

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from models.errors import StoreError
from transforms.scattered import Scattered, nothing
from transforms.store.files import Store, damaged
from transforms.store.manifest import FileEntry
from transforms.store.mapped import Vectors, open_vectors, write_vectors

__all__ = [
    "ROWS_PER_GROUP",
    "Vectors",
    "ipc_bytes",
    "open_vectors",
    "parquet_bytes",
    "parquet_frame",
    "read_ipc",
    "read_rows",
    "read_table",
    "take_rows",
    "write_scattered",
    "write_table",
    "write_vectors",
]

ROWS_PER_GROUP = 2048

_REPETITIVE = [
    "file", "status", "level", "recipe", "stage", "reason", "format", "rows_file", "parent_id",
    "snapshot_segment", "units_segment", "vectors_segment", "cut_recipe", "encode_recipe",
    "heading_path.list.element", "blocks.list.element.kind",
]  # fmt: skip
"""Columns that hold few different values, for which a dictionary pays. Ids and texts hold only different ones."""

_SORTED = ["content_id", "uri", "unit_id", "vector_id"]
"""Columns that readers look rows up by, so that minima and maxima let them skip row groups."""


def parquet_bytes(table: pa.Table) -> bytes:
    """`table` as a Parquet file: zstd, row groups of `ROWS_PER_GROUP`. How the table was chunked does not show."""
    return _parquet(table.schema, [table.combine_chunks()]).to_pybytes()


def _parquet(schema: pa.Schema, blocks: Iterable[pa.Table]) -> pa.Buffer:
    """One Parquet file of `blocks`; each but the last holds a multiple of `ROWS_PER_GROUP` rows."""
    names = set(schema.names)
    repetitive: Any = [path for path in _REPETITIVE if path.split(".")[0] in names]  # the stubs know only a bool
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=repetitive,
        write_statistics=[name for name in _SORTED if name in names],
    ) as writer:
        for block in blocks:
            writer.write_table(block, row_group_size=ROWS_PER_GROUP)
    return sink.getvalue()


def write_table(store: Store, folder: str, table: pa.Table) -> FileEntry:
    """Stores a table as a Parquet segment."""
    return store.write(folder, "parquet", _parquet(table.schema, [table.combine_chunks()]), table.num_rows)


def write_scattered(
    store: Store, folder: str, schema: pa.Schema, rows: Scattered, between: Callable[[], None] = nothing
) -> FileEntry:
    """Stores the columns of `schema` as a Parquet segment, a row group at a time: the same file as of one table.

    :param between: as of `Scattered.blocks`.
    """
    blocks = rows.blocks(schema, ROWS_PER_GROUP, between)
    return store.write(folder, "parquet", _parquet(schema, blocks), len(rows))


def read_table(store: Store, entry: FileEntry, columns: Sequence[str] | None = None) -> pa.Table:
    """The whole table, or some of its columns; `DamagedFileError` unless the file is the one that was written."""
    with pq.ParquetFile(pa.BufferReader(store.read(entry))) as file:
        return file.read(columns=list(columns) if columns is not None else None)


def read_rows(
    store: Store, entry: FileEntry, first_row: int, n_rows: int, columns: Sequence[str] | None = None
) -> pa.Table:
    """Rows `[first_row, first_row + n_rows)`, decoding only the row groups that hold them.

    The file's checksum is verified the first time this process reads it, and again if its size or time changed.

    :raises DamagedFileError: the file is not the one that was written.
    :raises StoreError: it has no such rows.
    """
    with pq.ParquetFile(_open_checked(store, entry)) as file:
        _check_rows(entry, file.metadata.num_rows, first_row, first_row + n_rows)
        groups, skipped = _groups_of(file.metadata, first_row, first_row + n_rows)
        table = file.read_row_groups(groups, columns=list(columns) if columns is not None else None)
        return table.slice(first_row - skipped, n_rows)


def take_rows(store: Store, entry: FileEntry, rows: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
    """The rows at the given places, in the given order, decoding only the row groups that hold them.

    Checks and errors as `read_rows`.
    """
    with pq.ParquetFile(_open_checked(store, entry)) as file:
        _check_rows(entry, file.metadata.num_rows, min(rows, default=0), max(rows, default=-1) + 1)
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
        ends = np.cumsum(sizes)
        places = np.asarray(rows, np.int64)
        owners = np.searchsorted(ends, places, "right")
        groups, position = np.unique(owners, return_inverse=True)
        before = np.cumsum(np.append(0, np.take(sizes, groups)))[:-1]
        table = file.read_row_groups(groups.tolist(), columns=list(columns) if columns is not None else None)
        first_rows = ends[groups] - np.take(sizes, groups)
        return table.take(pa.array(places - first_rows[position] + before[position]))


def _check_rows(entry: FileEntry, n_rows: int, start: int, end: int) -> None:
    if start < 0 or end < start or end > n_rows:
        raise StoreError(
            f"{entry.path} has {n_rows} rows, not rows {start} to {end}; "
            "the table that points there is damaged: run `corpusmill verify`"
        )


def parquet_frame(store: Store, entry: FileEntry) -> tuple[int, pa.Schema]:
    """The number of rows and the schema of a stored segment, of which only the end is decoded."""
    with pq.ParquetFile(_open_checked(store, entry)) as file:
        return file.metadata.num_rows, file.schema_arrow


def _groups_of(metadata: pq.FileMetaData, start: int, end: int) -> tuple[list[int], int]:
    """The row groups that hold rows `[start, end)`, and the number of rows before the first of them."""
    groups: list[int] = []
    skipped = position = 0
    for group in range(metadata.num_row_groups):
        following = position + metadata.row_group(group).num_rows
        if position < end and start < following:
            if not groups:
                skipped = position
            groups.append(group)
        position = following
    return groups, skipped if groups else start


_checked: set[tuple[str, str, int, float]] = set()
_checked_lock = threading.Lock()


def _open_checked(store: Store, entry: FileEntry) -> str | pa.BufferReader:
    """What to open for a segment whose checksum holds: its path on a local disk, else its bytes."""
    if not store.is_local:
        return pa.BufferReader(_fetch(store, entry))
    path, found = store.path(entry.path), store.stat(entry.path)
    if found is None:
        raise damaged(path, "is missing")
    key = (path, entry.sha256, found.size, found.modified_at)
    if key not in _checked:
        if store.sha256(entry.path) != entry.sha256:
            raise damaged(path, "does not have the bytes its manifest promises")
        with _checked_lock:
            _checked.add(key)
    return path


@lru_cache(maxsize=2)
def _fetch(store: Store, entry: FileEntry) -> bytes:
    """A remote segment's bytes; the last ones stay, since work items of one segment follow each other."""
    return store.read(entry)


def ipc_bytes(table: pa.Table) -> bytes:
    """`table` as an uncompressed Arrow IPC file of one record batch."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return sink.getvalue().to_pybytes()


def read_ipc(data: bytes) -> pa.Table:
    """The table in an Arrow IPC file; `StoreError` if it is none."""
    try:
        with pa.ipc.open_file(pa.BufferReader(data)) as file:
            return file.read_all()
    except pa.ArrowInvalid as error:
        raise StoreError(f"not an Arrow file: {error}") from error

"""Files of a run that is not yet published: named, not content-addressed, written whole or not at all.

They are uncompressed Arrow files, since they live for minutes and any of their rows is wanted without its neighbours.
"""

import functools
import mmap
import weakref
from collections.abc import Sequence

import pyarrow as pa

from models.errors import StoreError
from transforms.context import open_store
from transforms.store.files import Store
from transforms.store.segments import ipc_bytes, read_ipc


def write_rows(store: Store, path: str, table: pa.Table) -> None:
    """Write `table` as an Arrow file of one batch."""
    store.write_named(path, ipc_bytes(table))


def read_rows(root: str, path: str, rows: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
    """The given rows, in the given order, of the file at `path` under `root`; a `range` of rows is not copied."""
    table = read_all(root, path, columns)
    if isinstance(rows, range) and rows.step == 1:
        return table.slice(rows.start, len(rows))
    return table.take(pa.array(rows, pa.int64()))


def read_all(root: str, path: str, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of the file at `path` under `root`."""
    table = _open(root, path)
    return table.select(list(columns)) if columns is not None else table


@functools.lru_cache(maxsize=8)
def _open(root: str, path: str) -> pa.Table:
    """The table, mapped where the disk is local, so that only what is touched is read."""
    store = open_store(root)
    if not store.is_local:
        return read_ipc(store.read_named(path))
    try:
        mapped = _map(store.path(path))
        with pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapped))) as file:
            return file.read_all()
    except (FileNotFoundError, ValueError, pa.ArrowInvalid) as error:
        raise StoreError(f"{store.path(path)}, which this run wrote, is gone or damaged; run again") from error


_maps: "weakref.WeakSet[mmap.mmap]" = weakref.WeakSet()


def _map(path: str) -> mmap.mmap:
    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    _maps.add(mapped)
    return mapped


def let_pages_go() -> None:
    """Tell the system that no page of a mapped scratch file is needed for now: what is read next is mapped again.

    Whoever walks through many files calls it from time to time, so that memory holds a part of them.
    """
    for mapped in list(_maps):
        mapped.madvise(mmap.MADV_DONTNEED)

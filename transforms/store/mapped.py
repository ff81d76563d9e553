"""Files that readers map into memory instead of reading: checked block by block, when a block is first touched.

Beside a mapped file lies its block sums file: the sha256 digests (32 bytes each) of its blocks of 1 MiB, in order.
Vectors are an Arrow IPC file of one uncompressed record batch, so that a mapped row is the stored row.
"""

import hashlib
import threading
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from transforms.store.disks import Data
from transforms.store.files import Store, check_bytes, damaged
from transforms.store.manifest import FileEntry
from transforms.store.schemas import vectors_schema

BLOCK_BYTES = 1 << 20
DIGEST_BYTES = 32

Ids = NDArray[np.int64]
Halves = NDArray[np.float16]


def block_sums(data: Data) -> bytes:
    """The sha256 digests of the blocks of `data`, one after another."""
    view = memoryview(data)
    blocks = range(0, len(view), BLOCK_BYTES)
    return b"".join(hashlib.sha256(view[start : start + BLOCK_BYTES]).digest() for start in blocks)


def write_mapped(store: Store, folder: str, suffix: str, data: Data, n_rows: int = 0) -> FileEntry:
    """Stores a file that will be mapped, with its block sums beside it."""
    sums = store.write(folder, "sums", block_sums(data))
    entry = store.write(folder, suffix, data, n_rows)
    return msgspec.structs.replace(entry, block_sums=sums.path, block_sums_sha256=sums.sha256)


class Mapped:
    """A file's bytes, mapped where that is possible. `check` before looking at any of them.

    :raises DamagedFileError: the file is missing or has another size; its block sums are not the promised ones.
    """

    def __init__(self, store: Store, entry: FileEntry) -> None:
        self.path = store.path(entry.path)
        self._lock = threading.Lock()
        n_blocks = -(-entry.n_bytes // BLOCK_BYTES)
        if store.is_local and entry.block_sums and entry.n_bytes:
            self.buffer = _map(self.path, entry.n_bytes)
            self._sums = _read_sums(store, entry, n_blocks)
            self._is_checked = np.zeros(n_blocks, dtype=bool)
        else:
            self.buffer = pa.py_buffer(store.read(entry))
            self._sums = b""
            self._is_checked = np.ones(n_blocks, dtype=bool)
        self._bytes = memoryview(self.buffer)

    def check(self, start: int, end: int) -> None:
        """Checks the blocks that hold bytes `[start, end)`, unless they have been."""
        self.check_blocks(np.arange(start // BLOCK_BYTES, -(-end // BLOCK_BYTES)))

    def check_blocks(self, blocks: NDArray[np.int64]) -> None:
        """Checks blocks by number, each once in the life of this object."""
        for block in np.unique(blocks[~self._is_checked[blocks]]).tolist():
            start = block * BLOCK_BYTES
            digest = hashlib.sha256(self._bytes[start : start + BLOCK_BYTES]).digest()
            if digest != self._sums[block * DIGEST_BYTES : (block + 1) * DIGEST_BYTES]:
                raise damaged(self.path, f"is damaged within bytes {start} to {start + BLOCK_BYTES}")
            with self._lock:
                self._is_checked[block] = True


def _map(path: str, n_bytes: int) -> pa.Buffer:
    try:
        with pa.memory_map(path) as file:
            buffer = file.read_buffer()
    except FileNotFoundError as error:
        raise damaged(path, "is missing") from error
    if buffer.size != n_bytes:
        raise damaged(path, f"has {buffer.size} bytes where {n_bytes} were written")
    return buffer


def _read_sums(store: Store, entry: FileEntry, n_blocks: int) -> bytes:
    data = store.find_named(entry.block_sums)
    if data is None:
        raise damaged(store.path(entry.block_sums), "is missing")
    check_bytes(store.path(entry.block_sums), data, entry.block_sums_sha256)
    if len(data) != n_blocks * DIGEST_BYTES:
        raise damaged(store.path(entry.block_sums), f"is not the block sums of {entry.path}")
    return data


def vectors_bytes(vector_ids: Ids, vectors: Halves) -> memoryview:
    """The Arrow IPC file of vectors float16 (n, d) and their ids int64 (n,); equal input gives equal bytes."""
    n_rows, dimension = vectors.shape
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float16).reshape(-1))
    rows = pa.FixedSizeListArray.from_arrays(flat, dimension)
    ids = pa.array(np.ascontiguousarray(vector_ids, dtype=np.int64))
    if len(ids) != n_rows:
        raise ValueError(f"{len(ids)} ids for {n_rows} vectors")
    schema = vectors_schema(dimension)
    batch = pa.record_batch([ids, rows], schema=schema)
    measure = pa.MockOutputStream()
    _write_batch(measure, batch)
    data = pa.allocate_buffer(measure.size())  # a growing one would take up to three times as much
    _write_batch(pa.FixedSizeBufferWriter(data), batch)
    return memoryview(data)


def _write_batch(sink: pa.NativeFile, batch: pa.RecordBatch) -> None:
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)


def write_vectors(store: Store, folder: str, vector_ids: Ids, vectors: Halves) -> FileEntry:
    """Stores vectors float16 (n, d) with their ids int64 (n,), in the given order, with block sums."""
    return write_mapped(store, folder, "arrow", vectors_bytes(vector_ids, vectors), len(vectors))


class Vectors:
    """The vectors of one file. What it hands out has been checked; made by `open_vectors`."""

    def __init__(self, mapped: Mapped) -> None:
        self._mapped = mapped
        batch = _only_batch(mapped)
        column: Any = batch.column(1)
        self.n_rows: int = batch.num_rows
        self.dimension: int = column.type.list_size
        self._ids: Ids = _values(batch.column(0), np.int64)
        self._vectors: Halves = _values(column.values, np.float16).reshape(self.n_rows, self.dimension)

    @property
    def ids(self) -> Ids:
        """int64 (n,), a read-only view of the file."""
        self._check(self._ids)
        return self._ids

    @property
    def vectors(self) -> Halves:
        """float16 (n, dimension), a read-only view of the whole file, all of which is checked; see `rows` for some."""
        self._check(self._vectors)
        return self._vectors

    def slice(self, first: int, n_rows: int) -> Halves:
        """float16 (n_rows, dimension), a read-only view of neighbouring rows; only their blocks are checked."""
        rows = self._vectors[first : first + n_rows]
        self._check(rows)
        return rows

    def rows(self, indices: NDArray[np.int64]) -> Halves:
        """float16 (len(indices), dimension), a copy of the rows at `indices`; only their blocks are checked."""
        if not len(indices):
            return self._vectors[:0].copy()
        if indices.min() < 0 or indices.max() >= self.n_rows:
            raise IndexError(f"row {indices.min()} or {indices.max()} of {self.n_rows} in {self._mapped.path}")
        row_bytes = self.dimension * self._vectors.itemsize
        starts = self._offset(self._vectors) + indices.astype(np.int64) * row_bytes
        first, last = starts // BLOCK_BYTES, (starts + row_bytes - 1) // BLOCK_BYTES
        between = range(int((last - first).max()) + 1)
        self._mapped.check_blocks(np.concatenate([np.minimum(first + step, last) for step in between]))
        return self._vectors[indices]

    def _check(self, part: Ids | Halves) -> None:
        start = self._offset(part)
        self._mapped.check(start, start + part.nbytes)

    def _offset(self, part: Ids | Halves) -> int:
        return int(part.ctypes.data - self._mapped.buffer.address) if part.size else 0


def open_vectors(store: Store, entry: FileEntry) -> Vectors:
    """The vectors of a stored file: mapped and checked by block where it is local, else read and checked whole.

    :raises DamagedFileError: now, if the file's frame is damaged; later, if rows are that someone asks for.
    """
    return Vectors(Mapped(store, entry))


def _only_batch(mapped: Mapped) -> pa.RecordBatch:
    """Parses the file's frame, which lies in its first and its last blocks."""
    size = mapped.buffer.size
    mapped.check(0, min(size, BLOCK_BYTES))
    mapped.check(max(0, size - BLOCK_BYTES), size)
    try:
        with pa.ipc.open_file(pa.BufferReader(mapped.buffer)) as file:
            if file.num_record_batches != 1:
                raise damaged(mapped.path, f"has {file.num_record_batches} record batches where one was written")
            batch = file.get_batch(0)
        if batch.schema != vectors_schema(batch.schema.field(1).type.list_size):
            raise damaged(mapped.path, "does not hold vectors")
    except (pa.ArrowInvalid, AttributeError, IndexError) as error:
        raise damaged(mapped.path, "is not an Arrow file of vectors") from error
    return batch


def _values(array: Any, dtype: type[np.int64] | type[np.float16]) -> NDArray[Any]:
    """A view of the values of an Arrow array without nulls."""
    data = array.buffers()[1]
    return np.empty(0, dtype) if data is None else np.frombuffer(data, dtype, len(array))

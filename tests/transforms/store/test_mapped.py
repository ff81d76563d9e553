"""Mapped vectors: stored rows come back bit for bit, and a damaged block is refused when it is touched, not before."""

import hashlib
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import DamagedFileError
from transforms.store.mapped import BLOCK_BYTES, block_sums, open_vectors, vectors_bytes, write_mapped, write_vectors


def random_vectors(n: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(n + dimension)
    return generator.permutation(n).astype(np.int64), generator.normal(size=(n, dimension)).astype(np.float16)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(0, 50), dimension=st.integers(1, 40), data=st.data())
def test_round_trip(tmp_path_factory, n, dimension, data):
    from transforms.store.files import Store

    store = Store(str(tmp_path_factory.mktemp("root")))
    ids, vectors = random_vectors(n, dimension)
    entry = write_vectors(store, "vectors", ids, vectors)
    found = open_vectors(store, entry)
    indices = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=9)) if n else [], np.int64)
    assert (found.n_rows, found.dimension, entry.n_rows) == (n, dimension, n)
    assert np.array_equal(found.ids, ids)
    assert np.array_equal(found.rows(indices), vectors[indices])
    assert np.array_equal(found.vectors, vectors)
    assert np.array_equal(found.slice(n // 2, 3), vectors[n // 2 : n // 2 + 3])


def test_equal_vectors_give_equal_bytes_whatever_their_memory_layout():
    ids, vectors = random_vectors(100, 8)
    again = np.asfortranarray(np.concatenate([vectors, vectors])[100:])
    assert bytes(vectors_bytes(ids, vectors)) == bytes(vectors_bytes(ids.copy(), again))
    with pytest.raises(ValueError, match="3 ids for 100 vectors"):
        vectors_bytes(ids[:3], vectors)


def test_a_damaged_block_is_refused_when_it_is_touched(store, flip):
    ids, vectors = random_vectors(10_000, 384)
    entry = write_vectors(store, "vectors", ids, vectors)
    flip(store, entry.path, 3 * BLOCK_BYTES + BLOCK_BYTES // 2)
    found = open_vectors(store, entry)
    row_bytes = 2 * 384
    start = entry.n_bytes - 10_000 * row_bytes
    bad = (3 * BLOCK_BYTES + BLOCK_BYTES // 2 - start) // row_bytes
    assert np.array_equal(found.ids, ids)
    assert np.array_equal(found.rows(np.array([0, bad - 2000, bad + 2000])), vectors[[0, bad - 2000, bad + 2000]])
    for touch in (
        lambda: found.rows(np.array([bad])),
        lambda: found.slice(bad - 3, 10),
        lambda: found.vectors,
        lambda: found.rows(np.array([0, bad, 1])),
    ):
        with pytest.raises(DamagedFileError, match=f"{entry.path} is damaged within bytes {3 * BLOCK_BYTES}"):
            touch()


def test_a_row_across_two_blocks_needs_both(store, flip):
    ids, vectors = random_vectors(3, BLOCK_BYTES)
    entry = write_vectors(store, "vectors", ids, vectors)
    flip(store, entry.path, entry.n_bytes // 2)
    with pytest.raises(DamagedFileError):
        open_vectors(store, entry).rows(np.array([1]))


def test_every_damaged_byte_of_a_small_file_is_refused(store, flip):
    ids, vectors = random_vectors(3, 4)
    entry = write_vectors(store, "vectors", ids, vectors)
    for path, size in ((entry.path, entry.n_bytes), (entry.block_sums, 32)):
        for position in range(0, size, 7):
            flip(store, path, position)
            with pytest.raises(DamagedFileError, match=path):
                open_vectors(store, entry)
            flip(store, path, position)
    open_vectors(store, entry)


def test_missing_short_and_foreign_files_are_named(store):
    ids, vectors = random_vectors(3, 4)
    entry = write_vectors(store, "vectors", ids, vectors)
    other = write_vectors(store, "vectors", *random_vectors(600_000, 1))
    mixed = msgspec.structs.replace(entry, block_sums=other.block_sums, block_sums_sha256=other.block_sums_sha256)
    with pytest.raises(DamagedFileError, match="is not the block sums of"):
        open_vectors(store, mixed)
    path = Path(store.path(entry.path))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DamagedFileError, match=f"has {entry.n_bytes - 1} bytes where {entry.n_bytes} were written"):
        open_vectors(store, entry)
    path.unlink()
    with pytest.raises(DamagedFileError, match="is missing"):
        open_vectors(store, entry)
    store.delete([other.block_sums])
    with pytest.raises(DamagedFileError, match=f"{other.block_sums} is missing"):
        open_vectors(store, other)


def test_arrow_files_that_hold_no_vectors_are_refused(store):
    def stored(table: pa.Table, batch_rows: int = 10) -> object:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=batch_rows)
        return write_mapped(store, "vectors", "arrow", sink.getvalue().to_pybytes(), table.num_rows)

    ids = pa.array([1, 2])
    for entry in (
        stored(pa.table({"vector_id": ids})),
        stored(pa.table({"vector_id": ids, "vector": ids})),
        stored(pa.table({"vector_id": ids}), batch_rows=1),
        write_mapped(store, "vectors", "arrow", b"ARROW1 nonsense"),
        write_mapped(store, "vectors", "arrow", b""),
    ):
        with pytest.raises(DamagedFileError, match=entry.path):
            open_vectors(store, entry)


def test_rows_outside_are_an_error(store):
    entry = write_vectors(store, "vectors", *random_vectors(3, 4))
    for index in (-1, 3):
        with pytest.raises(IndexError, match="of 3 in"):
            open_vectors(store, entry).rows(np.array([index]))


def test_block_sums_are_plain_digests_of_blocks():
    data = bytes(BLOCK_BYTES) + b"rest"
    assert block_sums(data) == hashlib.sha256(bytes(BLOCK_BYTES)).digest() + hashlib.sha256(b"rest").digest()
    assert block_sums(b"") == b""

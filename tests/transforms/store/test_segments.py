"""Parquet segments: equal tables give equal bytes, and rows come back from the row groups that hold them."""

import os
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import DamagedFileError, StoreError
from transforms.store import schemas
from transforms.store.segments import (
    ROWS_PER_GROUP,
    ipc_bytes,
    parquet_bytes,
    parquet_frame,
    read_ipc,
    read_rows,
    read_table,
    write_table,
)

CHARACTERS = st.characters(exclude_categories=["Cs"])
SNAPSHOT_ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "content_id": st.text(alphabet="0123456789abcdef", max_size=32),
            "text": st.text(CHARACTERS, max_size=30),
            "blocks": st.lists(
                st.fixed_dictionaries(
                    {
                        "kind": st.sampled_from(["heading", "table"]),
                        "start": st.integers(0, 2**62),
                        "end": st.integers(0, 2**62),
                        "level": st.integers(0, 6),
                        "header_end": st.integers(0, 9),
                    }
                ),
                max_size=3,
            ),
        }
    ),
    max_size=20,
)


@settings(max_examples=50, deadline=None)
@given(rows=SNAPSHOT_ROWS, cuts=st.lists(st.integers(0, 20), max_size=4))
def test_how_a_table_was_made_does_not_show_in_its_bytes(rows, cuts):
    table = pa.Table.from_pylist(rows, schema=schemas.SNAPSHOTS)
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    pieces = [table.slice(start, end - start) for start, end in pairwise(edges)]
    data = parquet_bytes(table)
    assert parquet_bytes(pa.concat_tables(pieces)) == data
    assert parquet_bytes(pa.concat_tables([table, table]).slice(len(rows))) == data
    assert pq.read_table(pa.BufferReader(data)).equals(table)


def many_rows(n: int) -> pa.Table:
    return pa.table({"content_id": [f"{number:032x}" for number in range(n)], "n": list(range(n))})


@settings(max_examples=40, deadline=None)
@given(data=st.data(), n=st.sampled_from([0, 1, ROWS_PER_GROUP - 1, ROWS_PER_GROUP, 3 * ROWS_PER_GROUP + 1]))
def test_rows_are_those_of_the_table(tmp_path_factory, data, n):
    from transforms.store.files import Store

    store = Store(str(tmp_path_factory.mktemp("root")))
    table = many_rows(n)
    entry = write_table(store, "units", table)
    first = data.draw(st.integers(0, n))
    count = data.draw(st.integers(0, n - first))
    assert read_rows(store, entry, first, count).equals(table.slice(first, count))
    assert read_rows(store, entry, first, count, ["n"]).equals(table.select(["n"]).slice(first, count))
    assert read_table(store, entry, ["n"]).equals(table.select(["n"]))
    assert parquet_frame(store, entry) == (n, table.schema)


def test_only_the_row_groups_asked_for_are_decoded(store, monkeypatch):
    entry = write_table(store, "units", many_rows(5 * ROWS_PER_GROUP))
    seen: list[list[int]] = []
    real = pq.ParquetFile.read_row_groups
    monkeypatch.setattr(
        pq.ParquetFile,
        "read_row_groups",
        lambda self, groups, **rest: seen.append(groups) or real(self, groups, **rest),
    )
    read_rows(store, entry, 2 * ROWS_PER_GROUP, 1)
    read_rows(store, entry, ROWS_PER_GROUP - 1, 2)
    read_rows(store, entry, 0, 0)
    assert seen == [[2], [0, 1], []]


def test_rows_that_do_not_exist_are_an_error(store):
    entry = write_table(store, "units", many_rows(3))
    for first, count in ((0, 4), (4, 0), (-1, 1), (0, -1)):
        with pytest.raises(StoreError, match="has 3 rows"):
            read_rows(store, entry, first, count)


def test_a_damaged_segment_is_named_even_after_it_was_read(store, flip):
    entry = write_table(store, "units", many_rows(3))
    read_rows(store, entry, 0, 3)
    flip(store, entry.path)
    os.utime(store.path(entry.path), (1, 1))
    for read in (lambda: read_rows(store, entry, 0, 3), lambda: read_table(store, entry)):
        with pytest.raises(DamagedFileError, match=entry.path):
            read()
    Path(store.path(entry.path)).unlink()
    with pytest.raises(DamagedFileError, match="is missing"):
        read_rows(store, entry, 0, 3)


def test_the_checksum_is_computed_once(store, monkeypatch):
    entry = write_table(store, "units", many_rows(3))
    calls: list[str] = []
    real = type(store).sha256
    monkeypatch.setattr(type(store), "sha256", lambda self, path: calls.append(path) or real(self, path))
    for _ in range(5):
        read_rows(store, entry, 0, 3)
    assert calls == [entry.path]


def test_every_schema_is_written_and_read(store):
    for schema in (
        schemas.FILES,
        schemas.ROWS,
        schemas.DOCUMENTS,
        schemas.CONTENTS,
        schemas.UNITS,
        schemas.FAILURES,
        schemas.LEDGER,
    ):
        table = pa.Table.from_pylist([{schema.names[0]: "x"}, {}], schema=schema)
        assert read_table(store, write_table(store, "units", table)).equals(table)


def test_ipc_round_trip():
    table = many_rows(10)
    assert read_ipc(ipc_bytes(pa.concat_tables([table.slice(0, 3), table.slice(3)]))).equals(table)
    assert ipc_bytes(table) == ipc_bytes(pa.concat_tables([table.slice(0, 3), table.slice(3)]))
    assert read_ipc(ipc_bytes(table.slice(0, 0))).num_rows == 0
    with pytest.raises(StoreError, match="not an Arrow file"):
        read_ipc(b"nonsense")

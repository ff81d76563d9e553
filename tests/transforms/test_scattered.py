"""Rows over many tables: the same as if the tables were one."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from transforms.scattered import Scattered

SCHEMA = pa.schema([("name", pa.string()), ("number", pa.int64())])


@st.composite
def scattered_rows(draw):
    sizes = draw(st.lists(st.integers(0, 5), min_size=1, max_size=5))
    tables = []
    for number, size in enumerate(sizes):
        names = [f"{number}-{row}" for row in range(size)]
        table = pa.Table.from_arrays([pa.array(names, pa.string()), pa.array(range(size), pa.int64())], schema=SCHEMA)
        tables.append(table.append_column("more", pa.array([b"x"] * size, pa.binary())))
    places = draw(st.lists(st.integers(0, sum(sizes) - 1), max_size=12)) if sum(sizes) else []
    return tables, np.array(places, np.int64)


@given(scattered_rows(), st.integers(1, 4))
def test_blocks_and_columns_are_those_of_one_table(drawn, n_rows):
    tables, places = drawn
    expected = pa.concat_tables(tables).select(SCHEMA.names).take(pa.array(places))
    rows = Scattered.of(tables).take(places)
    blocks = list(rows.blocks(SCHEMA, n_rows))
    assert pa.concat_tables([SCHEMA.empty_table(), *blocks]).equals(expected)
    assert all(block.num_rows == n_rows for block in blocks[:-1])
    assert rows.columns(SCHEMA).equals(expected)
    assert rows.column("number", pa.int64()).to_pylist() == expected.column("number").to_pylist()


@given(scattered_rows(), scattered_rows())
def test_two_are_joined_one_after_the_other(first, second):
    rows = Scattered.of(first[0]).take(first[1]).joined(Scattered.of(second[0]).take(second[1]))
    names = [name for tables, places in (first, second) for name in _names(tables, places)]
    assert len(rows) == len(names)
    assert rows.columns(SCHEMA).column("name").to_pylist() == names


def _names(tables, places):
    return pa.concat_tables(tables).column("name").take(pa.array(places)).to_pylist()


@given(scattered_rows())
def test_every_row_is_in_the_part_of_its_table(drawn):
    tables, places = drawn
    found = np.full(len(places), "", object)
    for table, numbers, to in Scattered.of(tables).take(places).parts():
        found[to] = table.column("name").take(pa.array(numbers)).to_pylist()
    assert found.tolist() == _names(tables, places)

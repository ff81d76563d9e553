"""Rows that lie in many tables, brought into an order of their own without holding them all.

Keys are read whole, and compared; the rows themselves are copied out block by block, from tables that are mapped files.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
TABLES_AT_ONCE = 16


def nothing() -> None:
    """Does nothing."""


class Scattered:
    """Rows of `tables`, which have one schema: row `i` is row `rows[i]` of table `owners[i]`, both int64 (n,)."""

    def __init__(self, tables: Sequence[pa.Table], owners: Numbers, rows: Numbers) -> None:
        self._tables, self._owners, self._rows = list(tables), owners, rows
        self._starts = np.cumsum([0, *(table.num_rows for table in tables)])[:-1].astype(np.int64)

    @classmethod
    def of(cls, tables: Sequence[pa.Table]) -> Self:
        """All rows of `tables`, one table after another."""
        sizes = [table.num_rows for table in tables]
        owners = np.repeat(np.arange(len(tables), dtype=np.int64), sizes)
        rows = np.concatenate([np.empty(0, np.int64), *(np.arange(size, dtype=np.int64) for size in sizes)])
        return cls(tables, owners, rows)

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, places: Numbers) -> "Scattered":
        """The rows at `places`, int64 (m,), in that order. Copies no row."""
        return Scattered(self._tables, self._owners[places], self._rows[places])

    def joined(self, other: "Scattered") -> "Scattered":
        """These rows, then those of `other`."""
        owners = np.concatenate([self._owners, other._owners + len(self._tables)])
        return Scattered([*self._tables, *other._tables], owners, np.concatenate([self._rows, other._rows]))

    def columns(self, schema: pa.Schema) -> pa.Table:
        """The columns of `schema`, whole, in this order."""
        if not len(self):
            return schema.empty_table()
        whole = pa.concat_tables([table.select(schema.names) for table in self._tables]).cast(schema)
        return whole.take(pa.array(self._starts[self._owners] + self._rows, pa.int64()))

    def column(self, name: str, kind: pa.DataType) -> Any:
        """One column of type `kind`, whole, in this order, as a chunked array."""
        return self.columns(pa.schema([(name, kind)])).column(0)

    def parts(self) -> Iterator[tuple[pa.Table, Numbers, Numbers]]:
        """Each table that rows lie in, with the numbers of its rows and their places here, both int64."""
        order = np.argsort(self._owners, kind="stable")
        owners, firsts = np.unique(self._owners[order], return_index=True)
        for owner, places in zip(owners.tolist(), np.split(order, firsts[1:]), strict=False):
            yield self._tables[owner], self._rows[places], places

    def blocks(self, schema: pa.Schema, n_rows: int, between: Callable[[], None] = nothing) -> Iterator[pa.Table]:
        """The columns of `schema`, `n_rows` rows at a time.

        :param between: called after every few tables that rows were copied from, so that their pages can be let go.
        """
        for first in range(0, len(self), n_rows):
            block = slice(first, first + n_rows)
            yield _copied(Scattered(self._tables, self._owners[block], self._rows[block]), schema, between)
            between()


def _copied(block: Scattered, schema: pa.Schema, between: Callable[[], None]) -> pa.Table:
    tables, places = [], []
    for table, rows, wanted in block.parts():
        tables.append(table.select(schema.names).take(pa.array(rows, pa.int64())).cast(schema))
        places.append(wanted)
        if len(tables) % TABLES_AT_ONCE == 0:
            between()
    order = np.argsort(np.concatenate(places))
    return pa.concat_tables(tables).combine_chunks().take(pa.array(order, pa.int64()))

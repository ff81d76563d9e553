"""Columns of Arrow tables as plain Python values. None of the columns that this is used for holds a null."""

import pyarrow as pa


def strings(table: pa.Table, name: str) -> list[str]:
    """The values of a column of text.

    >>> strings(pa.table({"uri": ["a", "b"]}), "uri")
    ['a', 'b']
    """
    return [str(value) for value in table.column(name).to_pylist()]

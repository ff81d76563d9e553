"""What is known of a table's rows, so that a changed table stores and embeds only the rows that changed."""

import hashlib
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from transforms.store.files import Store
from transforms.store.manifest import FileEntry
from transforms.store.schemas import ROWS

CHUNK_ROWS = 16384


class BadRow(msgspec.Struct, frozen=True):
    """A row that could not be read: the uris by its own id, and by what looks like it, both empty where there is none.

    `after` is the last known row before it, empty where there is none.
    """

    row: int
    uri: str = ""
    guess: str = ""
    after: str = ""


class KnownRows:
    """The rows of a table as last read, by uri and in file order. Rows are marked as seen when they are asked for."""

    def __init__(self, rows: dict[str, tuple[str, str]], retry: Collection[str] = ()) -> None:
        self._rows = rows
        self._retry = frozenset(retry)
        self._seen: set[str] = set()

    @classmethod
    def load(cls, store: Store, path: str, retry: Collection[str]) -> "KnownRows":
        """Read the listing at `path`; nothing is known where there is none.

        Rows in `retry` never match; with an empty uri in it, none does.
        """
        if not path:
            return cls({}, retry)
        table = pq.read_table(pa.BufferReader(store.read(entry_of(path))))
        order = pc.sort_indices(table.column("row"))  # rows that were kept stand behind the others; the sort is stable
        table = table.select(["uri", "content_id", "metadata_hash"]).take(order)
        columns: list[list[str]] = [column.to_pylist() for column in table.columns]  # type: ignore[misc]
        uris, contents, digests = columns
        return cls(dict(zip(uris, zip(contents, digests, strict=True), strict=True)), retry)

    def __getitem__(self, uri: str) -> tuple[str, str]:
        return self._rows[uri]

    def keep(self, uri: str) -> bool:
        """Whether a row that now fails is known; it then stays listed with its last good content."""
        self._seen.add(uri)
        return uri in self._rows

    def __contains__(self, uri: str) -> bool:
        return uri in self._rows

    def whose(self, bad: Iterable[BadRow]) -> list[str | None]:
        """The uri of each bad row, in file order, when all good rows have been asked for; None where nothing tells.

        A row is named by its own id; else by what looks like it, if a known row that is missing has that id; else it
        is the first missing row that stood behind the same known row as it does now. What is found is marked as seen.
        """
        bad = list(bad)
        found: list[str | None] = [None] * len(bad)
        for number, row in enumerate(bad):
            if row.uri and row.uri not in self._seen:
                found[number] = row.uri
                self._seen.add(row.uri)
        for number, row in enumerate(bad):
            if not row.uri and row.guess in self._rows and row.guess not in self._seen:
                found[number] = row.guess
                self._seen.add(row.guess)
        return self._by_place(bad, found)

    def _by_place(self, bad: list[BadRow], found: list[str | None]) -> list[str | None]:
        unnamed = [number for number, row in enumerate(bad) if not row.uri and found[number] is None]
        if not unnamed:
            return found
        order = list(self._rows)
        places = {uri: place for place, uri in enumerate(order, start=1)}
        taken = {uri for uri in found if uri is not None}
        for number in unnamed:
            place = places.get(bad[number].after, 0)
            while place < len(order) and order[place] in taken:
                place += 1
            if place < len(order) and order[place] not in self._seen:
                found[number] = order[place]
                taken.add(order[place])
            places[bad[number].after] = place
        self._seen |= taken
        return found

    def matches(self, uri: str, content_id: str, metadata_hash: str) -> bool:
        """Whether a row is as it was."""
        self._seen.add(uri)
        is_retried = uri in self._retry or "" in self._retry
        return not is_retried and self._rows.get(uri) == (content_id, metadata_hash)

    def not_seen(self) -> Iterator[str]:
        """The known rows that were never asked for, in order."""
        return (uri for uri in self._rows if uri not in self._seen)


class RowsWriter:
    """Builds a table's listing in bounded memory."""

    def __init__(self) -> None:
        self._sink = pa.BufferOutputStream()
        self._writer = pq.ParquetWriter(self._sink, ROWS, compression="zstd", compression_level=1)
        self._columns: tuple[list[Any], ...] = ([], [], [], [])
        self.n_rows = 0

    def add(self, uri: str, row: int, content_id: str, metadata_hash: str) -> None:
        """Add the next row, in file order."""
        for column, value in zip(self._columns, (uri, row, content_id, metadata_hash), strict=True):
            column.append(value)
        self.n_rows += 1
        if len(self._columns[0]) >= CHUNK_ROWS:
            self._flush()

    def _flush(self) -> None:
        arrays: list[pa.Array[Any]] = [
            pa.array(column, field.type) for column, field in zip(self._columns, ROWS, strict=True)
        ]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=ROWS))
        self._columns = ([], [], [], [])

    def finish(self, store: Store) -> FileEntry:
        """Store the listing and say where it lies."""
        self._flush()
        self._writer.close()
        return store.write("rows", "parquet", self._sink.getvalue().to_pybytes(), self.n_rows)


def entry_of(path: str) -> FileEntry:
    """The entry of a content-addressed file, read off its name."""
    return FileEntry(path, path.rsplit("/", 1)[-1].split(".", 1)[0], -1)


def digest_of(text: str) -> str:
    """A short digest of `text`.

    >>> digest_of("")
    'e3b0c44298fc1c14'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:16]

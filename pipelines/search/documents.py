"""From a content back to the documents that have it."""

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from transforms.store.files import Store
from transforms.store.manifest import DocumentShard, FileEntry
from transforms.store.segments import read_rows, read_table

KEY_CHARS = 16


class Place(NamedTuple):
    """A document and where its row lies."""

    uri: str
    table: FileEntry
    row: int


def uri_matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a whole uri is like a pattern of the shell, in which * takes slashes too.

    >>> [uri_matcher("*/notes/*")(uri) for uri in ("/a/notes/b/c.md", "/a/b/notes.md")]
    [True, False]
    """
    match = re.compile(fnmatch.translate(pattern)).match
    return lambda uri: match(uri) is not None


class Documents:
    """Looks documents up by content id. The first look-up reads the uris of the version, and keeps them."""

    def __init__(self, store: Store, shards: Sequence[DocumentShard]) -> None:
        self._store = store
        self._entries = [shard.documents for shard in shards if shard.documents]
        self._tables: list[_Table] | None = None

    def of_contents(self, content_ids: Iterable[str]) -> dict[str, list[Place]]:
        """The documents of each content, sorted by uri."""
        wanted = np.array(sorted(set(content_ids)))
        found: dict[str, list[Place]] = {content_id: [] for content_id in wanted.tolist()}
        for table in self._opened():
            for content_id, place in table.find(wanted):
                found[content_id].append(place)
        return {content_id: sorted(places, key=lambda place: place.uri) for content_id, places in found.items()}

    def contents_under(self, pattern: str) -> set[str]:
        """The contents of the documents whose uri is like `pattern` (see `uri_matcher`)."""
        is_match = uri_matcher(pattern)
        return {content_id for table in self._opened() for uri, content_id in table.pairs() if is_match(uri)}

    def _opened(self) -> "list[_Table]":
        if self._tables is None:
            self._tables = [_Table(self._store, entry) for entry in self._entries]
        return self._tables

    def metadata(self, place: Place) -> dict[str, Any]:
        """The metadata of a document: only its row group is read."""
        value = read_rows(self._store, place.table, place.row, 1, ["metadata"])["metadata"][0].as_py()
        return msgspec.json.decode(value, type=dict[str, Any]) if value else {}


class _Table:
    """One documents table, ordered by the first 16 digits of the content ids: 24 bytes a document, and the uris."""

    def __init__(self, store: Store, entry: FileEntry) -> None:
        self._entry = entry
        table = read_table(store, entry, ["uri", "content_id"])
        self._uris, self._content_ids = table["uri"], table["content_id"]
        has_content = np.flatnonzero(_to_numpy(self._content_ids.is_valid()))
        keys = _to_numpy(self._content_ids.take(has_content)).astype(f"S{KEY_CHARS}")
        order = np.argsort(keys, kind="stable")
        self._keys, self._rows = keys[order], has_content[order]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields uri and content id of each document with a text."""
        pairs = zip(self._uris.to_pylist(), self._content_ids.to_pylist(), strict=True)
        return ((str(uri), content_id) for uri, content_id in pairs if content_id is not None)

    def find(self, content_ids: NDArray[np.str_]) -> Iterable[tuple[str, Place]]:
        keys = content_ids.astype("U16").astype(f"S{KEY_CHARS}")
        firsts = np.searchsorted(self._keys, keys, "left")
        lasts = np.searchsorted(self._keys, keys, "right")
        for content_id, first, last in zip(content_ids.tolist(), firsts, lasts, strict=True):
            for row in self._rows[first:last].tolist():
                if self._content_ids[row].as_py() == content_id:
                    yield content_id, Place(self._uris[row].as_py(), self._entry, row)


def _to_numpy(column: Any) -> NDArray[Any]:
    return np.asarray(column.to_numpy(zero_copy_only=False))

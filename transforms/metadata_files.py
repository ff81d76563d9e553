"""Metadata between reading and writing: what is short travels with its document's record, the rest lies in files."""

from collections.abc import Iterable, Iterator

import msgspec
import pyarrow as pa

from transforms.context import RunContext
from transforms.records import DocumentRead, Record
from transforms.scratch import let_pages_go, read_rows, write_rows

INLINE_BYTES = 512
"""Metadata up to so many bytes travels: so much of each document of a shard may lie under one key of a shuffle."""

FLUSH_BYTES = 4 * 1024 * 1024
_SCHEMA = pa.schema([("metadata", pa.string())])


class MetadataSink:
    """Collects metadata that is too long to travel, and writes it as scratch files `<prefix>-metadata-*.arrow`."""

    def __init__(self, context: RunContext, prefix: str) -> None:
        self._context, self._prefix = context, prefix
        self._rows: list[str] = []
        self._n_files = self._n_bytes = 0

    def placed(self, document: DocumentRead) -> DocumentRead:
        """The document as it may travel: with its metadata, or with the place that its metadata will have."""
        n_bytes = len(document.metadata.encode())
        if n_bytes <= INLINE_BYTES:
            return document
        if self._n_bytes > FLUSH_BYTES:
            self.flush()
        self._rows.append(document.metadata)
        self._n_bytes += n_bytes
        place = self._path, len(self._rows) - 1
        return msgspec.structs.replace(document, metadata="", metadata_path=place[0], metadata_row=place[1])

    @property
    def _path(self) -> str:
        return f"{self._prefix}-metadata-{self._n_files:04d}.arrow"

    def flush(self) -> None:
        """Write what was collected."""
        if self._rows:
            write_rows(self._context.store, self._path, pa.table([pa.array(self._rows, pa.string())], schema=_SCHEMA))
        self._n_files += 1
        self._rows, self._n_bytes = [], 0


def with_metadata(root: str, records: Iterable[Record]) -> Iterator[Record]:
    """`records`, in an order of their own, with the metadata that lies in files under `root`."""
    placed: dict[str, list[DocumentRead]] = {}
    for record in records:
        if isinstance(record, DocumentRead) and record.metadata_path:
            placed.setdefault(record.metadata_path, []).append(record)
        else:
            yield record
    for path in sorted(placed):
        rows = read_rows(root, path, [record.metadata_row for record in placed[path]])
        for record, text in zip(placed[path], rows.column("metadata").to_pylist(), strict=True):
            yield msgspec.structs.replace(record, metadata=text, metadata_path="", metadata_row=-1)
        let_pages_go()

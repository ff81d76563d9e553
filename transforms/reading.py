"""Stage one: objects in, documents out. Texts go to scratch files; what leaves is one small record a document."""

import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import BinaryIO

import msgspec
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from models.errors import ExtractionError
from transforms.changes import DUPLICATE
from transforms.chunking import has_markup
from transforms.context import RunContext
from transforms.elements import Snapshot
from transforms.extraction import Extracted, content_id, extract_file, format_of, is_table
from transforms.identity import row_uri
from transforms.listing import stat_file
from transforms.metadata_files import MetadataSink
from transforms.planning.parts import expected_units
from transforms.recipes import fingerprint
from transforms.records import (
    DocumentGone,
    DocumentRead,
    Failure,
    FileGone,
    FileSeen,
    FileToRead,
    Note,
    ReadItem,
    Record,
)
from transforms.rows_listing import BadRow, KnownRows, RowsWriter, digest_of
from transforms.scratch import write_rows
from transforms.snapshots import snapshots_table

FLUSH_CHARS = 4 * 1024 * 1024
METADATA_ENCODER = msgspec.json.Encoder(order="deterministic")


class SnapshotSink:
    """Collects texts and writes them as scratch files of a few megabytes, named after the item that they come from."""

    def __init__(self, context: RunContext, item: ReadItem) -> None:
        self._context = context
        self._prefix = f"{context.scratch('reads')}/{fingerprint([[f.file, f.stamp, f.size] for f in item.files])}"
        self.metadata = MetadataSink(context, self._prefix)
        self._n_files = 0
        self._names: list[str] = []
        self._snapshots: list[Snapshot] = []
        self._n_chars = 0

    def n_parts(self, snapshot: Snapshot) -> int:
        """Units that are expected of a document which is cut along its blocks; 0 of one that is not."""
        chunking = self._context.chunking
        window = self._context.recipes["cut"].parts.get("windows", {}).get("structural")
        is_by_blocks = chunking.chunker == "structural" or (chunking.chunker == "auto" and has_markup(snapshot))
        return expected_units(snapshot, int(window), chunking.min_tokens) if window and is_by_blocks else 0

    def add(self, name: str, extracted: Extracted) -> tuple[str, int]:
        """Keep a snapshot and return its place: the path it will have and its row."""
        assert extracted.snapshot is not None
        if self._n_chars > FLUSH_CHARS:
            self.flush()
        self._names.append(name)
        self._snapshots.append(extracted.snapshot)
        self._n_chars += len(extracted.snapshot.text)
        return self._path, len(self._names) - 1

    @property
    def _path(self) -> str:
        return f"{self._prefix}-{self._n_files:04d}.arrow"

    def flush(self) -> None:
        """Write what was collected."""
        if self._names:
            write_rows(self._context.store, self._path, snapshots_table(self._names, self._snapshots))
        self._n_files += 1
        self._names, self._snapshots, self._n_chars = [], [], 0


def read_item(context: RunContext, item: ReadItem) -> Iterator[Record]:
    """Read every file of `item`. A file that cannot be read costs one `Failure` and nothing else."""
    sink = SnapshotSink(context, item)
    records: list[Record] = []
    for file in item.files:
        records.extend(read_file(context, file, sink))
    sink.flush()
    sink.metadata.flush()
    yield from records


def read_file(context: RunContext, file: FileToRead, sink: SnapshotSink) -> list[Record]:
    """The documents of one object, what became of the object, and its dead letters."""
    name = format_of(file.file, None) or ""
    try:
        if is_table(name):
            return _read_table(context, file, name, sink)
        return _read_whole(context, file, name, sink)
    except ExtractionError as error:
        failure = Failure("read", error.reason, file.file, file.file, detail=error.detail[:500])
    except (OSError, ValueError) as error:
        failure = Failure("read", "unreadable", file.file, file.file, detail=_one_line(error))
    seen = FileSeen(file.file, file.size, file.stamp, False, name, is_table(name), 0, failed=True, n_listed=1)
    return [seen, failure]


def _read_whole(context: RunContext, file: FileToRead, name: str, sink: SnapshotSink) -> list[Record]:
    started = time.process_time()
    with open_regular(file.file) as stream:
        extracted = next(iter(extract_file(stream, file.file, context.reading)))
    if extracted.reason:
        raise ExtractionError(extracted.reason, extracted.detail)
    if _changed_since_listed(file):
        raise ExtractionError("changed_while_read", "the next run reads it again")
    metadata = _metadata(extracted.metadata, context.reading.max_metadata_bytes)
    seconds = time.process_time() - started
    seen = FileSeen(file.file, file.size, file.stamp, bool(file.stamp), name, False, 1, n_listed=1)
    document = _document(file.file, file.file, extracted, metadata, seconds, sink)
    assert extracted.snapshot is not None
    return [seen, document, *_notes(file.file, extracted.snapshot.counts)]


def _read_table(context: RunContext, file: FileToRead, name: str, sink: SnapshotSink) -> list[Record]:
    table = _TableReader(context, file, sink)
    with open_regular(file.file) as stream:
        for extracted in extract_file(stream, file.file, context.reading):
            table.read(extracted)
    return table.finish(name, is_settled=not _changed_since_listed(file))


class _TableReader:
    """Compares the rows of one table with those that are known, and keeps what is new of them."""

    def __init__(self, context: RunContext, file: FileToRead, sink: SnapshotSink) -> None:
        self._context, self._file, self._sink = context, file, sink
        self._known = KnownRows.load(context.store, file.rows_file, file.retry)
        self._rows = RowsWriter()
        self._records: list[Record] = []
        self._notes: Counter[str] = Counter()
        self._bad: list[tuple[BadRow, ExtractionError]] = []
        self._last_known = ""
        self._is_cut = False
        self._n_listed = self._n_unchanged = 0
        self._since = time.process_time()

    def read(self, extracted: Extracted) -> None:
        """Take the next row, good or bad."""
        self._n_listed += 1
        self._is_cut |= extracted.is_rest
        uri = self._uri(extracted.key, extracted.row)
        try:
            if extracted.reason:
                raise ExtractionError(extracted.reason, extracted.detail)
            metadata = _metadata(extracted.metadata, self._context.reading.max_metadata_bytes)
        except ExtractionError as error:
            self._put_by(uri, extracted, error)
        else:
            self._compare(uri, extracted, metadata)
        if uri in self._known:
            self._last_known = uri

    def _uri(self, key: str | None, row: int) -> str:
        return row_uri(self._file.file, key, row, self._context.reading.id_scope)

    def _put_by(self, uri: str, extracted: Extracted, error: ExtractionError) -> None:
        """A duplicate is a dead letter at once; whose any other bad row is, only the whole table tells."""
        if error.reason == DUPLICATE:
            self._records.append(self._dead_letter(uri, extracted.row, error))  # the row that won stands in the listing
            return
        guess = self._uri(extracted.guess, extracted.row) if extracted.guess is not None else ""
        bad = BadRow(extracted.row, uri if extracted.key is not None else "", guess, self._last_known)
        self._bad.append((bad, error))

    def _fail_bad(self) -> None:
        for (bad, error), uri in zip(self._bad, self._known.whose(bad for bad, _ in self._bad), strict=True):
            self._fail(uri or self._uri(None, bad.row), bad.row, error)

    def _fail(self, uri: str, row: int, error: ExtractionError) -> None:
        """A dead letter. A known row stays listed with its last good content."""
        self._records.append(self._dead_letter(uri, row, error))
        if self._known.keep(uri):
            self._rows.add(uri, row, *self._known[uri])

    def _dead_letter(self, uri: str, row: int, error: ExtractionError) -> Failure:
        return Failure("read", error.reason, uri, self._file.file, detail=f"row {row}: {error.detail}"[:500])

    def _compare(self, uri: str, extracted: Extracted, metadata: str) -> None:
        assert extracted.snapshot is not None
        identity, digest = _content_id(extracted), digest_of(metadata)
        self._rows.add(uri, extracted.row, identity, digest)
        if self._known.matches(uri, identity, digest):
            self._n_unchanged += 1
            return
        now = time.process_time()
        self._records.append(_document(uri, self._file.file, extracted, metadata, now - self._since, self._sink))
        self._notes.update(extracted.snapshot.counts)
        self._since = now

    def _keep_not_seen(self) -> None:
        """Keep the known rows that may lie in the part that cannot be read; those that failed before, as failed."""
        row, retry = self._n_listed - 1, frozenset(self._file.retry)
        for uri in list(self._known.not_seen()):
            if uri in retry or "" in retry:
                self._n_listed += 1
                self._fail(uri, row, ExtractionError("broken_csv", "it failed before and may lie in the rest"))
            else:
                self._known.keep(uri)
                self._rows.add(uri, row, *self._known[uri])

    def finish(self, format_name: str, is_settled: bool) -> list[Record]:
        """All records of the table; rows that are known and were not read are gone, or kept if the table is cut off."""
        file, is_sound = self._file, not self._bad
        self._fail_bad()
        if self._is_cut:
            self._keep_not_seen()
        gone = [DocumentGone(uri, file.file) for uri in self._known.not_seen()]
        listing = self._rows.finish(self._context.store)
        trusted = bool(file.stamp) and is_sound and is_settled
        seen = FileSeen(
            file.file, file.size, file.stamp, trusted, format_name, True, self._rows.n_rows, self._n_unchanged,
            listing.path, listing.n_bytes, listing.n_rows, n_listed=self._n_listed,
        )  # fmt: skip
        return [*self._records, *gone, *_notes(file.file, self._notes), seen]


def read_gone(context: RunContext, gone: FileGone) -> Iterator[Record]:
    """The documents that vanished with an object: itself, or the rows of the table that it was.

    The object itself is reported as seen with a negative size.
    """
    yield FileSeen(gone.file, -1, "", False, "", bool(gone.rows_file), 0)
    if not gone.rows_file:
        yield DocumentGone(gone.file, gone.file)
        return
    for uri in KnownRows.load(context.store, gone.rows_file, ()).not_seen():
        yield DocumentGone(uri, gone.file)


def _document(
    uri: str, file: str, extracted: Extracted, metadata: str, seconds: float, sink: SnapshotSink
) -> DocumentRead:
    assert extracted.snapshot is not None
    identity = _content_id(extracted)
    path, row = sink.add(identity, extracted) if identity else ("", -1)
    n_chars = len(extracted.snapshot.text)
    n_parts = sink.n_parts(extracted.snapshot) if identity else 0
    read = DocumentRead(uri, file, extracted.row, identity, n_chars, path, row, metadata, seconds, n_parts=n_parts)
    return sink.metadata.placed(read)


def _content_id(extracted: Extracted) -> str:
    """The content's id; empty where there is no text."""
    assert extracted.snapshot is not None
    return content_id(extracted.snapshot) if extracted.snapshot.text.strip() else ""


def _notes(file: str, counts: Mapping[str, int]) -> Iterator[Record]:
    """Counted outcomes of extraction, such as replaced characters."""
    return (Note(outcome, count, file) for outcome, count in sorted(counts.items()) if count)


def _metadata(metadata: Mapping[str, str], max_bytes: int) -> str:
    encoded = METADATA_ENCODER.encode(dict(metadata)) if metadata else b""
    if len(encoded) > max_bytes:
        raise ExtractionError("metadata_too_large", f"{len(encoded)} bytes, max_metadata_bytes = {max_bytes}")
    return encoded.decode()


def open_regular(file: str) -> BinaryIO:
    """The bytes of an object as they lie there. ExtractionError('unreadable') for a pipe, socket or device.

    To open a pipe that nobody writes to would wait for ever.
    """
    if os.path.exists(file) and not os.path.isfile(file):
        raise ExtractionError("unreadable", "a folder, pipe, socket or device, not a regular file")
    stream: BinaryIO = FileSystems.open(file, compression_type=CompressionTypes.UNCOMPRESSED)
    return stream


def _changed_since_listed(file: FileToRead) -> bool:
    """Whether the object is another one than when it was listed. A stamp too young to trust compares by size."""
    now = stat_file(file.file)
    return now is None or now.size != file.size or bool(file.stamp and now.stamp != file.stamp)


def _one_line(error: BaseException) -> str:
    return json.dumps(f"{type(error).__name__}: {error}"[:500])[1:-1]

"""The first skip: which listed objects must be read, which are gone, and which are as they were."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import pyarrow as pa

from models.llm.records import PASSING_REASONS
from transforms.context import RunContext
from transforms.listing import ListedFile
from transforms.record_coder import RecordCoder
from transforms.records import FileGone, FileToRead, ReadItem
from transforms.store.files import Store
from transforms.store.manifest import DocumentShard
from transforms.store.segments import read_table

MAX_ITEM_FILES = 256
MAX_ITEM_BYTES_AS_RECORD = 128 * 1024
RECORDS_PER_SCRATCH_FILE = 512
MAX_RETRY_BYTES = 32 * 1024
EVERY_ROW = ("",)
JOIN, DUPLICATE = "join", "duplicate_id"
"""Stage and reason of the dead letter of a document whose id another one has, in another object."""


class KnownFile(msgspec.Struct, frozen=True):
    """What the last version knows of an object."""

    size: int
    stamp: str
    trusted: bool
    n_documents: int
    rows_file: str


class Retry(msgspec.Struct, frozen=True):
    """Documents, by object, that are to be read again although their object may be as it was.

    `failed` are tried again every run. `duplicates` lost their id to a document of another object, and are tried again
    whenever a run has anything to do, since the winner may then be gone.
    """

    failed: Mapping[str, tuple[str, ...]] = {}
    duplicates: Mapping[str, tuple[str, ...]] = {}

    def all(self) -> dict[str, tuple[str, ...]]:
        """The documents of both kinds."""
        files = self.failed.keys() | self.duplicates.keys()
        return {file: _bounded(self.failed.get(file, ()) + self.duplicates.get(file, ())) for file in files}


class Changes(msgspec.Struct, frozen=True):
    """What a run has to do with the listed objects. `n_unchanged` counts the documents of objects left alone."""

    read: tuple[FileToRead, ...]
    gone: tuple[FileGone, ...]
    n_unchanged: int

    @property
    def is_empty(self) -> bool:
        return not self.read and not self.gone


def known_files(store: Store, shards: Sequence[DocumentShard]) -> dict[str, KnownFile]:
    """The last version's objects by name."""
    known: dict[str, KnownFile] = {}
    for entry in {shard.files.path: shard.files for shard in shards if shard.files}.values():
        table = read_table(store, entry, ["file", "size", "stamp", "trusted", "n_documents", "rows_file"])
        columns = [column.to_pylist() for column in table.columns]
        for file, size, stamp, trusted, n_documents, rows_file in zip(*columns, strict=True):
            known[file] = KnownFile(size, stamp, trusted, n_documents, rows_file or "")
    return known


def documents_to_retry(failures: Iterable[pa.Table]) -> Retry:
    """What the dead letters of the last version ask to be read again."""
    failed: dict[str, set[str]] = {}
    duplicates: dict[str, set[str]] = {}
    for table in failures:
        columns = [table.column(name).to_pylist() for name in ("file", "uri", "stage", "reason")]
        for file, uri, stage, reason in zip(*columns, strict=True):
            if stage == JOIN:
                duplicates.setdefault(file, set()).add(uri)
            elif file and reason != DUPLICATE:  # one within a file wins or loses whenever the file is read
                failed.setdefault(file, set()).add(uri)
    return Retry(
        {file: _bounded(uris) for file, uris in failed.items()},
        {file: _bounded(uris) for file, uris in duplicates.items()},
    )


def contents_to_retry(failures: Iterable[pa.Table]) -> set[str]:
    """The known contents that could not be made anew though no document of theirs had changed, or want an answer."""
    found: set[str] = set()
    for table in failures:
        columns = [table.column(name).to_pylist() for name in ("content_id", "file", "stale", "reason")]
        rows = zip(*columns, strict=True)
        found.update(name for name, file, stale, reason in rows if not file and (stale or reason in PASSING_REASONS))
    return found


def _bounded(uris: Iterable[str]) -> tuple[str, ...]:
    """The uris, or all rows where they would be too many for a record."""
    ordered = tuple(sorted(set(uris)))
    return ordered if sum(len(uri) for uri in ordered) <= MAX_RETRY_BYTES and "" not in ordered else EVERY_ROW


def compare(
    listing: Sequence[ListedFile],
    known: Mapping[str, KnownFile],
    retry: Retry | None = None,
    read_everything: bool = False,
    has_other_work: bool = False,
) -> Changes:
    """Compare a listing with what is known, by name, size and stamp.

    A stamp that was too young to be trusted when it was taken is not trusted now. `has_other_work` says that the run
    goes on whatever the listing holds.
    """
    retry = retry or Retry()
    names = {listed.file for listed in listing}
    gone = tuple(FileGone(file, known[file].rows_file) for file in sorted(known) if file not in names)
    again: Mapping[str, tuple[str, ...]] = retry.failed
    if has_other_work or gone or any(_must_read(listed, known, again, read_everything) for listed in listing):
        again = retry.all()
    read = [
        _to_read(listed, known.get(listed.file), again.get(listed.file, ()))
        for listed in listing
        if _must_read(listed, known, again, read_everything)
    ]
    left_alone = names - {file.file for file in read}
    return Changes(tuple(read), gone, sum(known[file].n_documents for file in left_alone))


def _must_read(
    listed: ListedFile, known: Mapping[str, KnownFile], again: Mapping[str, tuple[str, ...]], read_everything: bool
) -> bool:
    before = known.get(listed.file)
    return before is None or read_everything or listed.file in again or not _same(listed, before)


def _to_read(listed: ListedFile, before: KnownFile | None, retry: tuple[str, ...]) -> FileToRead:
    stamp = listed.stamp if listed.trusted else ""
    return FileToRead(listed.file, listed.size, stamp, before.rows_file if before else "", retry)


def _same(listed: ListedFile, before: KnownFile) -> bool:
    return before.trusted and listed.trusted and (listed.size, listed.stamp) == (before.size, before.stamp)


def read_items(files: Sequence[FileToRead], max_bytes: int) -> Iterator[ReadItem]:
    """Pack files, in order, into items of at most `max_bytes`, or one file each where a file is larger."""
    batch: list[FileToRead] = []
    n_bytes = n_name_bytes = 0
    for file in files:
        name_bytes = len(file.file) * 4 + sum(len(uri) * 4 for uri in file.retry)
        full = n_bytes + file.size > max_bytes or n_name_bytes + name_bytes > MAX_ITEM_BYTES_AS_RECORD
        if batch and (full or len(batch) >= MAX_ITEM_FILES):
            yield ReadItem(tuple(batch))
            batch, n_bytes, n_name_bytes = [], 0, 0
        batch.append(file)
        n_bytes += file.size
        n_name_bytes += name_bytes
    if batch:
        yield ReadItem(tuple(batch))


def write_changes(context: RunContext, changes: Changes) -> list[str]:
    """Write what is to be done as scratch files of records and return their paths: the source of the graph."""
    records = [*read_items(changes.read, context.limits.read_item_bytes), *changes.gone]
    paths = []
    for first in range(0, len(records), RECORDS_PER_SCRATCH_FILE):
        path = f"{context.scratch('changes')}/{first // RECORDS_PER_SCRATCH_FILE:06d}.msgpack"
        batch = [RecordCoder().encode(record) for record in records[first : first + RECORDS_PER_SCRATCH_FILE]]
        context.store.write_named(path, msgspec.msgpack.encode(batch))
        paths.append(path)
    return paths


def read_changes(context: RunContext, path: str) -> Iterator[ReadItem | FileGone]:
    """The records of one file that `write_changes` left."""
    for encoded in msgspec.msgpack.decode(context.store.read_named(path), type=list[bytes]):
        record = RecordCoder().decode(encoded)
        assert isinstance(record, ReadItem | FileGone)
        yield record

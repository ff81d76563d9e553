"""The first skip: which listed objects must be read, which are gone, and which are as they were."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import pyarrow as pa

from transforms.context import RunContext
from transforms.listing import ListedFile
from transforms.records import FileGone, FileToRead, ReadItem, RecordCoder
from transforms.store.files import Store
from transforms.store.manifest import DocumentShard
from transforms.store.segments import read_table

MAX_ITEM_FILES = 256
MAX_ITEM_BYTES_AS_RECORD = 128 * 1024
RECORDS_PER_SCRATCH_FILE = 512
LATE_STAGES = ("cut", "encode")


class KnownFile(msgspec.Struct, frozen=True):
    """What the last version knows of an object."""

    size: int
    stamp: str
    trusted: bool
    n_documents: int
    rows_file: str


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


def failed_late(store: Store, failures: Iterable[pa.Table]) -> dict[str, tuple[str, ...]]:
    """The documents, by object, that were read and then failed in a later stage: those are tried again every run."""
    retry: dict[str, set[str]] = {}
    for table in failures:
        rows = table.select(["file", "uri", "stage"]).to_pylist()
        for row in rows:
            if row["stage"] in LATE_STAGES and row["file"]:
                retry.setdefault(row["file"], set()).add(row["uri"])
    return {file: tuple(sorted(uris)) for file, uris in retry.items()}


def compare(
    listing: Sequence[ListedFile],
    known: Mapping[str, KnownFile],
    retry: Mapping[str, tuple[str, ...]],
    read_everything: bool = False,
) -> Changes:
    """Compare a listing with what is known, by name, size and stamp.

    A stamp that was too young to be trusted when it was taken is not trusted now.
    """
    read: list[FileToRead] = []
    n_unchanged = 0
    for listed in listing:
        before = known.get(listed.file)
        if before and not read_everything and listed.file not in retry and _same(listed, before):
            n_unchanged += before.n_documents
            continue
        rows_file = before.rows_file if before else ""
        stamp = listed.stamp if listed.trusted else ""
        read.append(FileToRead(listed.file, listed.size, stamp, rows_file, retry.get(listed.file, ())))
    names = {listed.file for listed in listing}
    gone = tuple(FileGone(file, known[file].rows_file) for file in sorted(known) if file not in names)
    return Changes(tuple(read), gone, n_unchanged)


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

"""Writing one shard of the documents and files tables, with its dead letters and its part of the ledger."""

from collections.abc import Iterable, Mapping

import msgspec
import pyarrow as pa

from transforms.context import RunContext
from transforms.dead_letters import failure_row
from transforms.documents import (
    STALE,
    Resolved,
    documents_table,
    files_table,
    load_documents,
    resolve,
    stamps_alone,
)
from transforms.ledger import reading_ledger
from transforms.metadata_files import with_metadata
from transforms.records import DocumentShardWritten, Failure, FileSeen, Record
from transforms.store.manifest import DocumentShard, FileEntry
from transforms.store.schemas import FAILURES, FILES
from transforms.store.segments import read_table, write_table


def write_documents(
    context: RunContext, index: int, records: Iterable[Record], failed: Mapping[str, Failure]
) -> DocumentShardWritten:
    """Resolve the shard once more, now that it is known which contents failed, and write its tables."""
    records = list(with_metadata(context.root, records))
    shard = context.document_shards[index]
    resolved = resolve(load_documents(context.store, shard), records, failed)
    files, listings = files_table(context, shard, records)
    written = msgspec.structs.replace(
        shard,
        documents=_write(context, f"documents/{shard.name}", documents_table(resolved.documents)),
        files=_write(context, f"files/{shard.name}", files),
        rows=listings,
    )
    ledger = _write(context, f"ledger/{shard.name}", reading_ledger(resolved.read))
    dead_letters = pa.concat_tables([_failures_table(resolved), _still_failed(context, records)])
    failures = _write(context, f"failures/{shard.name}", dead_letters)
    return DocumentShardWritten(
        index,
        written,
        dict(sorted(resolved.outcomes.items())),
        sum(claim.seconds for claim in resolved.read),
        (ledger,) if ledger else (),
        (failures,) if failures else (),
        _restamped(context, shard, written, files),
    )


def _restamped(
    context: RunContext, before: DocumentShard, after: DocumentShard, files: pa.Table
) -> tuple[int, int] | None:
    if (before.documents, before.rows) != (after.documents, after.rows):
        return None
    return stamps_alone(read_table(context.store, before.files) if before.files else FILES.empty_table(), files)


def _write(context: RunContext, folder: str, table: pa.Table) -> FileEntry | None:
    return write_table(context.store, folder, table) if table.num_rows else None


def _still_failed(context: RunContext, records: Iterable[Record]) -> pa.Table:
    """The last version's dead letters of rows in tables that failed as a whole, so that those are tried again too."""
    failed = {seen.file for seen in records if isinstance(seen, FileSeen) and seen.failed and seen.is_table}
    base = context.base_manifest() if failed else None
    rows = [row for entry in (base.failures if base else ()) for row in read_table(context.store, entry).to_pylist()]
    return pa.Table.from_pylist([row for row in rows if row["file"] in failed and row["uri"] != row["file"]], FAILURES)


def _failures_table(resolved: Resolved) -> pa.Table:
    stale = {uri for uri, document in resolved.documents.items() if document.status == STALE}
    ordered = sorted(resolved.failures, key=lambda failure: (failure.uri, failure.file, failure.stage, failure.reason))
    return pa.Table.from_pylist([failure_row(failure, failure.uri in stale) for failure in ordered], FAILURES)

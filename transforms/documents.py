"""Joining what was read with the documents that are known, one shard of the documents table at a time."""

from collections.abc import Collection, Iterable, Mapping

import msgspec
import pyarrow as pa

from transforms.context import RunContext
from transforms.identity import uri_bucket
from transforms.records import ContentChange, DocumentGone, DocumentRead, Failure, FileSeen, Note, Record
from transforms.rows_listing import entry_of
from transforms.store.files import Store
from transforms.store.manifest import DocumentShard, FileEntry
from transforms.store.schemas import DOCUMENTS, FILES
from transforms.store.segments import read_table

INDEXED, EMPTY, STALE = "indexed", "empty", "stale"


class Document(msgspec.Struct, frozen=True):
    """A row of the documents table; `content_id` is empty for a document without text."""

    uri: str
    file: str
    row: int
    content_id: str
    status: str
    metadata: str


class Resolved(msgspec.Struct):
    """What one shard's documents come to: the new rows, what their contents gain and lose, and the outcomes."""

    documents: dict[str, Document]
    changes: list[ContentChange]
    failures: list[Failure]
    outcomes: dict[str, int]
    read: list[DocumentRead]

    def count(self, outcome: str, n: int = 1) -> None:
        """Add to a counted outcome."""
        if n:
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + n


def load_documents(store: Store, shard: DocumentShard) -> dict[str, Document]:
    """The known documents whose uri falls into the shard's buckets."""
    if shard.documents is None:
        return {}
    table = read_table(store, shard.documents)
    columns = [table.column(name).to_pylist() for name in DOCUMENTS.names]
    return {
        uri: Document(uri, file, row, content_id or "", status, metadata or "")
        for uri, file, row, content_id, status, metadata in zip(*columns, strict=True)
        if shard.first <= uri_bucket(uri) <= shard.last
    }


def resolve(
    known: Mapping[str, Document], records: Iterable[Record], failed: Mapping[str, Failure] | None = None
) -> Resolved:
    """Join the records of one shard with its known documents.

    Of several objects that claim one uri the smallest file and row wins; the others are failures. A document that
    fails keeps its last good content and is stale. `failed` are contents that failed after they were read.
    """
    claims, gone, failures = _sorted_out(records)
    result = Resolved(dict(known), [], [], {}, [])
    for record in records:
        if isinstance(record, FileSeen):
            result.count("unchanged", record.n_unchanged)
        elif isinstance(record, Note):
            result.count(record.outcome, record.count)
    for uri in sorted(claims.keys() | gone.keys() | failures.keys()):
        _resolve_one(result, known.get(uri), claims.get(uri, []), gone.get(uri, set()), failures.get(uri), failed or {})
    result.count("listed", sum(result.outcomes.get(name, 0) for name in ("indexed", "unchanged", "empty", "failed")))
    return result


def _sorted_out(
    records: Iterable[Record],
) -> tuple[dict[str, list[DocumentRead]], dict[str, set[str]], dict[str, dict[str, Failure]]]:
    """Claims, losses and failures by uri. What a retried worker said twice counts once."""
    claims: dict[str, dict[tuple[str, int], DocumentRead]] = {}
    gone: dict[str, set[str]] = {}
    failures: dict[str, dict[str, Failure]] = {}
    for record in records:
        match record:
            case DocumentRead():
                claims.setdefault(record.uri, {})[record.file, record.row] = record
            case DocumentGone():
                gone.setdefault(record.uri, set()).add(record.file)
            case Failure():
                failures.setdefault(record.uri, {})[f"{record.file}\0{record.reason}\0{record.detail}"] = record
            case _:
                pass
    ordered = {uri: [by_place[place] for place in sorted(by_place)] for uri, by_place in claims.items()}
    return ordered, gone, failures


def _resolve_one(
    result: Resolved,
    before: Document | None,
    claims: list[DocumentRead],
    gone: Collection[str],
    failures: Mapping[str, Failure] | None,
    failed: Mapping[str, Failure],
) -> None:
    stands = before is not None and before.file not in gone and all(claim.file != before.file for claim in claims)
    winner = claims[0] if claims else None
    if before and stands and (winner is None or (before.file, before.row) < (winner.file, winner.row)):
        losers, winner = claims, None
    else:
        losers = claims[1:]
    for loser in losers:
        _fail(result, Failure("read", "duplicate_id", loser.uri, loser.file, detail=f"row {loser.row}"))
    for failure in (failures or {}).values():
        _fail(result, failure)
        if before and stands and failure.reason != "duplicate_id":
            _keep_stale(result, before)
    if winner is not None:
        _take(result, before, winner, failed)
    elif before and not stands:
        del result.documents[before.uri]
        result.count("deleted")
        _lose(result, before, cause="")


def _fail(result: Resolved, failure: Failure) -> None:
    result.failures.append(failure)
    result.count("failed")
    result.count(f"failed:{failure.stage}:{failure.reason}")


def _keep_stale(result: Resolved, before: Document) -> None:
    result.documents[before.uri] = msgspec.structs.replace(before, status=STALE)
    result.count("stale")


def _take(result: Resolved, before: Document | None, claim: DocumentRead, failed: Mapping[str, Failure]) -> None:
    """Let `claim` be the document, unless its content failed later on."""
    result.read.append(claim)
    failure = failed.get(claim.content_id)
    if failure is not None and not (before and before.content_id == claim.content_id):
        _fail(result, msgspec.structs.replace(failure, uri=claim.uri, file=claim.file))
        if before:
            _keep_stale(result, before)
        return
    status = INDEXED if claim.content_id else EMPTY
    result.documents[claim.uri] = Document(claim.uri, claim.file, claim.row, claim.content_id, status, claim.metadata)
    if before and before.content_id == claim.content_id:
        result.count("unchanged" if claim.content_id else "empty")
        return
    result.count(status)
    if before:
        _lose(result, before, cause=claim.content_id or EMPTY)
    if claim.content_id:
        result.changes.append(
            ContentChange(
                claim.content_id, 1, claim.content_id, claim.uri, claim.n_chars, claim.path, claim.path_row,
                before.content_id if before else "",
            )
        )  # fmt: skip


def _lose(result: Resolved, before: Document, cause: str) -> None:
    if before.content_id:
        result.changes.append(ContentChange(before.content_id, -1, cause, before.uri, is_loss=True))


def merged(changes: Iterable[ContentChange]) -> list[ContentChange]:
    """Add up changes of the same content for the same cause, so that a text in a million documents stays one record."""
    sums: dict[tuple[str, str, bool], ContentChange] = {}
    for change in changes:
        key = (change.content_id, change.cause, change.is_loss)
        other = sums.get(key)
        if other is None:
            sums[key] = change
            continue
        first = min(change, other, key=lambda c: (c.uri, c.path, c.path_row))
        former = min((c.former for c in (change, other) if c.former), default="")
        n_documents = change.n_documents + other.n_documents
        sums[key] = msgspec.structs.replace(first, n_documents=n_documents, former=former)
    return [sums[key] for key in sorted(sums)]


def documents_table(documents: Mapping[str, Document]) -> pa.Table:
    """The documents as a stored table, sorted by uri."""
    rows = [documents[uri] for uri in sorted(documents)]
    return pa.Table.from_arrays(
        [
            pa.array([row.uri for row in rows], pa.string()),
            pa.array([row.file for row in rows], pa.string()),
            pa.array([row.row for row in rows], pa.int64()),
            pa.array([row.content_id or None for row in rows], pa.string()),
            pa.array([row.status for row in rows], pa.string()),
            pa.array([row.metadata or None for row in rows], pa.string()),
        ],
        schema=DOCUMENTS,
    )


def files_table(
    context: RunContext, shard: DocumentShard, records: Iterable[Record]
) -> tuple[pa.Table, tuple[FileEntry, ...]]:
    """The shard's objects after the run, sorted by name, and the row listings of the tables among them.

    An object that is gone is reported as seen with a negative size.
    """
    known: dict[str, dict[str, object]] = {}
    listings = {entry.path: entry for entry in shard.rows}
    if shard.files is not None:
        rows = read_table(context.store, shard.files).to_pylist()
        known = {row["file"]: row for row in rows if shard.first <= uri_bucket(row["file"]) <= shard.last}
    for record in records:
        if isinstance(record, FileSeen):
            _note_file(known, listings, record)
    kept = [known[file] for file in sorted(known)]
    used = {str(row["rows_file"]) for row in kept if row["rows_file"]}
    return pa.Table.from_pylist(kept, FILES), tuple(listings[path] for path in sorted(used))


def _note_file(known: dict[str, dict[str, object]], listings: dict[str, FileEntry], seen: FileSeen) -> None:
    before = known.get(seen.file)
    if seen.size < 0:
        known.pop(seen.file, None)
        return
    if seen.failed:
        if before is not None:
            known[seen.file] = {**before, "trusted": False}
        return
    if seen.rows_file:
        entry = entry_of(seen.rows_file)
        listings[seen.rows_file] = msgspec.structs.replace(entry, n_bytes=seen.rows_bytes, n_rows=seen.rows_count)
    known[seen.file] = {
        "file": seen.file,
        "size": seen.size,
        "stamp": seen.stamp,
        "trusted": seen.trusted,
        "format": seen.format,
        "is_table": seen.is_table,
        "n_documents": seen.n_documents,
        "rows_file": seen.rows_file or None,
    }

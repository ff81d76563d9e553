"""Joining what was read with the documents that are known, one shard of the documents table at a time."""

from collections.abc import Collection, Iterable, Mapping

import msgspec
import pyarrow as pa

from transforms.changes import DUPLICATE, JOIN
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
    """What one shard's documents come to: the new rows, what their contents gain and lose, and the outcomes.

    The last two count documents without text that went and that are new.
    """

    documents: dict[str, Document]
    changes: list[ContentChange]
    failures: list[Failure]
    outcomes: dict[str, int]
    read: list[DocumentRead]
    n_empty_gone: int = 0
    n_empty_new: int = 0

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


class _Said(msgspec.Struct):
    """The records of one shard by what they are about. What a retried worker said twice stands here once."""

    seen: dict[str, FileSeen] = {}
    notes: dict[tuple[str, str], Note] = {}
    claims: dict[str, dict[tuple[str, int], DocumentRead]] = {}
    gone: dict[str, set[str]] = {}
    failures: dict[str, dict[tuple[str, str, str], Failure]] = {}

    def uris(self) -> list[str]:
        return sorted(self.claims.keys() | self.gone.keys() | self.failures.keys())


def _sorted_out(records: Iterable[Record]) -> _Said:
    said = _Said()
    for record in records:
        match record:
            case FileSeen():
                said.seen[record.file] = record
            case Note():
                said.notes[record.file, record.outcome] = record
            case DocumentRead():
                said.claims.setdefault(record.uri, {})[record.file, record.row] = record
            case DocumentGone():
                said.gone.setdefault(record.uri, set()).add(record.file)
            case Failure():
                said.failures.setdefault(record.uri, {})[record.file, record.reason, record.detail] = record
            case _:
                pass
    return said


def resolve(
    known: Mapping[str, Document], records: Iterable[Record], failed: Mapping[str, Failure] | None = None
) -> Resolved:
    """Join the records of one shard with its known documents.

    Of several objects that claim one uri the smallest file and row wins; the others are failures. A document that
    fails keeps its last good content and is stale. `failed` are contents that failed after they were read.
    """
    said = _sorted_out(records)
    result = Resolved(dict(known), [], [], {}, [])
    for seen in said.seen.values():
        result.count("listed", seen.n_listed)
        result.count("unchanged", seen.n_unchanged)
    for note in said.notes.values():
        result.count(note.outcome, note.count)
    for uri in said.uris():
        _resolve_one(result, uri, said, failed or {})
    return result


def _resolve_one(result: Resolved, uri: str, said: _Said, failed: Mapping[str, Failure]) -> None:
    before = result.documents.get(uri)
    claims = [claim for _, claim in sorted(said.claims.get(uri, {}).items())]
    failures = [failure for _, failure in sorted(said.failures.get(uri, {}).items())]
    stands = before is not None and _stands(before, claims, said.gone.get(uri, set()))
    is_kept = before is not None and stands and all(_place(before) < _place(claim) for claim in claims)
    winner = None if is_kept or not claims else claims[0]
    for failure in failures:
        _fail(result, failure)
    for claim in claims[1:] if winner else claims:
        _fail(result, _duplicate(claim))
    has_failed = before is not None and any(f.file == before.file and f.reason != DUPLICATE for f in failures)
    if winner is not None:
        if before is not None and stands:
            _displace(result, before, winner, failed, has_failed)
        else:
            _take(result, before, winner, failed)
    elif before is not None and not stands:
        _delete(result, before)
    elif before is not None and has_failed:
        _keep_stale(result, before)


def _stands(before: Document, claims: Iterable[DocumentRead], gone: Collection[str]) -> bool:
    """Whether a known document is still in its object, as it was or failed."""
    return before.file not in gone and all(claim.file != before.file for claim in claims)


def _place(document: Document | DocumentRead) -> tuple[str, int]:
    return document.file, document.row


def _duplicate(loser: Document | DocumentRead) -> Failure:
    return Failure(JOIN, DUPLICATE, loser.uri, loser.file, detail=f"row {loser.row}: another object has this id")


def _fail(result: Resolved, failure: Failure) -> None:
    result.failures.append(failure)
    result.count("failed")
    result.count(f"failed:{failure.stage}:{failure.reason}")


def _keep_stale(result: Resolved, before: Document, place: tuple[str, int] | None = None) -> None:
    """Keep the last good content, as that of the document that is now at `place`."""
    file, row = place or _place(before)
    result.documents[before.uri] = msgspec.structs.replace(before, file=file, row=row, status=STALE)
    result.count("stale")


def _delete(result: Resolved, before: Document) -> None:
    del result.documents[before.uri]
    result.count("deleted")
    result.n_empty_gone += not before.content_id
    _lose(result, before, cause="")


def _displace(
    result: Resolved, before: Document, claim: DocumentRead, failed: Mapping[str, Failure], has_failed: bool
) -> None:
    """Let `claim` take the id of a known document that is still there: the known one is now the duplicate."""
    if claim.content_id in failed and before.content_id != claim.content_id:
        _fail_late(result, claim, failed)
        return
    if not has_failed:
        _fail(result, _duplicate(before))
        result.count("unchanged", -1)  # its object was counted as it was
    _take(result, before, claim, failed)


def _take(result: Resolved, before: Document | None, claim: DocumentRead, failed: Mapping[str, Failure]) -> None:
    """Let `claim` be the document, unless its content failed later on."""
    result.read.append(claim)
    is_same = before is not None and before.content_id == claim.content_id
    if claim.content_id in failed and not is_same:
        _fail_late(result, claim, failed)
        if before is not None:
            _keep_stale(result, before, _place(claim))
        return
    status = INDEXED if claim.content_id else EMPTY
    result.documents[claim.uri] = Document(claim.uri, claim.file, claim.row, claim.content_id, status, claim.metadata)
    result.count("unchanged" if is_same and claim.content_id else status)
    if is_same:
        return
    result.n_empty_new += before is None and not claim.content_id
    if before is not None:
        _lose(result, before, cause=claim.content_id or EMPTY)
    if claim.content_id:
        _gain(result, before, claim)


def _fail_late(result: Resolved, claim: DocumentRead, failed: Mapping[str, Failure]) -> None:
    _fail(result, msgspec.structs.replace(failed[claim.content_id], uri=claim.uri, file=claim.file))


def _gain(result: Resolved, before: Document | None, claim: DocumentRead) -> None:
    name, former = claim.content_id, before.content_id if before else ""
    place = claim.uri, claim.n_chars, claim.path, claim.path_row
    result.changes.append(ContentChange(name, 1, name, *place, former, n_parts=claim.n_parts))


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


def stamps_alone(before: pa.Table, after: pa.Table) -> tuple[int, int] | None:
    """How many objects have a trusted stamp that is new, and their bytes; None where more than stamps changed.

    Both are tables of objects as `files_table` makes them.
    """
    lasting = [name for name in FILES.names if name not in ("stamp", "trusted")]
    if not before.select(lasting).equals(after.select(lasting)):
        return None
    stamps = zip(before.to_pylist(), after.to_pylist(), strict=True)
    gained = [now["size"] for then, now in stamps if now["trusted"] and then != now]
    return len(gained), sum(gained)


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

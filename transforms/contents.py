"""Joining what documents gained and lost with the contents that are known, one content shard at a time."""

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec
import pyarrow as pa

from transforms.columns import strings
from transforms.context import RunContext
from transforms.documents import merged
from transforms.identity import bucket
from transforms.record_coder import RecordCoder
from transforms.records import ChangesWritten, ContentChange, GuardCount, LeftoverVectors, Record, WorkEntry
from transforms.store.files import Store
from transforms.store.manifest import Shard
from transforms.store.schemas import CONTENTS
from transforms.store.segments import read_table
from transforms.work_vectors import read_leftover


class Content(msgspec.Struct, frozen=True):
    """A row of the contents table (see `transforms.store.schemas.CONTENTS`)."""

    content_id: str
    n_documents: int
    n_chars: int
    n_tokens: int
    snapshot_segment: str
    snapshot_row: int
    n_units: int
    units_segment: str
    units_row: int
    vectors_segment: str
    vectors_row: int
    cut_recipe: str
    encode_recipe: str


def load_contents(store: Store, shard: Shard) -> dict[str, Content]:
    """The known contents whose id falls into the shard's buckets."""
    if shard.contents is None:
        return {}
    columns = [column.to_pylist() for column in read_table(store, shard.contents, CONTENTS.names).columns]
    rows = (Content(*values) for values in zip(*columns, strict=True))
    return {row.content_id: row for row in rows if shard.first <= bucket(row.content_id) <= shard.last}


def contents_table(contents: Mapping[str, Content]) -> pa.Table:
    """The contents as a stored table, sorted by id."""
    rows = [contents[key] for key in sorted(contents)]
    arrays = [pa.array([getattr(row, field.name) for row in rows], field.type) for field in CONTENTS]
    return pa.Table.from_arrays(arrays, schema=CONTENTS)


def write_content_changes(
    context: RunContext, document_shard: int, changes: Iterable[ContentChange]
) -> Iterator[tuple[int, ChangesWritten]]:
    """Leave changes in one scratch file, a run of bytes a content shard, and yield where each shard's lie."""
    by_shard: dict[int, list[bytes]] = {}
    for change in changes:
        by_shard.setdefault(context.content_shard(change.content_id), []).append(RecordCoder().encode(change))
    path = f"{context.scratch('contents')}/{document_shard:04d}.msgpack"
    data = bytearray()
    places = []
    for index in sorted(by_shard):
        encoded = msgspec.msgpack.encode(by_shard[index])
        places.append((index, ChangesWritten(path, len(data), len(encoded))))
        data += encoded
    if places:
        context.store.write_named(path, bytes(data))
    yield from places


def read_content_changes(context: RunContext, records: Iterable[Record]) -> list[ContentChange]:
    """The changes that `records` point at, in an order that does not depend on theirs."""
    places = sorted({(r.path, r.offset, r.n_bytes) for r in records if isinstance(r, ChangesWritten)})
    changes: list[ContentChange] = []
    for path, offset, n_bytes in places:
        data = context.store.read_part(path, offset, n_bytes)
        decoded = (RecordCoder().decode(encoded) for encoded in msgspec.msgpack.decode(data, type=list[bytes]))
        changes.extend(change for change in decoded if isinstance(change, ContentChange))
    return merged(changes)


def without_failed(changes: Iterable[ContentChange], failed: Collection[str]) -> list[ContentChange]:
    """The changes that still hold when the contents in `failed` could not be made.

    The gains of those contents are off, and so are the losses that they would have caused.
    """
    return [change for change in changes if change.cause not in failed]


def document_counts(known: Mapping[str, Content], changes: Iterable[ContentChange]) -> dict[str, int]:
    """How many documents each content has after the changes, for the contents that they touch."""
    counts: dict[str, int] = {}
    for change in changes:
        name = change.content_id
        if name not in counts:
            counts[name] = known[name].n_documents if name in known else 0
        counts[name] += change.n_documents
    return counts


def vanished(changes: Iterable[ContentChange]) -> int:
    """Documents that are gone and whose content did not come back under another name."""
    gone: dict[str, int] = {}
    gained: dict[str, int] = {}
    for change in changes:
        if not change.is_loss:
            gained[change.content_id] = gained.get(change.content_id, 0) + change.n_documents
        elif not change.cause:
            gone[change.content_id] = gone.get(change.content_id, 0) - change.n_documents
    return sum(max(0, n - gained.get(name, 0)) for name, n in gone.items())


def plan_shard(context: RunContext, index: int, records: list[Record]) -> tuple[list[WorkEntry], GuardCount]:
    """What has to be cut and encoded in one shard, in the order in which its texts lie, and what the guards count."""
    shard = context.shards[index]
    known = load_contents(context.store, shard)
    changes = read_content_changes(context, records)
    counts = document_counts(known, changes)
    gains = gains_of(changes)
    wanted = [name for name in sorted(known.keys() | counts.keys()) if counts.get(name, 1) > 0]
    wanted += [name for name in _may_come_back(known, changes) if counts[name] <= 0]
    found = [_work_for(context, index, name, known.get(name), gains.get(name)) for name in wanted]
    entries = _with_leftovers(context, [entry for entry in found if entry is not None], records)
    entries.sort(key=lambda entry: (entry.path, entry.first))
    n_chars = sum(entry.n_chars for entry in entries)
    in_parts = [entry for entry in entries if entry.n_parts]
    return entries, GuardCount(
        vanished=vanished(changes),
        work_chars=n_chars,
        work_contents=len(entries),
        parts=sum(entry.n_parts for entry in in_parts),
        parts_chars=sum(entry.n_chars for entry in in_parts),
        parts_contents=len(in_parts),
    )


def gains_of(changes: Iterable[ContentChange]) -> dict[str, ContentChange]:
    """The changes by which documents came to a content, by content."""
    return {change.content_id: change for change in changes if not change.is_loss}


def _may_come_back(known: Mapping[str, Content], changes: Iterable[ContentChange]) -> list[str]:
    """Contents without units whose documents were edited: needed should the edited text fail, as it did before."""
    lost = {change.content_id for change in changes if change.is_loss and change.cause}
    return sorted(name for name in lost if name in known and not known[name].n_units)


def _work_for(
    context: RunContext, index: int, name: str, known: Content | None, gain: ContentChange | None
) -> WorkEntry | None:
    """The stage at which a content enters: the first whose recipe is not the one that made it."""
    if known is None:
        assert gain is not None
        place, n_parts = (gain.path, gain.path_row), gain.n_parts
        return WorkEntry(name, index, "cut", *place, 1, gain.n_chars, gain.former, uri=gain.uri, n_parts=n_parts)
    if known.cut_recipe != context.cut_recipe:
        uri = gain.uri if gain is not None else ""
        place = known.snapshot_segment, known.snapshot_row
        return WorkEntry(name, index, "cut", *place, 1, known.n_chars, name, uri=uri)
    if known.encode_recipe != context.encode_recipe:
        return WorkEntry(name, index, "encode", known.units_segment, known.units_row, known.n_units, known.n_chars)
    return None


def _with_leftovers(context: RunContext, entries: list[WorkEntry], records: Iterable[Record]) -> list[WorkEntry]:
    """Tell each entry which files of interrupted runs hold vectors of its content."""
    wanted = {entry.content_id for entry in entries}
    found: dict[str, list[str]] = {}
    for path in sorted({record.path for record in records if isinstance(record, LeftoverVectors)}):
        table = read_leftover(context.root, path) if wanted else None
        if table is not None:
            for name in set(strings(table, "content_id")) & wanted:
                found.setdefault(name, []).append(path)
    return [
        msgspec.structs.replace(entry, leftovers=tuple(found[entry.content_id])) if entry.content_id in found else entry
        for entry in entries
    ]

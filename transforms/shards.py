"""Stage three, first half: a content shard's segments and contents table for the new version.

The files depend on the last version and on the contents that came and went, never on how work was divided.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from transforms.columns import strings
from transforms.contents import (
    Content,
    contents_table,
    document_counts,
    gains_of,
    load_contents,
    read_content_changes,
    without_failed,
)
from transforms.context import RunContext
from transforms.dead_letters import failure_row
from transforms.elements import PASSAGE
from transforms.former_vectors import segment_of, vectors_of
from transforms.identity import unmatched
from transforms.ledger import shard_ledger
from transforms.new_units import NewUnits, collect_units
from transforms.records import ContentChange, Failure, Record, ShardWritten
from transforms.scattered import Scattered
from transforms.scratch import let_pages_go, read_all
from transforms.store.manifest import FileEntry, Shard
from transforms.store.schemas import FAILURES, SNAPSHOTS, UNITS
from transforms.store.segments import open_vectors, read_table, write_scattered, write_table, write_vectors

MAX_SEGMENTS = 16
UNFINISHED = ""
"""The cut recipe of a content that no recipe made: each run cuts it until one does."""
NO_UNITS: dict[str, Any] = {"units_segment": "", "units_row": -1, "vectors_segment": "", "vectors_row": -1}


def write_shard(
    context: RunContext,
    index: int,
    records: list[Record],
    failed: Mapping[str, Failure],
    unfinished: Collection[str] = (),
) -> ShardWritten:
    """Write what changed of one shard: new segments, a new contents table, its rows of the ledger and dead letters.

    `failed` are the contents that could not be made, or not made anew: a known one keeps what it has. `unfinished` are
    those that the next run is to cut again.
    """
    shard = context.shards[index]
    known = load_contents(context.store, shard)
    changes = without_failed(read_content_changes(context, records), failed)
    counts = document_counts(known, changes)
    made = collect_units(context, index, records, failed, counts, known)
    let_pages_go()
    live = {name: row for name, row in known.items() if counts.get(name, 1) > 0}
    gains = gains_of(changes)
    contents = _updated(context, live, gains, counts, made.keys)
    for name in contents.keys() & set(unfinished):
        contents[name] = msgspec.structs.replace(contents[name], cut_recipe=UNFINISHED)
    n_removed = _n_removed(known, contents)
    written = _ShardWriter(context, shard, contents, made).write(gains)
    table, totals = shard_ledger(made.keys, made.costs, {name: gain.uri for name, gain in gains.items()})
    totals["units_removed"] = n_removed
    totals["units_bad"] = made.n_bad
    outcomes, dead_letters = _not_made_anew(live, counts, failed)
    return ShardWritten(
        index, written, totals, _write(context, f"ledger/{shard.name}", table), outcomes,
        _write(context, f"failures/{shard.name}", dead_letters),
    )  # fmt: skip


def _write(context: RunContext, folder: str, table: pa.Table) -> tuple[FileEntry, ...]:
    return (write_table(context.store, folder, table),) if table.num_rows else ()


def _n_removed(known: Mapping[str, Content], contents: Mapping[str, Content]) -> int:
    """Stored units that the new version does not have: those of contents that are gone or were made anew."""
    places = {name: (row.units_segment, row.units_row) for name, row in contents.items()}
    return sum(row.n_units for name, row in known.items() if places.get(name) != (row.units_segment, row.units_row))


def _not_made_anew(
    live: Mapping[str, Content], counts: Mapping[str, int], failed: Mapping[str, Failure]
) -> tuple[dict[str, int], pa.Table]:
    """Outcomes and dead letters of documents that were counted as unchanged while a new recipe failed on their content.

    There is one dead letter a content, without a uri.
    """
    names = sorted(live.keys() & failed.keys())
    outcomes: Counter[str] = Counter()
    for name in names:
        n_documents = counts.get(name, live[name].n_documents)
        reason = f"failed:{failed[name].stage}:{failed[name].reason}"
        outcomes.update({"failed": n_documents, reason: n_documents, "stale": n_documents, "unchanged": -n_documents})
    rows = [failure_row(failed[name], is_stale=True) for name in names]
    return dict(sorted(outcomes.items())), pa.Table.from_pylist(rows, FAILURES)


def _updated(
    context: RunContext,
    live: Mapping[str, Content],
    gains: Mapping[str, ContentChange],
    counts: Mapping[str, int],
    units: pa.Table,
) -> dict[str, Content]:
    """The contents after the run. New rows are not placed yet: their segments are named when they are written."""
    contents = {
        name: _kept(context, msgspec.structs.replace(row, n_documents=counts.get(name, row.n_documents)))
        for name, row in live.items()
    }
    for name, (n_units, n_tokens) in _sums_by_content(units).items():
        row = contents[name] if name in live else _new_content(gains[name], counts[name])
        row = msgspec.structs.replace(row, n_units=n_units, n_tokens=n_tokens, **NO_UNITS)
        contents[name] = msgspec.structs.replace(
            row, cut_recipe=context.cut_recipe, encode_recipe=context.encode_recipe
        )
    return contents


def _new_content(gain: ContentChange, n_documents: int) -> Content:
    """A content whose text is not stored yet."""
    return Content(
        gain.content_id, n_documents, gain.n_chars, 0, "", -1, 0, **NO_UNITS, cut_recipe=UNFINISHED, encode_recipe=""
    )


def _kept(context: RunContext, row: Content) -> Content:
    """A content that was not made anew. Vectors of another encoder are let go, since they must not meet new ones."""
    if row.encode_recipe == context.encode_recipe:
        return row
    return msgspec.structs.replace(row, n_units=0, **NO_UNITS, cut_recipe=UNFINISHED)


def _sums_by_content(units: pa.Table) -> dict[str, tuple[int, int]]:
    grouped = units.group_by("content_id").aggregate([("n_tokens", "count"), ("n_tokens", "sum")])
    counts, totals = (grouped.column(name).to_numpy().tolist() for name in ("n_tokens_count", "n_tokens_sum"))
    return dict(zip(strings(grouped, "content_id"), zip(counts, totals, strict=True), strict=True))


class _ShardWriter:
    """Writes a shard's segments and places its contents in them."""

    def __init__(self, context: RunContext, shard: Shard, contents: dict[str, Content], made: NewUnits) -> None:
        self.context, self.shard, self.contents, self.made = context, shard, contents, made
        self.store = context.store
        self.is_split = shard.contents is not None and shard.index is None and shard.n_units > 0

    def write(self, gains: Mapping[str, ContentChange]) -> Shard:
        """Write everything and return the shard's new entry, without an index."""
        snapshots = self._write_snapshots(gains)
        units, vectors = self._write_units()
        total = sum(entry.n_rows for entry in units)
        n_units = sum(row.n_units for row in self.contents.values())
        table = contents_table(self.contents)
        return msgspec.structs.replace(
            self.shard,
            contents=write_table(self.store, f"contents/{self.shard.name}", table) if self.contents else None,
            snapshots=snapshots,
            units=units,
            vectors=vectors,
            index=None,
            index_kind="",
            training="",
            n_contents=len(self.contents),
            n_units=n_units,
            n_dead_units=total - n_units,
            n_chars=sum(row.n_chars for row in self.contents.values()),
        )

    def _rewrites(self, segments: tuple[FileEntry, ...], n_live: int, n_new: int) -> bool:
        """Whether a shard's segments are to be written as one: too many of them, or too much of them dead."""
        n_stored = sum(entry.n_rows for entry in segments)
        dead = n_stored - n_live
        too_dead = n_stored > 0 and dead / (n_stored + n_new) > self.context.index.max_dead_share
        return self.is_split or too_dead or len(segments) + (n_new > 0) > MAX_SEGMENTS

    def _write_snapshots(self, gains: Mapping[str, ContentChange]) -> tuple[FileEntry, ...]:
        new = [name for name in sorted(self.contents) if self.contents[name].snapshot_row < 0]
        kept = [name for name in sorted(self.contents) if self.contents[name].snapshot_row >= 0]
        live = self._live_segments(self.shard.snapshots, {self.contents[name].snapshot_segment for name in kept})
        rewrite = self._rewrites(live, len(kept), len(new))
        texts = _new_texts(self.context, [gains[name] for name in new])
        names = new
        if rewrite and kept:
            texts, names, live = texts.joined(self._stored_texts(kept)), new + kept, ()
        if not names:
            return live
        order = np.argsort(np.array(names), kind="stable")
        entry = write_scattered(self.store, f"snapshots/{self.shard.name}", SNAPSHOTS, texts.take(order), let_pages_go)
        for row, place in enumerate(order.tolist()):
            content = self.contents[names[place]]
            placed = msgspec.structs.replace(content, snapshot_segment=entry.path, snapshot_row=row)
            self.contents[names[place]] = placed
        return (*live, entry)

    def _live_segments(self, segments: tuple[FileEntry, ...], used: Collection[str]) -> tuple[FileEntry, ...]:
        return tuple(entry for entry in segments if entry.path in used)

    def _stored_texts(self, names: list[str]) -> Scattered:
        """The stored snapshots of `names`, in that order."""
        paths = sorted({self.contents[name].snapshot_segment for name in names})
        tables = [read_table(self.store, segment_of(self.shard.snapshots, path)) for path in paths]
        owners = [paths.index(self.contents[name].snapshot_segment) for name in names]
        rows = [self.contents[name].snapshot_row for name in names]
        return Scattered(tables, np.array(owners, np.int64), np.array(rows, np.int64))

    def _write_units(self) -> tuple[tuple[FileEntry, ...], tuple[FileEntry, ...]]:
        kept = [row for row in self.contents.values() if row.units_row >= 0 and row.n_units]
        units = self._live_segments(self.shard.units, {row.units_segment for row in kept})
        vectors = self._live_segments(self.shard.vectors, {row.vectors_segment for row in kept})
        rows, matrix = self.made.units, _matrix(self.made.vectors, self.context.dimension)
        if self._rewrites(units, sum(row.n_units for row in kept), len(rows)) and kept:
            rows, matrix = self._with_stored(kept, rows, matrix)
            units = vectors = ()
        if not len(rows):
            return units, vectors
        new_units = write_scattered(self.store, f"units/{self.shard.name}", UNITS, rows, let_pages_go)
        ids = rows.column("vector_id", pa.int64()).to_numpy()
        is_passage = pc.is_in(rows.column("level", pa.string()), value_set=pa.array([PASSAGE])).to_numpy()
        ids = np.where(is_passage, unmatched(ids), ids)
        new_vectors = write_vectors(self.store, f"vectors/{self.shard.name}", ids, matrix)
        names = strings(rows.columns(pa.schema([UNITS.field("content_id")])), "content_id")
        self._place(names, new_units.path, new_vectors.path)
        return (*units, new_units), (*vectors, new_vectors)

    def _with_stored(
        self, kept: list[Content], rows: Scattered, matrix: NDArray[np.float16]
    ) -> tuple[Scattered, NDArray[np.float16]]:
        """The new rows together with all live ones, sorted by (content, ordinal)."""
        parts = [matrix]
        for segment in self.shard.units:
            held = sorted((row for row in kept if row.units_segment == segment.path), key=lambda row: row.units_row)
            if not held:
                continue
            places = np.concatenate([np.arange(row.units_row, row.units_row + row.n_units) for row in held])
            rows = rows.joined(Scattered.of([read_table(self.store, segment)]).take(places))
            stored = open_vectors(self.store, segment_of(self.shard.vectors, held[0].vectors_segment))
            parts.append(stored.rows(places))
        keys = rows.columns(pa.schema([UNITS.field("content_id"), UNITS.field("ordinal")]))
        order = pc.sort_indices(keys, [("content_id", "ascending"), ("ordinal", "ascending")]).to_numpy()
        return rows.take(order), np.concatenate(parts)[order]

    def _place(self, names: list[str], units: str, vectors: str) -> None:
        first: dict[str, int] = {}
        for row, name in enumerate(names):
            first.setdefault(name, row)
        for name, row in first.items():
            self.contents[name] = msgspec.structs.replace(
                self.contents[name], units_segment=units, units_row=row, vectors_segment=vectors, vectors_row=row
            )


def _new_texts(context: RunContext, gains: list[ContentChange]) -> Scattered:
    """The snapshots of new contents, in the order of `gains`, where the readers left them."""
    paths = sorted({gain.path for gain in gains})
    numbers = {path: number for number, path in enumerate(paths)}
    owners = np.array([numbers[gain.path] for gain in gains], np.int64)
    rows = np.array([gain.path_row for gain in gains], np.int64)
    return Scattered([read_all(context.root, path) for path in paths], owners, rows)


def _matrix(rows: Scattered, dimension: int) -> NDArray[np.float16]:
    """The vectors of scratch rows, float16 (n, dimension)."""
    matrix = np.empty((len(rows), dimension), np.float16)
    for table, numbers, places in rows.parts():
        matrix[places] = vectors_of(table.column("vector"))[numbers]
        let_pages_go()
    return matrix

"""Whether a shard's tables, vectors and index agree: every live content has its rows, and every row says the truth."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from models.errors import StoreError
from transforms.elements import PASSAGE, PROPOSITION, SOURCE_LEVELS, SUMMARY, Block, Snapshot
from transforms.identity import bucket, unit_id, unmatched, vector_id
from transforms.indexing.shards import ids_of, load
from transforms.store.files import Store
from transforms.store.manifest import FileEntry, Shard
from transforms.store.segments import Vectors, open_vectors, read_table

MAX_FAULTS_PER_FILE = 10
LEVELS = SOURCE_LEVELS | {PROPOSITION, SUMMARY}

Ids = NDArray[np.int64]


class Fault(msgspec.Struct, frozen=True):
    """A file of the store and what is wrong with it."""

    path: str
    problem: str


class FaultLog:
    """Collects faults, a few for each file: what is broken everywhere need not be said a million times."""

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {}
        self._n_more: Counter[str] = Counter()

    def add(self, path: str, problem: str) -> None:
        problems = self._found.setdefault(path, [])
        if len(problems) < MAX_FAULTS_PER_FILE:
            problems.append(problem)
        else:
            self._n_more[path] += 1

    def check(self, is_right: bool, path: str, problem: str) -> None:
        """Adds the fault unless `is_right`."""
        if not is_right:
            self.add(path, problem)

    def has(self, entries: Iterable[FileEntry]) -> bool:
        """Whether one of the files has a fault."""
        return any(entry.path in self._found or entry.block_sums in self._found for entry in entries)

    def faults(self) -> list[Fault]:
        """All faults, by path."""
        named = [Fault(path, problem) for path in sorted(self._found) for problem in self._found[path]]
        return named + [Fault(path, f"and {n} more faults") for path, n in sorted(self._n_more.items())]


class Content(msgspec.Struct, frozen=True):
    """A row of the contents table."""

    content_id: str
    n_documents: int
    n_chars: int
    n_tokens: int
    snapshot_segment: str
    snapshot_row: int
    n_units: int
    units_segment: str | None
    units_row: int | None
    vectors_segment: str | None
    vectors_row: int | None
    cut_recipe: str | None
    encode_recipe: str | None


class Segments:
    """The open files of one shard, by path."""

    def __init__(self, store: Store, shard: Shard) -> None:
        self.snapshots: dict[str, pa.Table] = {entry.path: read_table(store, entry) for entry in shard.snapshots}
        self.units: dict[str, pa.Table] = {entry.path: read_table(store, entry) for entry in shard.units}
        self.vectors: dict[str, Vectors] = {entry.path: open_vectors(store, entry) for entry in shard.vectors}


def read_contents(store: Store, shard: Shard) -> list[Content]:
    """The contents whose bucket is the shard's. A shard that was split shares its table until it changes."""
    if shard.contents is None:
        return []
    rows = read_table(store, shard.contents).to_pylist()
    return [Content(**row) for row in rows if shard.first <= bucket(row["content_id"]) <= shard.last]


def check_shard(store: Store, shard: Shard, log: FaultLog) -> tuple[list[Content], Ids]:
    """Checks a shard whose files are sound, and returns its contents and its sorted live vector ids."""
    contents = read_contents(store, shard)
    place = shard.contents.path if shard.contents else f"shard {shard.name}"
    _check_counts(shard, contents, place, log)
    segments = Segments(store, shard)
    _check_overlaps(contents, place, log)
    live = [ids for content in contents for ids in _check_content(content, segments, place, log)]
    ids = np.sort(np.concatenate([np.empty(0, np.int64), *live]))
    _check_index(store, shard, ids, place, log)
    return contents, ids


def _check_counts(shard: Shard, contents: list[Content], place: str, log: FaultLog) -> None:
    names = [content.content_id for content in contents]
    n_units = sum(content.n_units for content in contents)
    log.check(names == sorted(set(names)), place, "is not sorted by content_id or holds one twice")
    log.check(len(names) == shard.n_contents, place, f"has {len(names)} contents where {shard.n_contents} are promised")
    log.check(n_units == shard.n_units, place, f"has {n_units} units where {shard.n_units} are promised")


def _check_overlaps(contents: Iterable[Content], place: str, log: FaultLog) -> None:
    """Two contents must not claim the same rows of a segment."""
    claims = [
        (segment, row, row + content.n_units, content.content_id)
        for content in contents
        for segment, row in (
            (content.units_segment, content.units_row),
            (content.vectors_segment, content.vectors_row),
        )
        if segment is not None and row is not None and content.n_units
    ]
    claims.sort()
    for (segment, _, end, owner), (next_segment, start, _, other) in pairwise(claims):
        is_apart = segment != next_segment or end <= start
        log.check(is_apart, place, f"contents {owner} and {other} claim the same rows of {segment}")


def _check_content(content: Content, segments: Segments, place: str, log: FaultLog) -> Iterator[Ids]:
    """Checks one content's rows, and yields the ids of its units."""
    text = _check_snapshot(content, segments.snapshots, place, log)
    if text is None or not content.n_units:
        return
    units = _rows(segments.units, content.units_segment, content.units_row, content.n_units)
    if units is None:
        return log.add(place, f"content {content.content_id} points at no units: {content.units_segment}")
    _check_units(content, text, units.to_pylist(), log)
    ids = np.asarray(units.column("vector_id").to_numpy(), dtype=np.int64)
    is_matched = np.array([level != PASSAGE for level in units.column("level").to_pylist()], np.bool_)
    yield ids[is_matched]
    _check_vectors(content, ids, is_matched, segments.vectors, place, log)


def _rows(tables: Mapping[str, pa.Table], segment: str | None, row: int | None, n_rows: int) -> pa.Table | None:
    table = tables.get(segment or "")
    if table is None or row is None or row < 0 or row + n_rows > table.num_rows:
        return None
    return table.slice(row, n_rows)


def _check_snapshot(content: Content, tables: Mapping[str, pa.Table], place: str, log: FaultLog) -> str | None:
    from transforms.extraction.identity import content_id  # brings the parsers along

    rows = _rows(tables, content.snapshot_segment, content.snapshot_row, 1)
    if rows is None:
        log.add(place, f"content {content.content_id} points at no snapshot: {content.snapshot_segment}")
        return None
    row = rows.to_pylist()[0]
    text = str(row["text"])
    blocks = tuple(Block(**block) for block in row["blocks"])
    names = {content.content_id, row["content_id"], content_id(Snapshot(text, blocks))}
    at = f"row {content.snapshot_row}"
    log.check(len(names) == 1, content.snapshot_segment, f"{at} is not the text of content {content.content_id}")
    log.check(
        len(text) == content.n_chars, place, f"content {content.content_id} does not have {content.n_chars} chars"
    )
    return text


def _check_units(content: Content, text: str, units: list[dict[str, Any]], log: FaultLog) -> None:
    path = content.units_segment or ""
    ordinals = [unit["ordinal"] for unit in units]
    is_ordered = all(before < after for before, after in pairwise(ordinals))
    log.check(is_ordered, path, f"units of content {content.content_id} are out of order")
    passages = {unit["unit_id"]: unit for unit in units if unit["level"] == PASSAGE}
    for unit in units:
        start, end, name = unit["start"], unit["end"], unit["unit_id"]
        log.check(unit["content_id"] == content.content_id, path, f"unit {name} is of content {unit['content_id']}")
        log.check(unit["level"] in LEVELS, path, f"unit {name} has the unknown level {unit['level']!r:.40}")
        is_source = unit["level"] in SOURCE_LEVELS
        is_exact = 0 <= start <= end <= len(text) and (not is_source or text[start:end] == unit["text"])
        log.check(is_exact, path, f"unit {name} is not what its snapshot has at {start} to {end}")
        _check_parent(unit, passages, path, log)
        right = unit_id(unit["content_id"], unit["level"], start, end, unit["text"], unit["recipe"])
        log.check(name == right, path, f"unit {name} has another content than its id says")
        log.check(unit["vector_id"] == vector_id(right), path, f"unit {name} has a wrong vector_id")


def _check_parent(unit: Mapping[str, Any], passages: Mapping[str, Any], path: str, log: FaultLog) -> None:
    """A proposition must lie within a passage of its content; no other unit has a parent."""
    parent, name = unit["parent_id"], unit["unit_id"]
    if unit["level"] != PROPOSITION:
        return log.check(parent is None, path, f"unit {name} of level {unit['level']!r:.40} has a parent")
    passage = passages.get(parent)
    if passage is None:
        return log.add(path, f"unit {name} has the parent {parent}, which is no passage of its content")
    is_inside = passage["start"] <= unit["start"] <= unit["end"] <= passage["end"]
    log.check(is_inside, path, f"unit {name} lies outside its passage {parent}")


def _check_vectors(
    content: Content,
    ids: Ids,
    is_matched: NDArray[np.bool_],
    files: Mapping[str, Vectors],
    place: str,
    log: FaultLog,
) -> None:
    """Checks the rows beside a content's units: a vector for each, and zeros under another id for a passage."""
    path, row, n = content.vectors_segment or "", content.vectors_row, content.n_units
    vectors = files.get(path)
    if vectors is None or row is None or row < 0 or row + n > vectors.n_rows:
        return log.add(place, f"content {content.content_id} points at no vectors: {path or None}")
    is_aligned = bool((vectors.ids[row : row + n] == np.where(is_matched, ids, unmatched(ids))).all())
    log.check(is_aligned, path, f"rows {row} to {row + n} are not the units of content {content.content_id}")
    rows = vectors.slice(row, n)
    is_usable = bool((np.isfinite(rows).all(axis=1) & (rows.any(axis=1) == is_matched)).all())
    log.check(is_usable, path, f"rows {row} to {row + n} hold a NaN, infinite or zero vector, or a passage's")


def _check_index(store: Store, shard: Shard, live: Ids, place: str, log: FaultLog) -> None:
    if shard.index is None:
        return log.check(not len(live), place, f"has {len(live)} units and no index")
    path = shard.index.path
    try:
        index = load(store.read(shard.index), shard.training)
    except StoreError as error:
        return log.add(path, str(error))
    ids = ids_of(index)
    log.check(index.n_vectors == len(live), path, f"has {index.n_vectors} vectors for {len(live)} live units")
    missing, extra = len(np.setdiff1d(live, ids)), len(np.setdiff1d(ids, live))
    log.check(not missing and not extra, path, f"lacks {missing} live units and has {extra} others")

"""Stage two, first half: work items in, scratch files of units out, with the vectors that are known already."""

import hashlib
import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec
import numpy as np
import pyarrow as pa

from models.flops import attention_flops, encoding_flops
from models.llm.records import LlmFailure, Request, Result
from models.tokenizer import Tokenizer
from transforms.addresses import with_addresses
from transforms.chunkers.protocol import Source
from transforms.chunking import Cutter
from transforms.context import RunContext
from transforms.elements import PASSAGE, CutDocument, Snapshot
from transforms.former_vectors import Found, find_vectors, segment_of
from transforms.identity import unit_id, vector_id
from transforms.ledger import DETECTION_COLUMNS
from transforms.recipes import fingerprint
from transforms.records import EncodeItem, Failure, Note, Record, UnitsWritten, VectorsWritten, WorkEntry, WorkItem
from transforms.rewriting.dialogues import Ask, Dialogue, hold_all
from transforms.scratch import read_rows as read_scratch_rows
from transforms.scratch import write_rows
from transforms.snapshots import snapshots_of
from transforms.store.schemas import UNITS
from transforms.store.segments import take_rows
from transforms.work_vectors import VectorRow, write_work_vectors

WORK_UNITS = UNITS.append(pa.field("shard", pa.int32())).append(pa.field("seconds", pa.float64()))
WORK_UNITS = WORK_UNITS.append(pa.field("needs_vector", pa.bool_())).append(pa.field("n_of", pa.int32()))
WORK_UNITS = pa.schema([*WORK_UNITS, *(pa.field(name, pa.float64()) for name in DETECTION_COLUMNS)])
"""A scratch row of a unit: its stored columns, its content shard, its share of the seconds, whether it is still to be
encoded, how many units its content has, and its share of what finding the content's boundaries cost."""

Row = dict[str, object]
T = TypeVar("T")
Keyed = tuple[int, Record]


# A try of the same item that was told other things, and that nobody knows to be alive, writes a file of its own.
_NAMING = ("unit_id", "parent_id", "label", "embed_hash", "needs_vector", "n_of")


class Cut(msgspec.Struct):
    """What one work item came to: unit rows, vectors that were found, dead letters and counted outcomes."""

    rows: list[Row]
    vectors: list[tuple[int, VectorRow]]
    failures: list[Failure]
    outcomes: dict[str, int]


def cut_item(context: RunContext, cutter: Cutter, tokenizer: Tokenizer, item: WorkItem) -> Iterator[Record | Keyed]:
    """Cut every content of an item. Yields dead letters, notes, encode items, and (shard, place) pairs.

    A content that cannot be cut costs one `Failure`; the others of its item are not touched.
    """
    result = Cut([], [], [], {})
    item = WorkItem(tuple(with_addresses(context, item.entries, cutter.addresses)))
    for entry, rows in cut_contents(context, cutter, item, result):
        _leave_out_passages(context, entry, rows, result)
        _match_vectors(find_vectors(context, entry), entry, rows, result)
        result.rows.extend(rows)
    yield from result.failures
    yield from (Note(outcome, count) for outcome, count in sorted(result.outcomes.items()) if count)
    yield from _write(context, tokenizer, item, result)


def cut_contents(
    context: RunContext, cutter: Cutter, item: WorkItem, result: Cut
) -> Iterator[tuple[WorkEntry, list[Row]]]:
    """The unit rows of each content of an item; failures and outcomes are added to `result`, the rows are not.

    All contents are cut side by side, so that a language model is asked about all of them together.
    """
    sources = _sources(context, item.entries)
    dialogues = (_tried(_units_of(context, cutter, entry, source, result)) for entry, source in sources)
    ask = _Watched(cutter.ask)
    try:
        made = hold_all(dialogues, ask)
    finally:
        context.spending.flush()
    result.failures += ask.letters(item.entries)
    for entry, rows in zip(item.entries, made, strict=True):
        if isinstance(rows, Exception):
            detail = f"{type(rows).__name__}: {rows}"[:500]
            result.failures.append(Failure("cut", "cutter_error", content_id=entry.content_id, detail=detail))
        elif not rows:
            result.failures.append(Failure("cut", "no_units", content_id=entry.content_id))
        else:
            yield entry, rows


class _Watched:
    """An `ask` that keeps what failed: one dead letter for each content, stage and reason."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._failed: dict[tuple[str, str, str], str] = {}

    def __call__(self, requests: Sequence[Request]) -> Sequence[Result]:
        results = self._ask(requests)
        for request, result in zip(requests, results, strict=True):
            if isinstance(result, LlmFailure):
                self._failed.setdefault((request.owner, request.stage, result.reason), result.detail)
        return results

    def letters(self, entries: Iterable[WorkEntry]) -> list[Failure]:
        """What failed, with the documents' addresses; the contents are served all the same."""
        uris = {entry.content_id: entry.uri for entry in entries}
        return [
            Failure(stage, reason, uris.get(owner, ""), content_id=owner, detail=detail[:500], is_served=True)
            for (owner, stage, reason), detail in sorted(self._failed.items())
        ]


def _tried(dialogue: Dialogue[T]) -> Dialogue[T | Exception]:
    """What a dialogue returns, or what it raises: then the others go on. What asking raises ends them all."""
    try:
        return (yield from dialogue)
    except (ValueError, ArithmeticError, LookupError, RecursionError, MemoryError) as error:
        return error


def _timed(dialogue: Dialogue[T]) -> Dialogue[tuple[T, float]]:
    """What a dialogue returns, and the CPU seconds of its own steps."""
    seconds, results = 0.0, None
    while True:
        started = time.process_time()
        try:
            requests = dialogue.send(results)  # type: ignore[arg-type] # the first step takes None
        except StopIteration as stop:
            return stop.value, seconds + time.process_time() - started
        seconds += time.process_time() - started
        results = yield requests


def _sources(context: RunContext, entries: Iterable[WorkEntry]) -> Iterator[tuple[WorkEntry, Snapshot | list[Row]]]:
    """What each content is made from: a snapshot to cut, or stored units to encode. A file is opened once for all."""
    for (path, stage), group in itertools.groupby(entries, lambda entry: (entry.path, entry.stage)):
        together = list(group)
        if stage == "encode":
            yield from zip(together, _stored_units(context, path, together), strict=True)
        else:
            yield from zip(together, _snapshots(context, path, together), strict=True)


def _snapshots(context: RunContext, path: str, entries: Sequence[WorkEntry]) -> list[Snapshot]:
    rows = [entry.first for entry in entries]
    if path.startswith("runs/"):
        return snapshots_of(read_scratch_rows(context.root, path, rows))
    segment = segment_of(context.shards[entries[0].shard].snapshots, path)
    return snapshots_of(take_rows(context.store, segment, rows))


def _stored_units(context: RunContext, path: str, entries: Sequence[WorkEntry]) -> Iterator[list[Row]]:
    """The units that the last version holds of contents which only need new vectors."""
    segment = segment_of(context.shards[entries[0].shard].units, path)
    places = [row for entry in entries for row in range(entry.first, entry.first + entry.count)]
    table, first = take_rows(context.store, segment, places), 0
    for entry in entries:
        rows = table.slice(first, entry.count).to_pylist()
        n_matched = sum(row["level"] != PASSAGE for row in rows)
        work = {"shard": entry.shard, "seconds": 0.0, "needs_vector": True, "n_of": n_matched}
        yield [{**row, **work, **dict.fromkeys(DETECTION_COLUMNS, 0.0)} for row in rows]
        first += entry.count


def _units_of(
    context: RunContext, cutter: Cutter, entry: WorkEntry, source: Snapshot | list[Row], result: Cut
) -> Dialogue[list[Row]]:
    if not isinstance(source, Snapshot):
        return source
    document, seconds = yield from _timed(_document(cutter, Source(source, entry.content_id, entry.uri)))
    for outcome, count in document.counts.items():
        result.outcomes[outcome] = result.outcomes.get(outcome, 0) + count
    result.outcomes[f"chunker:{document.chunker}"] = result.outcomes.get(f"chunker:{document.chunker}", 0) + 1
    return _unit_rows(context, entry, document, seconds)


def _document(cutter: Cutter, source: Source) -> Dialogue[CutDocument]:
    """A document's units. What rewrites them goes on in this dialogue, so that all of an item's share rounds."""
    return (yield from cutter.dialogue(source))


def _unit_rows(context: RunContext, entry: WorkEntry, document: CutDocument, seconds: float) -> list[Row]:
    rows: list[Row] = []
    recipe = context.cut_recipe
    costs = _detection_costs(context, document)
    names = [unit_id(entry.content_id, unit.level, unit.start, unit.end, unit.text, recipe) for unit in document.units]
    n_matched = sum(unit.level != PASSAGE for unit in document.units)
    for ordinal, (unit, name) in enumerate(zip(document.units, names, strict=True)):
        rows.append(
            {
                "unit_id": name,
                "vector_id": vector_id(name),
                "content_id": entry.content_id,
                "level": unit.level,
                "label": unit.label,
                "ordinal": ordinal,
                "start": unit.start,
                "end": unit.end,
                "text": unit.text,
                "context": unit.context,
                "heading_path": list(unit.heading_path),
                "parent_id": None if unit.parent is None else names[unit.parent],
                "n_tokens": unit.n_tokens,
                "recipe": recipe,
                "embed_hash": "" if unit.level == PASSAGE else _hash(unit.embedded_text),
                "shard": entry.shard,
                "seconds": max(0.0, seconds - document.detection.cpu_seconds) / len(document.units),
                **{name: cost / len(document.units) for name, cost in costs.items()},
                "needs_vector": True,
                "n_of": n_matched,
            }
        )
    return rows


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _detection_costs(context: RunContext, document: CutDocument) -> dict[str, float]:
    cost, size = document.detection, context.detection_costs
    flops = encoding_flops(size.n_parameters, cost.n_tokens)
    attention = attention_flops(cost.n_pairs, size.hidden_size, size.n_layers)
    values = (cost.n_tokens, cost.n_padded_slots, flops, attention, cost.seconds)
    return {name: float(value) for name, value in zip(DETECTION_COLUMNS, values, strict=True)}


def _leave_out_passages(context: RunContext, entry: WorkEntry, rows: list[Row], result: Cut) -> None:
    """Passages with propositions are matched by them alone: their vectors are zeros, and no encoder reads them."""
    for row in rows:
        if row["level"] == PASSAGE:
            number = row["vector_id"]
            assert isinstance(number, int)
            row["needs_vector"] = False
            nothing = np.zeros(context.dimension, np.float16)
            result.vectors.append((entry.shard, VectorRow(number, "", entry.content_id, "unmatched", nothing, 0)))


def _match_vectors(found: Found, entry: WorkEntry, rows: list[Row], result: Cut) -> None:
    """Take the vectors that exist, so that only units whose embedded text is new are encoded."""
    for row in rows if found else ():
        name, number = str(row["embed_hash"]), row["vector_id"]
        known = found.get(name)
        if known is None or not name:
            continue
        assert isinstance(number, int)
        row["needs_vector"] = False
        taken = VectorRow(number, name, entry.content_id, known.source, known.vector, known.n_paid_tokens)
        result.vectors.append((entry.shard, taken))
        found[name] = msgspec.structs.replace(known, n_paid_tokens=0)  # it was paid for once


def _write(context: RunContext, tokenizer: Tokenizer, item: WorkItem, result: Cut) -> Iterator[Record | Keyed]:
    if not result.rows:
        return
    key = fingerprint([[row[name] for name in _NAMING] for row in result.rows])
    path = f"{context.scratch('units')}/{key}.arrow"
    write_rows(context.store, path, pa.Table.from_pylist(result.rows, WORK_UNITS))
    for shard in sorted({entry.shard for entry in item.entries}):
        yield shard, UnitsWritten(path)
    if result.vectors:
        known = write_work_vectors(context, f"{key}-known", [row for _, row in result.vectors])
        for shard in sorted({shard for shard, _ in result.vectors}):
            yield shard, VectorsWritten(known)
    overhead_tokens = tokenizer.overhead_tokens + context.prompt_tokens
    yield from encode_items(path, result.rows, context.encoder.work_item_tokens, overhead_tokens)


def encode_items(path: str, rows: Iterable[Row], max_tokens: int, overhead_tokens: int) -> Iterator[EncodeItem]:
    """Ranges of rows with at most `max_tokens` left to encode; `overhead_tokens` are added to each input.

    Ranges without work are left out. A unit without a token weighs one.
    """
    first = n_rows = n_tokens = 0
    shards: set[int] = set()
    for number, row in enumerate(rows):
        tokens, shard = row["n_tokens"], row["shard"]
        assert isinstance(tokens, int) and isinstance(shard, int)
        weight = max(1, tokens + overhead_tokens) * bool(row["needs_vector"])
        if n_tokens and n_tokens + weight > max_tokens:
            yield EncodeItem(path, first, n_rows, n_tokens, tuple(sorted(shards)))
            first, n_rows, n_tokens, shards = number, 0, 0, set()
        n_rows += 1
        n_tokens += weight
        if weight:
            shards.add(shard)
    if n_tokens:
        yield EncodeItem(path, first, n_rows, n_tokens, tuple(sorted(shards)))

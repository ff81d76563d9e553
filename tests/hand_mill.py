"""A run without Beam: the pure functions of the mill called one after another, some fifty times as fast as a runner.

What a runner may do to records is done on purpose: groups come in any order, and every record may come twice.
"""

import dataclasses
import os
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from models.encoder import Encoder
from models.fakes import HashingEncoder
from models.tokenizer import load_tokenizer
from pipelines.config import load_settings
from pipelines.run_context import make_context
from pipelines.run_plan import check_recipes, find_changes, touched_shards
from transforms.changes import Changes, read_changes, write_changes
from transforms.contents import plan_shard, write_content_changes
from transforms.context import RunContext, open_store
from transforms.cutters import cutter_for
from transforms.cutting import cut_item
from transforms.documents import Document, load_documents, merged, resolve
from transforms.documents_writing import write_documents
from transforms.embedding import encode_item
from transforms.filling import fill_shard, plan_fills
from transforms.guards import add_up, count_documents, failed_contents, refusal, unfinished_contents
from transforms.listing import list_files
from transforms.outcome import Outcome
from transforms.publishing import publish
from transforms.reading import read_gone, read_item
from transforms.records import EncodeItem, Failure, FileGone, Note, Record, TouchShard, WorkItem
from transforms.shards import write_shard
from transforms.stages.reading import home_uri as home
from transforms.store.manifest import Manifest
from transforms.store.pointer import read_pointer
from transforms.store.verify import verify
from transforms.store.versions import load_manifest
from transforms.work import CHARS_PER_TOKEN, WorkPacker

OLD = 1_000_000_000
CUT_ME_NOT = "CUT-ME-NOT"


class OneEncoder:
    """Stands where the lazy encoder stands."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def get(self) -> Encoder:
        return self._encoder


class FaultyCutter:
    """Cuts as another cutter does, but raises for a text that holds `CUT-ME-NOT`."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def dialogue(self, source: Any) -> Any:
        if CUT_ME_NOT in source.snapshot.text:
            raise ValueError("no way to cut this")
        return self._inner.dialogue(source)


@dataclass
class Turn:
    """What a run left behind: its outcome, its context, and every record on the way, by kind."""

    outcome: Outcome
    context: RunContext
    changes: Changes
    work: list[WorkItem] = field(default_factory=list)
    items: list[EncodeItem] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    written: list[Record] = field(default_factory=list)
    filled: list[Record] = field(default_factory=list)


@dataclass
class HandMill:
    """A corpus in a folder, its index, and runs over them. `seed` shuffles and doubles records."""

    base: Path
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None
    encoder: type[HashingEncoder] = HashingEncoder
    ticks: int = 0

    @property
    def source(self) -> Path:
        return self.base / "corpus"

    @property
    def root(self) -> str:
        return str(self.base / "index")

    @property
    def store(self):
        return open_store(self.root)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return self.stamp(name)

    def write_rows(self, name: str, rows: Iterable[tuple[Any, ...]]) -> Path:
        """A Parquet table of (id, text) rows, and a third column `tag` where rows have three values."""
        names = ["id", "text", "tag"]
        columns = list(zip(*rows, strict=True)) or [(), ()]
        sink = pa.BufferOutputStream()
        arrays = [pa.array(column, pa.string()) for column in columns]
        pq.write_table(pa.Table.from_arrays(arrays, names[: len(arrays)]), sink)
        return self.write(name, sink.getvalue().to_pybytes())

    def stamp(self, name: str) -> Path:
        self.ticks += 1
        os.utime(self.source / name, (OLD + self.ticks, OLD + self.ticks))
        return self.source / name

    def remove(self, name: str) -> None:
        (self.source / name).unlink()

    def context(self, **changed: Any) -> tuple[RunContext, Manifest | None, list[Any]]:
        chosen = {"encoder": "hashing", "hashing_dimension": 32, "window_tokens": 40, **self.settings, **changed}
        settings = load_settings(None, {"input": [f"{self.source}/"], **chosen})
        pointer = read_pointer(self.store)
        base = load_manifest(self.store, pointer.version) if pointer else None
        listing = list_files([f"{self.source}/"], exclude=self.root)
        sha256 = pointer.manifest_sha256 if pointer else ""
        return make_context(settings, self.store, base, sha256, listing), base, listing

    def run(self, **changed: Any) -> Turn:
        """One run. It fails the test unless the store is sound afterwards."""
        context, base, listing = self.context(**changed)
        check_recipes(context, base)
        touched = touched_shards(context, base)
        changes = find_changes(context, base, listing, has_other_work=any(touched))
        context = dataclasses.replace(context, n_unchanged=changes.n_unchanged)
        if base is not None and changes.is_empty and not any(touched):
            return Turn(Outcome(base.version), context, changes)
        turn = self.turn(context, changes, touched)
        self.store.delete_folder(f"runs/{context.run}")
        if load_manifest(self.store) is not None:
            assert verify(self.store) == []
        return turn

    def turn(self, context: RunContext, changes: Changes, touched: tuple[list[int], list[int]]) -> Turn:
        """Everything between the listing and the swap."""
        turn = Turn(Outcome(), context, changes)
        read = self._read(context, changes, touched[0])
        to_plan: dict[int, list[Record]] = defaultdict(list, {index: [TouchShard()] for index in touched[1]})
        counts = []
        for index in read:
            resolved = resolve(
                load_documents(context.store, context.document_shards[index]), self._jumbled(read[index])
            )
            counts.append(count_documents(resolved))
            for shard, place in write_content_changes(context, index, merged(resolved.changes)):
                to_plan[shard].append(place)
        packer = WorkPacker(context.encoder.work_item_tokens * CHARS_PER_TOKEN)
        for index in to_plan:
            entries, count = plan_shard(context, index, self._jumbled(to_plan[index]))
            counts.append(count)
            turn.work += packer.add(entries)
        turn.work += packer.flush()
        verdict = refusal(context, add_up(counts))
        notes = self._make(turn, to_plan) if not verdict else []
        self._finish(turn, read, to_plan, notes, verdict)
        return turn

    def _read(self, context: RunContext, changes: Changes, touched: list[int]) -> dict[int, list[Record]]:
        read: dict[int, list[Record]] = defaultdict(list, {index: [TouchShard()] for index in touched})
        for path in write_changes(context, changes):
            for item in read_changes(context, path):
                records = read_gone(context, item) if isinstance(item, FileGone) else read_item(context, item)
                for record in records:
                    read[context.document_shard(home(record))].append(record)
        return read

    def _make(self, turn: Turn, places: dict[int, list[Record]]) -> list[Note]:
        """Cut and encode; the places of what was made are added to `places`."""
        context, notes = turn.context, []
        tokenizer = load_tokenizer(context.encoder)
        cutter = FaultyCutter(cutter_for(context, tokenizer))
        for work in turn.work:
            for result in cut_item(context, cutter, tokenizer, work):  # type: ignore[arg-type]
                match result:
                    case Note():
                        notes.append(result)
                    case Failure():
                        turn.failures.append(result)
                    case EncodeItem():
                        turn.items.append(result)
                    case (shard, place):
                        places[shard].append(place)
        encoder = OneEncoder(self.encoder.from_settings(context.encoder))
        for item in turn.items:
            encoded = encode_item(context, encoder, item)  # type: ignore[arg-type]
            turn.failures += encoded.failures
            notes += encoded.notes
            for shard, place in encoded.places:
                places[shard].append(place)
        return notes

    def _finish(self, turn: Turn, read: dict, places: dict, notes: list[Note], verdict: str) -> None:
        context, failed = turn.context, failed_contents(turn.failures)
        documents: list[Record] = []
        if not verdict:
            documents = [write_documents(context, i, self._jumbled(read[i]), failed) for i in sorted(read)]
            unfinished = unfinished_contents(turn.failures)
            shards = sorted(places)
            turn.written = [write_shard(context, i, self._jumbled(places[i]), failed, unfinished) for i in shards]
            turn.filled = [fill_shard(context, item) for item in plan_fills(context, turn.written)]
        parts = [*documents, *turn.written, *turn.filled, *turn.failures, *notes]
        random.Random(self.seed or 0).shuffle(parts)
        turn.outcome = publish(context, parts, verdict)

    def _jumbled(self, records: list[Record]) -> list[Record]:
        if self.seed is None:
            return list(records)
        doubled = [record for record in records for _ in range(2)]
        random.Random(self.seed).shuffle(doubled)
        return doubled

    def manifest(self) -> Manifest:
        manifest = load_manifest(self.store)
        assert manifest is not None
        return manifest

    def documents(self) -> dict[str, Document]:
        """The documents of the current version."""
        found: dict[str, Document] = {}
        for shard in self.manifest().document_shards:
            found |= load_documents(self.store, shard)
        return found

    def table(self, entries: Iterable[Any]) -> list[dict[str, Any]]:
        """The rows of stored tables."""
        return [row for entry in entries if entry for row in pq.read_table(f"{self.root}/{entry.path}").to_pylist()]

    def failures(self) -> list[dict[str, Any]]:
        """The dead letters of the current version."""
        return self.table(self.manifest().failures)

    def live_units(self) -> list[dict[str, Any]]:
        """The units that contents point at."""
        manifest = self.manifest()
        units = {e.path: self.table([e]) for shard in manifest.shards for e in shard.units}
        contents = self.contents().values()
        return [
            unit
            for c in contents
            if c["n_units"]
            for unit in units[c["units_segment"]][c["units_row"] :][: c["n_units"]]
        ]

    def contents(self) -> dict[str, dict[str, Any]]:
        """The contents of the current version, by id."""
        return {row["content_id"]: row for row in self.table(shard.contents for shard in self.manifest().shards)}

    def texts(self) -> dict[str, str]:
        """The text of each content of the current version."""
        stored = {e.path: self.table([e]) for shard in self.manifest().shards for e in shard.snapshots}
        return {name: stored[c["snapshot_segment"]][c["snapshot_row"]]["text"] for name, c in self.contents().items()}


def fill(mill: HandMill, numbers: Iterable[int], word: str = "word") -> None:
    """A small text of its own for each number."""
    for n in numbers:
        mill.write(f"{n}.txt", f"{word} {n} " * 5)

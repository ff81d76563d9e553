"""A published version under evaluation: its own index, searched as `corpusmill search` does."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from models.errors import SettingsError
from models.settings import EncoderSettings
from models.tokenizer import Tokenizer, load_tokenizer
from pipelines.evaluation.arms import SAMPLED_UNITS, Names, Ranking, ranked_units
from pipelines.search import open_index
from pipelines.search.shard import Row
from transforms.columns import strings
from transforms.elements import SOURCE_LEVELS, SUMMARY
from transforms.evaluation.extent import Spans
from transforms.identity import bucket
from transforms.indexing.searching import NONE
from transforms.store.files import Store
from transforms.store.manifest import FileEntry, Shard
from transforms.store.segments import read_table, take_rows

_PLACE_COLUMNS = ["content_id", "snapshot_segment", "snapshot_row", "units_segment", "units_row", "n_units"]


class _Rows(NamedTuple):
    """Rows of a stored segment."""

    entry: FileEntry
    first_row: int
    n_rows: int


class _Place(NamedTuple):
    """Where the text and the units of a content lie."""

    snapshot: _Rows
    units: _Rows


class PublishedArm:
    """The current version under `root`, or `version`. Only texts that references name are read."""

    def __init__(self, root: str, version: str | None = None, encoder_settings: EncoderSettings | None = None) -> None:
        self.name = root
        self.index = open_index(root, version, encoder_settings)
        self.store, self._manifest = Store(root), self.index.manifest
        if not any(shard.n_units for shard in self._manifest.shards):
            raise SettingsError(
                f"version {self._manifest.version} in {root} holds no units; there is nothing to search"
            )
        stored = EncoderSettings.model_validate(self._manifest.encoder["settings"])
        self.encoder_settings = encoder_settings or stored
        self.tokenizer = load_tokenizer(self.encoder_settings)
        self.is_exact = all(shard.index_kind in ("", "flat") for shard in self._manifest.shards)
        self._codes: dict[str, int] = {}
        self._places: dict[str, _Place] = {}

    @property
    def description(self) -> Mapping[str, Any]:
        """Kind, version, the settings that it was made with, and counts."""
        manifest, over_limit = self._manifest, self.index.outcomes["queries_over_limit"]
        return {
            "kind": "root",
            "version": manifest.version,
            "settings": {
                "chunking": manifest.settings.get("chunking", {}),
                "encoder": manifest.encoder["settings"],
            },
            "n_documents": sum(shard.documents.n_rows for shard in manifest.document_shards if shard.documents),
            "n_units": sum(shard.n_units for shard in manifest.shards),
            "outcomes": {"questions_over_limit": over_limit} if over_limit else {},
        }

    def resolve(self, uris: Collection[str]) -> Mapping[str, str]:
        names = Names(uris)
        for shard in self._manifest.document_shards:
            if shard.documents:
                names.add(read_table(self.store, shard.documents, ["uri", "content_id"]))
        found = names.found()
        self._find_places(set(found.values()))
        return found

    def texts(self, content_ids: Collection[str]) -> Mapping[str, str]:
        by_segment: dict[FileEntry, list[str]] = {}
        for content_id in sorted(content_ids):
            by_segment.setdefault(self._places[content_id].snapshot.entry, []).append(content_id)
        found: dict[str, str] = {}
        for entry, names in by_segment.items():
            table = take_rows(self.store, entry, [self._places[name].snapshot.first_row for name in names], ["text"])
            found |= dict(zip(names, strings(table, "text"), strict=True))
        return found

    def unit_spans(self, content_ids: Collection[str]) -> Spans:
        by_segment: dict[FileEntry, list[tuple[int, _Rows]]] = {}
        for content_id in sorted(content_ids):
            units = self._places[content_id].units
            if units.n_rows:
                by_segment.setdefault(units.entry, []).append((self.document_code(content_id), units))
        parts = [Spans(*(np.empty(0, np.int64) for _ in range(4)))]
        for entry, owners in by_segment.items():
            rows = np.concatenate([np.arange(units.first_row, units.first_row + units.n_rows) for _, units in owners])
            documents = np.repeat([code for code, _ in owners], [units.n_rows for _, units in owners])
            table = take_rows(self.store, entry, rows.tolist(), ["start", "end", "level"])
            is_source = pc.is_in(table["level"], value_set=pa.array(sorted(SOURCE_LEVELS))).to_numpy()
            documents, starts, ends = documents[is_source], table["start"].to_numpy(), table["end"].to_numpy()
            parts.append(Spans(documents, documents, starts[is_source], ends[is_source]))
        return Spans(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def document_code(self, content_id: str) -> int:
        return self._codes.setdefault(content_id, len(self._codes))

    def encode(self, questions: Sequence[str]) -> NDArray[np.float32]:
        return self.index.encode(questions)

    def rank(self, vectors: NDArray[np.float32], k: int, counter: Tokenizer) -> Ranking:
        ids = self.index.rank(vectors, k).ids
        known = np.unique(ids[ids != NONE])
        units = self.index.units(known)
        rows = [units[int(number)] for number in known]
        documents = [self.document_code(str(row["content_id"])) for row in rows]
        columns = (documents, *places_of(rows), self.count(rows, counter))
        ranked = ranked_units(ids, known, [np.array(column, np.int64) for column in columns])
        return Ranking(ranked, lambda question, rank: str(units[int(ids[question, rank])]["text"]))

    def mean_unit_tokens(self, counter: Tokenizer) -> float:
        if counter.identity == self.tokenizer.identity and not self.index.has_propositions:
            return self._stored_mean()
        units = self.index.units(self.index.sample_ids(SAMPLED_UNITS))
        return float(np.mean(self.count(list(units.values()), counter))) if units else 0.0

    def _stored_mean(self) -> float:
        n_units = n_tokens = 0
        for shard in self._manifest.shards:
            if shard.contents:
                contents = read_table(self.store, shard.contents, ["n_units", "n_tokens"])
                n_units += pc.sum(contents["n_units"]).as_py() or 0
                n_tokens += pc.sum(contents["n_tokens"]).as_py() or 0
        return n_tokens / n_units

    def count(self, rows: Sequence[Row], counter: Tokenizer) -> Sequence[int]:
        """Tokens of units as `counter` counts them."""
        if counter.identity == self.tokenizer.identity:
            return [int(row["n_tokens"]) for row in rows]
        return [int(count) for count in counter.count([str(row["text"]) for row in rows])]

    def _find_places(self, content_ids: set[str]) -> None:
        for shard in self._manifest.shards:
            wanted = {name for name in content_ids if shard.first <= bucket(name) <= shard.last}
            if wanted and shard.contents:
                self._places |= dict(_places(self.store, shard, wanted))


def places_of(rows: Sequence[Row]) -> tuple[list[int], list[int]]:
    """Where what is served of units begins and ends. A summary is about its span, but serves none of it."""
    starts, ends = ([row[name] * (row["level"] != SUMMARY) for row in rows] for name in ("start", "end"))
    return starts, ends


def _places(store: Store, shard: Shard, wanted: set[str]) -> Iterable[tuple[str, _Place]]:
    assert shard.contents is not None
    table = read_table(store, shard.contents, _PLACE_COLUMNS)
    entries = {entry.path: entry for entry in (*shard.snapshots, *shard.units)}
    is_wanted = np.isin(np.array(strings(table, "content_id")), sorted(wanted))
    for row in table.take(np.flatnonzero(is_wanted)).to_pylist():
        snapshot = _Rows(entries[row["snapshot_segment"]], row["snapshot_row"], 1)
        # A content without units, such as one of which nothing could be encoded, has no segment of them.
        units = _Rows(entries.get(row["units_segment"], snapshot.entry), row["units_row"] or 0, row["n_units"] or 0)
        yield row["content_id"], _Place(snapshot, units)

"""A published version built by hand, as small as can be, with dead rows, copies and empty documents in it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from models.encoder import encoder_identity, load_encoder
from models.settings import EncoderSettings
from transforms.indexing.recipe import plan_index
from transforms.indexing.shards import dump, empty, fill
from transforms.indexing.training import train, training_id
from transforms.settings import IndexSettings
from transforms.store.files import Store
from transforms.store.manifest import DocumentShard, Gates, Manifest, Shard, Training
from transforms.store.pointer import read_pointer, swap_pointer
from transforms.store.schemas import CONTENTS, DOCUMENTS, UNITS
from transforms.store.segments import write_table, write_vectors
from transforms.store.versions import write_manifest

ENCODER = EncoderSettings(encoder="hashing", hashing_dimension=32)


@dataclass
class Content:
    """A text cut into units at its line feeds."""

    text: str

    @property
    def id(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:32]

    @property
    def units(self) -> list[dict[str, Any]]:
        rows, start = [], 0
        for ordinal, line in enumerate(self.text.split("\n")):
            unit_id = hashlib.sha256(f"{self.id} {start} {line}".encode()).hexdigest()[:32]
            rows.append(
                dict.fromkeys(UNITS.names)
                | {"unit_id": unit_id, "vector_id": int(unit_id[:16], 16) >> 1, "content_id": self.id}
                | {"ordinal": ordinal, "start": start, "end": start + len(line), "text": line}
                | {"heading_path": ["Title", line.split()[0]], "level": "chunk"}
            )
            start += len(line) + 1
        return rows


def contents_of(texts: Mapping[str, str]) -> list[Content]:
    """Each different text once, sorted by content id."""
    return sorted((Content(text) for text in set(texts.values()) if text), key=lambda content: content.id)


class Builder:
    """Publishes versions of `texts` by uri."""

    def __init__(self, root: str, settings: IndexSettings, n_shards: int = 1) -> None:
        self.store, self.settings, self.n_shards = Store(root), settings, n_shards
        self.encoder = load_encoder(ENCODER)

    def publish(self, version: str, texts: Mapping[str, str], dead: Sequence[str] = ()) -> Manifest:
        """:param dead: texts whose rows are in the segments although no document has them any more."""
        contents = sorted(
            {Content(text).id: Content(text) for text in texts.values() if text}.values(), key=lambda c: c.id
        )
        groups = [[c for c in contents if int(c.id[:3], 16) * self.n_shards // 4096 == n] for n in range(self.n_shards)]
        units = self.units(texts)
        recipe = plan_index(self.settings, self.encoder.dimension, len(units))
        training = self._train(recipe, units) if recipe.kind == "ivfpq" else None
        shards = [self._shard(n, group, dead, recipe, training) for n, group in enumerate(groups)]
        manifest = Manifest(
            version=version, base=None, run="r", created_at="2026-01-01T00:00:00Z", recipes={},
            encoder={"settings": ENCODER.model_dump(), "identity": encoder_identity(ENCODER)},
            settings={"index": self.settings.model_dump()},
            document_shards=tuple(self._documents(texts)), shards=tuple(shards), training=training, gates=Gates(),
            documents={}, units={}, tokens={}, flops={}, seconds={}, outcomes={}, ledger=(), failures=(), libraries={},
        )  # fmt: skip
        swap_pointer(self.store, read_pointer(self.store), write_manifest(self.store, manifest))
        return manifest

    def units(self, texts: Mapping[str, str]) -> list[dict[str, Any]]:
        """The live units of `texts`."""
        return [unit for content in contents_of(texts) for unit in content.units]

    def vectors(self, units: Sequence[Mapping[str, Any]]) -> np.ndarray:
        return self.encoder.encode([unit["text"] for unit in units]).vectors

    def _train(self, recipe, units) -> Training:
        trained = train(recipe, self.vectors(units))
        name = training_id(recipe, np.array([unit["vector_id"] for unit in units]))
        entry = self.store.write("training", "faiss", trained.data)
        return Training(name, entry, recipe.factory, trained.n_sample, len(units), 1.0, 1.0)

    def _shard(self, number, contents, dead, recipe, training) -> Shard:
        first, last = number * 4096 // self.n_shards, (number + 1) * 4096 // self.n_shards - 1
        shard = Shard(first, last)
        live = [unit for content in contents for unit in content.units]
        gone = [unit for text in dead for unit in Content(text).units]
        if not live:
            return shard
        data = self.store.read(training.file) if training else None
        index = empty(recipe, data, training.id if training else "")
        index = fill(index, np.array([unit["vector_id"] for unit in live]), self.vectors(live))
        rows = gone + live
        ids = np.array([unit["vector_id"] for unit in rows])
        unit_entry = write_table(self.store, f"units/{shard.name}", pa.Table.from_pylist(rows, UNITS))
        vectors = write_vectors(self.store, f"vectors/{shard.name}", ids, self.vectors(rows))
        places, row = [], len(gone)
        for content in contents:
            n_units = len(content.units)
            places.append(
                dict.fromkeys(CONTENTS.names)
                | {"content_id": content.id, "n_units": n_units, "units_segment": unit_entry.path, "units_row": row}
                | {"vectors_segment": vectors.path, "vectors_row": row}
            )
            row += n_units
        table = pa.Table.from_pylist(places, CONTENTS)
        return msgspec.structs.replace(
            shard, contents=write_table(self.store, f"contents/{shard.name}", table), units=(unit_entry,),
            vectors=(vectors,), index=self.store.write(f"indexes/{shard.name}", "faiss", dump(index)),
            index_kind=recipe.kind, training=index.training, n_units=len(live), n_dead_units=len(gone),
        )  # fmt: skip

    def _documents(self, texts: Mapping[str, str]) -> list[DocumentShard]:
        shards = []
        for first in (0, 2048):
            uris = [uri for uri in sorted(texts) if (hashlib.sha256(uri.encode()).digest()[0] >= 128) == (first > 0)]
            rows = [
                dict.fromkeys(DOCUMENTS.names)
                | {"uri": uri, "content_id": Content(texts[uri]).id if texts[uri] else None}
                | {"metadata": json.dumps({"from": uri}) if "bare" not in uri else None}
                for uri in uris
            ]
            shard = DocumentShard(first, first + 2047)
            if rows:
                entry = write_table(self.store, f"documents/{shard.name}", pa.Table.from_pylist(rows, DOCUMENTS))
                shard = msgspec.structs.replace(shard, documents=entry)
            shards.append(shard)
        return shards


FLAT = IndexSettings()
IVFPQ = IndexSettings(index="ivfpq", pq_bytes=8, nprobe=64, rerank_factor=40)


@pytest.fixture
def builder(tmp_path):
    """`builder(kind="flat", n_shards=1)`: a `Builder` on a fresh root."""

    def make(kind: str = "flat", n_shards: int = 1) -> Builder:
        return Builder(str(tmp_path / "root"), FLAT if kind == "flat" else IVFPQ, n_shards)

    return make


@pytest.fixture(scope="session")
def corpus() -> dict[str, str]:
    """120 documents of three units each, in words that say where they stand."""
    words = [f"word{n}" for n in range(200)]
    rng = np.random.default_rng(0)

    def line(n: int) -> str:
        return f"line{n} " + " ".join(rng.choice(words, 8))

    return {f"doc{n:03d}.txt": "\n".join(line(3 * n + part) for part in range(3)) for n in range(120)}

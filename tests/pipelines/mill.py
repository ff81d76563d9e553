"""A corpus in a folder and a mill that turns it, for tests of whole runs."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pipelines.config import load_settings
from pipelines.ingest import IngestReport, run_ingest
from pipelines.search import open_index
from transforms.context import open_store
from transforms.store.manifest import Manifest
from transforms.store.verify import verify
from transforms.store.versions import load_manifest

OLD = 1_000_000_000


@dataclass
class Mill:
    """Writes documents, runs the ingest, and reads what is published."""

    base: Path
    settings: dict[str, Any] = field(default_factory=dict)
    ticks: int = 0

    @property
    def source(self) -> Path:
        return self.base / "corpus"

    @property
    def root(self) -> str:
        return str(self.base / "index")

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a document with a stamp that is old enough to be trusted and differs at each call."""
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return self.stamp(name)

    def stamp(self, name: str) -> Path:
        """Give a document a new modification time."""
        self.ticks += 1
        os.utime(self.source / name, (OLD + self.ticks, OLD + self.ticks))
        return self.source / name

    def run(self, beam_args: list[str] | None = None, **settings: Any) -> IngestReport:
        """One ingest; what it leaves must pass `verify` whether it published or not."""
        chosen = {
            "input": [f"{self.source}/**"],
            "encoder": "hashing",
            "window_tokens": 40,
            "hashing_dimension": 512,
            **self.settings,
            **settings,
        }
        try:
            return run_ingest(load_settings(None, chosen), self.root, beam_args)
        finally:
            if load_manifest(open_store(self.root)) is not None:
                assert verify(open_store(self.root)) == []

    def manifest(self) -> Manifest:
        manifest = load_manifest(open_store(self.root))
        assert manifest is not None
        return manifest

    def rows(self, kind: str) -> list[dict[str, Any]]:
        """Stored rows of the current version: documents, units (dead ones too), ledger or failures."""
        manifest = self.manifest()
        entries = {
            "documents": [shard.documents for shard in manifest.document_shards],
            "units": [entry for shard in manifest.shards for entry in shard.units],
            "ledger": manifest.ledger,
            "failures": manifest.failures,
        }[kind]
        return [row for entry in entries if entry for row in pq.read_table(f"{self.root}/{entry.path}").to_pylist()]

    def search(self, question: str, k: int = 3) -> list[Any]:
        return open_index(self.root).search([question], k)[0]

    def finds(self, question: str, text: str) -> bool:
        """Whether a hit holds `text`, with a span that is exact in the document as it is now."""
        return any(text in hit.text for hit in self.search(question, 5))


def prose(name: str, n_words: int = 120) -> str:
    """Text that is its own: every word carries the name."""
    return " ".join(f"{name}word{number}." if number % 12 == 11 else f"{name}word{number}" for number in range(n_words))

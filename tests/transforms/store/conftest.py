"""A small, complete version in a real store, built without Beam."""

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from transforms.elements import Block, Snapshot
from transforms.extraction.identity import content_id
from transforms.identity import bucket, unit_id, uri_bucket, vector_id
from transforms.indexing import shards as kernels
from transforms.indexing.recipe import IndexRecipe
from transforms.store import schemas
from transforms.store.files import Store
from transforms.store.manifest import DocumentShard, Gates, Manifest, Shard, Training
from transforms.store.pointer import read_pointer, swap_pointer
from transforms.store.segments import write_table, write_vectors
from transforms.store.versions import write_manifest

DIMENSION = 8
RANGES = ((0, 2047), (2048, 4095))
RECIPE = IndexRecipe(kind="flat", dimension=DIMENSION)


def rows_table(rows: list[dict], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=schema)


def units_of(name: str, text: str) -> list[dict]:
    """One unit for each word of a text."""
    units, start = [], 0
    for ordinal, word in enumerate(text.split()):
        start = text.index(word, start)
        end = start + len(word)
        unit = unit_id(name, "chunk", start, end, word, "cut")
        units.append(
            {"unit_id": unit, "vector_id": vector_id(unit), "content_id": name, "level": "chunk",
             "ordinal": ordinal, "start": start, "end": end, "text": word, "context": "", "heading_path": ["Top"],
             "parent_id": None, "n_tokens": 1, "recipe": "cut", "embed_hash": hashlib.sha256(word.encode()).hexdigest()}
        )  # fmt: skip
        start = end
    return units


def vector_of(unit: dict) -> np.ndarray:
    seed = int(unit["embed_hash"][:8], 16)
    return np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float16)


def write_shard(store: Store, first: int, last: int, texts: dict[str, str], counts: dict[str, int]) -> Shard:
    names = sorted(name for name in texts if first <= bucket(name) <= last)
    if not names:
        return Shard(first, last)
    units = {name: units_of(name, texts[name]) for name in names}
    flat = [unit for name in names for unit in units[name]]
    ids = np.array([unit["vector_id"] for unit in flat], np.int64)
    vectors = np.array([vector_of(unit) for unit in flat], np.float16).reshape(len(flat), DIMENSION)
    folder = f"{first:04x}-{last:04x}"
    blocks = [{"kind": "paragraph", "start": 0, "end": 1, "level": 0, "header_end": 0}]
    snapshot_rows = [{"content_id": name, "text": texts[name], "blocks": blocks} for name in names]
    snapshots = write_table(store, f"snapshots/{folder}", rows_table(snapshot_rows, schemas.SNAPSHOTS))
    unit_entry = write_table(store, f"units/{folder}", rows_table(flat, schemas.UNITS))
    vector_entry = write_vectors(store, f"vectors/{folder}", ids, vectors)
    index = kernels.fill(kernels.empty_flat(RECIPE), ids, vectors)
    rows, position = [], 0
    for row, name in enumerate(names):
        n = len(units[name])
        rows.append(
            {"content_id": name, "n_documents": counts[name], "n_chars": len(texts[name]), "n_tokens": n,
             "snapshot_segment": snapshots.path, "snapshot_row": row, "n_units": n, "units_segment": unit_entry.path,
             "units_row": position, "vectors_segment": vector_entry.path, "vectors_row": position,
             "cut_recipe": "cut", "encode_recipe": "encode"}
        )  # fmt: skip
        position += n
    return Shard(
        first, last,
        contents=write_table(store, f"contents/{folder}", rows_table(rows, schemas.CONTENTS)),
        snapshots=(snapshots,), units=(unit_entry,), vectors=(vector_entry,),
        index=store.write(f"indexes/{folder}", "faiss", kernels.dump(index), len(flat)),
        index_kind="flat", n_contents=len(names), n_units=len(flat),
    )  # fmt: skip


def snapshot_id(text: str) -> str:
    return content_id(Snapshot(text, (Block("paragraph", 0, 1),)))


def write_documents(store: Store, first: int, last: int, documents: dict[str, str]) -> DocumentShard:
    uris = sorted(uri for uri in documents if first <= uri_bucket(uri) <= last)
    if not uris:
        return DocumentShard(first, last)
    folder = f"{first:04x}-{last:04x}"
    names = [snapshot_id(documents[uri]) for uri in uris]
    rows = [{"uri": uri, "row": row, "content_id": name, "metadata_hash": ""}
            for row, (uri, name) in enumerate(zip(uris, names, strict=True))]  # fmt: skip
    listing = write_table(store, "rows", rows_table(rows, schemas.ROWS))
    files = [{"file": uri, "size": 1, "stamp": "s", "trusted": True, "format": "txt", "is_table": False,
              "n_documents": 1, "rows_file": listing.path} for uri in uris]  # fmt: skip
    table = [{"uri": uri, "file": uri, "row": -1, "content_id": name, "status": "indexed", "metadata": "{}"}
             for uri, name in zip(uris, names, strict=True)]  # fmt: skip
    return DocumentShard(
        first, last,
        documents=write_table(store, f"documents/{folder}", rows_table(table, schemas.DOCUMENTS)),
        files=write_table(store, f"files/{folder}", rows_table(files, schemas.FILES)),
        rows=(listing,),
    )  # fmt: skip


def build_manifest(store: Store, version: str, documents: dict[str, str], created_at: str = "") -> Manifest:
    """Writes all files of a version that holds `documents` (uri -> text), and returns its manifest."""
    texts = {snapshot_id(text): text for text in documents.values()}
    counts = {name: sum(snapshot_id(text) == name for text in documents.values()) for name in texts}
    shards = tuple(write_shard(store, first, last, texts, counts) for first, last in RANGES)
    ledger = write_table(
        store, "ledger", rows_table([{"stage": "read", "n_documents": len(documents)}], schemas.LEDGER)
    )
    failures = write_table(store, "failures", rows_table([{"uri": "bad", "stage": "read"}], schemas.FAILURES))
    trained = store.write("training", "faiss", kernels.dump(kernels.empty_flat(RECIPE)))
    current = read_pointer(store)
    return Manifest(
        version=version, base=current.version if current else None, run="run", created_at=created_at or version,
        recipes={}, encoder={"dimension": DIMENSION}, settings={},
        document_shards=tuple(write_documents(store, first, last, documents) for first, last in RANGES),
        shards=shards, training=Training("t", trained, "flat", 1, 1, 0.0, 0.0), gates=Gates(), documents={}, units={},
        tokens={}, flops={}, seconds={}, outcomes={}, ledger=(ledger,), failures=(failures,), libraries={},
    )  # fmt: skip


def publish(store: Store, version: str, documents: dict[str, str], created_at: str = "") -> Manifest:
    """Writes a version and makes it current."""
    expected = read_pointer(store)
    manifest = build_manifest(store, version, documents, created_at)
    swap_pointer(store, expected, write_manifest(store, manifest))
    return manifest


DOCUMENTS = {f"doc {number}.txt": f"alpha beta{number} gamma 😀{number % 3}" for number in range(12)} | {
    "copy.txt": "alpha beta1 gamma 😀1"
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "root"))


@pytest.fixture(scope="session")
def publishing():
    """`publish(store, version, documents)`."""
    return publish


@pytest.fixture(scope="session")
def building():
    """`build_manifest(store, version, documents)`."""
    return build_manifest


@pytest.fixture(scope="session")
def documents() -> dict[str, str]:
    return dict(DOCUMENTS)


@pytest.fixture(scope="session")
def flip():
    """`flip(store, path, position)` changes one bit of a stored file."""

    def change(store: Store, path: str, position: int = -1) -> None:
        data = bytearray(Path(store.path(path)).read_bytes())
        data[len(data) // 2 if position < 0 else position] ^= 1
        Path(store.path(path)).write_bytes(data)

    return change

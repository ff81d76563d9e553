"""A version's manifest: what the version consists of, how it was made, and what was measured about it."""

from typing import Any

import msgspec

from models.errors import StoreError

FORMAT = 1
N_BUCKETS = 4096


class FileEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stored file: its path under the root, the sha256 and size of its bytes, and its rows.

    `block_sums` is the path of a mapped file's block checksums (see `transforms.store.mapped`), with their sha256.
    """

    path: str
    sha256: str
    n_bytes: int
    n_rows: int = 0
    block_sums: str = ""
    block_sums_sha256: str = ""


class DocumentShard(msgspec.Struct, frozen=True, omit_defaults=True):
    """Documents and files whose uri hashes into buckets `first` to `last`, both included."""

    first: int
    last: int
    documents: FileEntry | None = None
    files: FileEntry | None = None
    rows: tuple[FileEntry, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.first:04x}-{self.last:04x}"


class Shard(msgspec.Struct, frozen=True, omit_defaults=True):
    """Contents whose id hashes into buckets `first` to `last`, both included, with their segments and index."""

    first: int
    last: int
    contents: FileEntry | None = None
    snapshots: tuple[FileEntry, ...] = ()
    units: tuple[FileEntry, ...] = ()
    vectors: tuple[FileEntry, ...] = ()
    index: FileEntry | None = None
    index_kind: str = ""
    training: str = ""
    n_contents: int = 0
    n_units: int = 0
    n_dead_units: int = 0
    n_chars: int = 0

    @property
    def name(self) -> str:
        return f"{self.first:04x}-{self.last:04x}"


class Training(msgspec.Struct, frozen=True):
    """A trained, empty index that every IVF-PQ shard was filled from, with the errors of its hold-out sample."""

    id: str
    file: FileEntry
    factory: str
    n_sample: int
    n_total: int
    residual_error: float
    reconstruction_error: float


class Gates(msgspec.Struct, frozen=True):
    """What was measured before publishing. `recall_at_10` is None where nothing was there to ask."""

    recall_at_10: float | None = None
    n_queries: int = 0
    shards: tuple[str, ...] = ()
    drift: float | None = None


class Manifest(msgspec.Struct, frozen=True):
    """Everything a reader or the next run needs to know of a version.

    `llm` sums up what a language model was asked and paid, beside its tokens and FLOPs, which stand with the others.
    `settled_runs` are the interrupted runs whose waste is in the ledger of this version or of one before it.
    """

    version: str
    base: str | None
    run: str
    created_at: str
    recipes: dict[str, dict[str, Any]]
    encoder: dict[str, Any]
    settings: dict[str, Any]
    document_shards: tuple[DocumentShard, ...]
    shards: tuple[Shard, ...]
    training: Training | None
    gates: Gates
    documents: dict[str, int]
    units: dict[str, int]
    tokens: dict[str, int]
    flops: dict[str, float]
    seconds: dict[str, float]
    outcomes: dict[str, int]
    ledger: tuple[FileEntry, ...]
    failures: tuple[FileEntry, ...]
    libraries: dict[str, str]
    settled_runs: tuple[str, ...] = ()
    llm: dict[str, float] = {}
    format: int = FORMAT

    def files(self) -> list[FileEntry]:
        """Every file the version needs, each once, sorted by path."""
        entries = {entry.path: entry for entry in _entries(self)}
        return [entries[path] for path in sorted(entries)]


def _entries(manifest: Manifest) -> list[FileEntry]:
    found = [*manifest.ledger, *manifest.failures]
    for documents in manifest.document_shards:
        found += [entry for entry in (documents.documents, documents.files) if entry] + list(documents.rows)
    for shard in manifest.shards:
        found += [entry for entry in (shard.contents, shard.index) if entry]
        found += [*shard.snapshots, *shard.units, *shard.vectors]
    if manifest.training:
        found.append(manifest.training.file)
    return found


def encode_manifest(manifest: Manifest) -> bytes:
    """Stable, indented JSON: equal manifests give equal bytes."""
    return msgspec.json.format(msgspec.json.encode(manifest, order="sorted"), indent=1)


def decode_manifest(data: bytes) -> Manifest:
    """The manifest in `data`; `StoreError` if it is not one this program can read."""
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError as error:
        raise StoreError(f"not a manifest: {error}") from error
    if manifest.format != FORMAT:
        raise StoreError(f"manifest format {manifest.format} is not {FORMAT}; use the corpusmill release that wrote it")
    return manifest

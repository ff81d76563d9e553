"""Recomputing everything a version promises: checksums, counts, spans, ids, and that its parts agree."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from models.errors import DamagedFileError, StoreError
from transforms.identity import uri_bucket
from transforms.store import schemas
from transforms.store.consistency import Content, Fault, FaultLog, Ids, check_shard
from transforms.store.files import Store
from transforms.store.manifest import N_BUCKETS, DocumentShard, FileEntry, Manifest, Shard
from transforms.store.mapped import Mapped, block_sums
from transforms.store.pointer import CURRENT, Pointer, manifest_path, read_pointer
from transforms.store.segments import open_vectors, parquet_frame, read_table
from transforms.store.versions import load_manifest, sums_bytes, sums_path

__all__ = ["Fault", "verify"]

SCHEMAS = {
    "documents": schemas.DOCUMENTS,
    "files": schemas.FILES,
    "rows": schemas.ROWS,
    "contents": schemas.CONTENTS,
    "snapshots": schemas.SNAPSHOTS,
    "units": schemas.UNITS,
    "ledger": schemas.LEDGER,
    "failures": schemas.FAILURES,
}


def verify(store: Store, version: str | None = None) -> list[Fault]:
    """Every fault of a version (the current one by default), by file; none where nothing was published.

    A table whose file is damaged is not looked into, so a second run after a repair may find more.

    :raises StoreError: there is no such version.
    """
    log = FaultLog()
    manifest = _load(store, version, log)
    if manifest is None:
        return log.faults()
    for entry in manifest.files():
        try:
            _check_file(store, entry, log)
        except (StoreError, pa.ArrowException) as error:
            log.add(entry.path, f"cannot be read: {error}")
    _check_ranges(manifest, log)
    try:
        _check_agreement(store, manifest, log)
    except (StoreError, pa.ArrowException, TypeError, ValueError) as error:  # sound files with senseless values
        log.add(manifest_path(manifest.version), f"names tables that cannot be compared: {error}")
    return log.faults()


def _check_agreement(store: Store, manifest: Manifest, log: FaultLog) -> None:
    """Checks tables against each other, where the files are sound."""
    references = _count_references(store, manifest, log)
    ids: list[Ids] = []
    for shard in manifest.shards:
        if not log.has(_entries(shard)):
            contents, live = check_shard(store, shard, log)
            ids.append(live)
            if references is not None:
                _check_references(shard, contents, references, manifest_path(manifest.version), log)
    _check_collisions(manifest, ids, log)


def _load(store: Store, version: str | None, log: FaultLog) -> Manifest | None:
    try:
        current = read_pointer(store)
    except DamagedFileError as error:
        log.add(CURRENT, str(error))
        return None
    name = version or (current.version if current else "")
    if current is not None and current.version == name:
        _check_sums_file(store, current, log)
    try:
        return load_manifest(store, version)
    except DamagedFileError as error:
        log.add(manifest_path(name), str(error))
        return None


def _check_sums_file(store: Store, current: Pointer, log: FaultLog) -> None:
    is_right = store.find_named(sums_path(current.version)) == sums_bytes(current.manifest_sha256)
    log.check(is_right, sums_path(current.version), "is not the checksum that CURRENT has for the manifest")


def _entries(shard: Shard) -> list[FileEntry]:
    alone = [entry for entry in (shard.contents, shard.index) if entry]
    return [*alone, *shard.snapshots, *shard.units, *shard.vectors]


def _check_file(store: Store, entry: FileEntry, log: FaultLog) -> None:
    """Checks a file's bytes, and that it is the kind of table its folder promises."""
    found, sha256 = store.stat(entry.path), store.sha256(entry.path)
    if found is None or sha256 is None:
        return log.add(entry.path, "is missing")
    log.check(found.size == entry.n_bytes, entry.path, f"has {found.size} bytes where {entry.n_bytes} were written")
    log.check(sha256 == entry.sha256, entry.path, "does not have the bytes its manifest promises")
    if entry.block_sums:
        _check_block_sums(store, entry, log)
    if not log.has([entry]):
        _check_table(store, entry, log)


def _check_block_sums(store: Store, entry: FileEntry, log: FaultLog) -> None:
    """Checks the sums file by its own sha256, and, where both files are sound, that it is this file's."""
    if store.sha256(entry.block_sums) != entry.block_sums_sha256:
        return log.add(entry.block_sums, "is missing or does not have the bytes its manifest promises")
    if log.has([entry]):
        return
    try:
        is_right = store.find_named(entry.block_sums) == block_sums(Mapped(store, entry).buffer)
    except StoreError:
        is_right = False
    log.check(is_right, entry.block_sums, f"is not the block sums of {entry.path}")


def _check_table(store: Store, entry: FileEntry, log: FaultLog) -> None:
    if entry.path.endswith(".parquet"):
        n_rows, schema = parquet_frame(store, entry)
        expected = SCHEMAS.get(entry.path.split("/")[0])
        is_ours = expected is None or schema.equals(expected)
        log.check(is_ours, entry.path, f"does not have the columns of {entry.path.split('/')[0]}")
        log.check(n_rows == entry.n_rows, entry.path, f"has {n_rows} rows where {entry.n_rows} were written")
    elif entry.path.endswith(".arrow"):
        n_rows = open_vectors(store, entry).n_rows
        log.check(n_rows == entry.n_rows, entry.path, f"has {n_rows} rows where {entry.n_rows} were written")


def _check_ranges(manifest: Manifest, log: FaultLog) -> None:
    """Each bucket must belong to one shard."""
    for name, shards in (("shards", manifest.shards), ("document_shards", manifest.document_shards)):
        ends = [0, *(shard.last + 1 for shard in shards)]
        starts = [*(shard.first for shard in shards), N_BUCKETS]
        log.check(
            not shards or ends == starts, manifest_path(manifest.version), f"{name} do not cover every bucket once"
        )


def _count_references(store: Store, manifest: Manifest, log: FaultLog) -> pa.Table | None:
    """How many documents (n_sum) each content_id has, sorted; None if a documents table is damaged."""
    counts = []
    for shard in manifest.document_shards:
        if log.has([entry for entry in (shard.documents, shard.files, *shard.rows) if entry]):
            return None
        _check_files_table(store, shard, log)
        if shard.documents:
            counts.append(_check_documents(store, shard, shard.documents, log))
    none = pa.table({"content_id": pa.array([], pa.string()), "n": pa.array([], pa.int64())})
    summed = pa.concat_tables([none, *counts]).group_by("content_id").aggregate([("n", "sum")])
    return summed.sort_by("content_id").combine_chunks()


def _check_documents(store: Store, shard: DocumentShard, entry: FileEntry, log: FaultLog) -> pa.Table:
    """The contents of a shard's documents with how often they occur."""
    table = read_table(store, entry, ["uri", "content_id"])
    uris: list[str] = [str(uri) for uri in table.column("uri").to_pylist()]
    is_ours = pa.array([shard.first <= uri_bucket(uri) <= shard.last for uri in uris], pa.bool_())
    log.check(uris == sorted(set(uris)), entry.path, "is not sorted by uri or holds one twice")
    contents = table.filter(is_ours).column("content_id").drop_null()
    counted = pc.value_counts(contents)
    return pa.table({"content_id": counted.field("values"), "n": counted.field("counts")})


def _check_files_table(store: Store, shard: DocumentShard, log: FaultLog) -> None:
    """Every rows listing that the shard's files name must be one the manifest knows."""
    if shard.files is None:
        return
    known = {entry.path for entry in shard.rows}
    table = read_table(store, shard.files, ["file", "rows_file"])
    for file, rows_file in zip(*(column.to_pylist() for column in table.columns), strict=True):
        if rows_file and shard.first <= uri_bucket(file) <= shard.last:
            log.check(rows_file in known, shard.files.path, f"names a rows listing the manifest does not: {rows_file}")


def _check_references(
    shard: Shard, contents: list[Content], references: pa.Table, manifest: str, log: FaultLog
) -> None:
    """The shard must hold exactly the contents that documents refer to, each with its number of documents."""
    place = shard.contents.path if shard.contents else manifest
    first, end = f"{shard.first:03x}", f"{shard.last:03x}g"  # "g" comes after every hex digit
    name = pc.field("content_id")
    ours = references.filter((name >= first) & (name < end))
    wanted = dict(zip(*(column.to_pylist() for column in ours.columns), strict=True))
    for content in contents:
        n = wanted.pop(content.content_id, 0)
        problem = f"content {content.content_id} has {n} documents where {content.n_documents} are promised"
        log.check(n == content.n_documents and n > 0, place, problem)
    for missing, n in wanted.items():
        log.add(place, f"lacks content {missing} of {n} documents")


def _check_collisions(manifest: Manifest, ids: list[Ids], log: FaultLog) -> None:
    all_ids = np.concatenate([np.empty(0, np.int64), *ids])
    n_double = len(all_ids) - len(np.unique(all_ids))
    log.check(not n_double, manifest_path(manifest.version), f"{n_double} units share their vector_id with another")

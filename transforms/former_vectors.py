"""Vectors that need not be made again: those of a document's former content and those an interrupted run finished."""

import functools

import msgspec
import numpy as np
from numpy.typing import NDArray

from transforms.columns import strings
from transforms.contents import Content, load_contents
from transforms.context import RunContext, open_store
from transforms.identity import bucket
from transforms.layout import shard_of
from transforms.records import WorkEntry
from transforms.store.manifest import FileEntry, Shard
from transforms.store.segments import open_vectors, read_rows
from transforms.work_vectors import is_of_recipe, read_leftover

Vector = NDArray[np.float16]


class KnownVector(msgspec.Struct, frozen=True):
    """A vector that exists, where it is from (`former` or `leftover`), and what an interrupted run paid for it."""

    vector: Vector
    source: str
    n_paid_tokens: int = 0


Found = dict[str, KnownVector]


def find_vectors(context: RunContext, entry: WorkEntry) -> Found:
    """Vectors by the hash of the text that they embed."""
    found: Found = {}
    manifest = context.base_manifest()
    if entry.former and manifest is not None:
        same_encoder = manifest.recipes["encode"]["id"] == context.encode_recipe
        if same_encoder:
            found.update(_former(context, manifest.shards, entry.former))
    for path in entry.leftovers:
        found.update(_leftover(context, path, entry.content_id))
    return found


def find_hashes(context: RunContext, entry: WorkEntry) -> set[str]:
    """The hashes of the texts whose vectors `find_vectors` would find; the vectors themselves are not read."""
    found: set[str] = set()
    manifest = context.base_manifest()
    if entry.former and manifest is not None and manifest.recipes["encode"]["id"] == context.encode_recipe:
        place = _former_content(context, manifest.shards, entry.former)
        found.update(_former_hashes(context, *place) if place else ())
    for path in entry.leftovers:
        found.update(_leftover(context, path, entry.content_id))
    return found


def _former_content(context: RunContext, shards: tuple[Shard, ...], content_id: str) -> tuple[Shard, Content] | None:
    shard = shards[shard_of(bucket(content_id), [shard.first for shard in shards])]
    content = _contents(context.root, shard).get(content_id)
    return (shard, content) if content is not None and content.n_units else None


def _former_hashes(context: RunContext, shard: Shard, content: Content) -> list[str]:
    units = segment_of(shard.units, content.units_segment)
    rows = read_rows(context.store, units, content.units_row, content.n_units, ["embed_hash"])
    return strings(rows, "embed_hash")


def _former(context: RunContext, shards: tuple[Shard, ...], content_id: str) -> Found:
    place = _former_content(context, shards, content_id)
    if place is None:
        return {}
    shard, content = place
    hashes = _former_hashes(context, shard, content)
    vectors = open_vectors(context.store, segment_of(shard.vectors, content.vectors_segment))
    rows = vectors.rows(np.arange(content.vectors_row, content.vectors_row + content.n_units))
    return {name: KnownVector(row, "former") for name, row in zip(hashes, rows, strict=True)}


def segment_of(segments: tuple[FileEntry, ...], path: str) -> FileEntry:
    """The entry of the segment at `path`."""
    return next(entry for entry in segments if entry.path == path)


@functools.lru_cache(maxsize=8)
def _contents(root: str, shard: Shard) -> dict[str, Content]:
    return load_contents(open_store(root), shard)


def _leftover(context: RunContext, path: str, content_id: str) -> Found:
    table = read_leftover(context.root, path)
    rows = _rows_by_content(context.root, path).get(content_id)
    if table is None or rows is None or not is_of_recipe(table, context.encode_recipe):
        return {}
    taken = table.take(rows)
    vectors = vectors_of(taken.column("vector"))
    found: Found = {}
    for number, name in enumerate(strings(taken, "embed_hash")):
        if taken.column("source")[number].as_py() == "former":  # it was looked up there too, and cost nothing
            found[name] = KnownVector(vectors[number], "former")
        elif name not in found or not found[name].n_paid_tokens:
            found[name] = KnownVector(vectors[number], "leftover", taken.column("n_tokens")[number].as_py())
    return found


@functools.lru_cache(maxsize=16)
def _rows_by_content(root: str, path: str) -> dict[str, list[int]]:
    table = read_leftover(root, path)
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(strings(table, "content_id") if table is not None else ()):
        rows.setdefault(name, []).append(row)
    return rows


def vectors_of(column: object) -> NDArray[np.float16]:
    """A column of fixed-size lists of fp16 as an array (n, d)."""
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    assert isinstance(array, pa.FixedSizeListArray)
    values: NDArray[np.float16] = array.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(array), array.type.list_size)

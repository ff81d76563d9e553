"""Vectors that need not be made again: those of a document's former content and those an interrupted run finished."""

import functools

import numpy as np
from numpy.typing import NDArray

from transforms.contents import Content, load_contents
from transforms.context import RunContext, open_store
from transforms.identity import bucket
from transforms.layout import shard_of
from transforms.records import WorkEntry
from transforms.store.manifest import FileEntry, Shard
from transforms.store.segments import open_vectors, read_ipc, read_rows

Vector = NDArray[np.float16]
Found = dict[str, tuple[Vector, str]]


def find_vectors(context: RunContext, entry: WorkEntry) -> Found:
    """Vectors by the hash of the text that they embed, each with its source: `former` or `leftover`."""
    found: Found = {}
    manifest = context.base_manifest()
    if entry.former and manifest is not None:
        same_encoder = manifest.recipes["encode"]["id"] == context.encode_recipe
        if same_encoder:
            found.update(_former(context, manifest.shards, entry.former))
    for path in entry.leftovers:
        found.update(_leftover(context, path, entry.content_id))
    return found


def _former(context: RunContext, shards: tuple[Shard, ...], content_id: str) -> Found:
    shard = shards[shard_of(bucket(content_id), [shard.first for shard in shards])]
    content = _contents(context.root, shard).get(content_id)
    if content is None or content.n_units == 0:
        return {}
    units = segment_of(shard.units, content.units_segment)
    hashes = read_rows(context.store, units, content.units_row, content.n_units, ["embed_hash"])
    vectors = open_vectors(context.store, segment_of(shard.vectors, content.vectors_segment))
    rows = vectors.rows(np.arange(content.vectors_row, content.vectors_row + content.n_units))
    return {name: (row, "former") for name, row in zip(hashes.column(0).to_pylist(), rows, strict=True)}


def segment_of(segments: tuple[FileEntry, ...], path: str) -> FileEntry:
    """The entry of the segment at `path`."""
    return next(entry for entry in segments if entry.path == path)


@functools.lru_cache(maxsize=8)
def _contents(root: str, shard: Shard) -> dict[str, Content]:
    return load_contents(open_store(root), shard)


def _leftover(context: RunContext, path: str, content_id: str) -> Found:
    data = context.store.find_named(path)
    if data is None:
        return {}
    table = read_ipc(data)
    if (table.schema.metadata or {}).get(b"encode_recipe", b"").decode() != context.encode_recipe:
        return {}
    rows = [row for row, name in enumerate(table.column("content_id").to_pylist()) if name == content_id]
    hashes = table.column("embed_hash").take(rows).to_pylist()
    vectors = vectors_of(table.column("vector").take(rows).combine_chunks())
    return {name: (vector, "leftover") for name, vector in zip(hashes, vectors, strict=True)}


def vectors_of(column: object) -> NDArray[np.float16]:
    """A column of fixed-size lists of fp16 as an array (n, d)."""
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    assert isinstance(array, pa.FixedSizeListArray)
    values: NDArray[np.float16] = array.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(array), array.type.list_size)

"""Scratch files of vectors: what an encoder call or a look-up left, with what it cost and how it is found again."""

import functools
import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from transforms.context import RunContext, open_store
from transforms.store.segments import ipc_bytes, read_ipc


class VectorRow(Struct):
    """A vector of one unit. `source` is encoded, former, leftover, or unmatched for zeros that no search meets.

    The costs are those of making it, of which units of equal text in one call bear one: in this run, or for a leftover
    in the interrupted run that made it.
    """

    vector_id: int
    embed_hash: str
    content_id: str
    source: str
    vector: NDArray[np.float16]
    n_tokens: int
    padded_slots: float = 0.0
    flops: float = 0.0
    attention_flops: float = 0.0
    seconds: float = 0.0


def work_vectors_schema(dimension: int, encode_recipe: str) -> pa.Schema:
    """The columns of a scratch file of vectors; its metadata names the recipe that made them."""
    fields: list[tuple[str, pa.DataType]] = [
        ("vector_id", pa.int64()),
        ("embed_hash", pa.string()),
        ("content_id", pa.string()),
        ("source", pa.string()),
        ("n_tokens", pa.int64()),
        ("padded_slots", pa.float64()),
        ("flops", pa.float64()),
        ("attention_flops", pa.float64()),
        ("seconds", pa.float64()),
        ("vector", pa.list_(pa.float16(), dimension)),
    ]
    return pa.schema(fields, metadata={"encode_recipe": encode_recipe})


def write_work_vectors(context: RunContext, key: str, rows: Sequence[VectorRow], n_paid_tokens: int = 0) -> str:
    """Write `rows` as one Arrow file and return its path: `key`, the tokens paid for it, and a digest of the bytes.

    By the digest a later run tells sound work from damaged. It counts as finished from the moment it has its name.
    """
    schema = work_vectors_schema(context.dimension, context.encode_recipe)
    flat = np.concatenate([row.vector for row in rows]).astype(np.float16) if rows else np.empty(0, np.float16)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(flat, pa.float16()), context.dimension)
    names = [field.name for field in schema if field.name != "vector"]
    scalars = [pa.array([getattr(row, name) for row in rows], schema.field(name).type) for name in names]
    data = ipc_bytes(pa.Table.from_arrays([*scalars, vectors], schema=schema))
    path = f"{context.scratch('vectors')}/{key}-{n_paid_tokens}-{_digest(data)}.arrow"
    context.store.write_named(path, data)
    return path


@functools.lru_cache(maxsize=16)
def read_leftover(root: str, path: str) -> pa.Table | None:
    """The vectors that an interrupted run left at `path`; None where they are gone or have other bytes now."""
    data = open_store(root).find_named(path)
    if data is None or path.removesuffix(".arrow").rsplit("-", 1)[-1] != _digest(data):
        return None
    return read_ipc(data)


def is_of_recipe(table: pa.Table, encode_recipe: str) -> bool:
    """Whether the vectors were made by the encoder of that recipe."""
    return (table.schema.metadata or {}).get(b"encode_recipe", b"").decode() == encode_recipe


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]

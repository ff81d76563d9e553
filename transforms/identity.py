"""Names that come from content alone: a unit's id, its 63-bit number in the index, and the buckets of shards."""

import hashlib

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]

BUCKET_DIGITS = 3
"""Hex digits of an id that name its bucket: 16 ** 3 = 4096 buckets, of which a shard is a range."""


def unit_id(content_id: str, level: str, start: int, end: int, text: str, recipe: str) -> str:
    """32 hex digits of the sha256 of all that makes a unit what it is; never random, so a retried bundle repeats it.

    >>> unit_id("c", "structural", 0, 2, "ab", "r") != unit_id("c", "structural", 0, 2, "ac", "r")
    True
    """
    head = f"{content_id}\0{level}\0{start}\0{end}\0{recipe}\0"
    return hashlib.sha256((head + text).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def vector_id(unit: str) -> int:
    """A unit's number in the index: the first 63 bits of its id, which is never negative as an int64.

    >>> vector_id("f" * 32) == 2**63 - 1
    True
    """
    return int(unit[:16], 16) >> 1


def unmatched(ids: Ids) -> Ids:
    """Ids, int64, as a file of vectors has those of units that no index holds: below zero, and each its own.

    >>> unmatched(np.array([0, 7])).tolist(), matched(np.array([-1, 7, -8])).tolist()
    ([-1, -8], [0, 7, 7])
    """
    return ~ids


def matched(ids: Ids) -> Ids:
    """The units' own ids, int64, where some are those of `unmatched`."""
    return np.where(ids < 0, ~ids, ids)


def bucket(hex_id: str) -> int:
    """The bucket of a content id, 0 to 4095.

    >>> bucket("00f" + "0" * 29)
    15
    """
    return int(hex_id[:BUCKET_DIGITS], 16)


def uri_bucket(uri: str) -> int:
    """The bucket of a document's uri, 0 to 4095."""
    return bucket(hashlib.sha256(uri.encode("utf-8", "surrogatepass")).hexdigest())


def row_uri(file: str, key: str | None, row: int, id_scope: str) -> str:
    """The address of a table's row, by its own id where it has one.

    >>> row_uri("/a.jsonl", "k", 3, "file"), row_uri("/a.jsonl", None, 3, "file"), row_uri("/a.jsonl", "k", 3, "corpus")
    ('/a.jsonl#k', '/a.jsonl#row-3', 'k')
    """
    name = key if key is not None else f"row-{row}"
    return name if id_scope == "corpus" and key is not None else f"{file}#{name}"

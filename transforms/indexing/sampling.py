"""Deterministic samples by hash: the same ids give the same sample, in any order and on any machine."""

import hashlib

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]


def take_sample(ids: Ids, n: int, salt: str) -> Ids:
    """The `n` ids of least hash, sorted. Samples of parts can be sampled again: the result is that of the whole.

    >>> take_sample(np.arange(1000), 3, "doc").tolist() == take_sample(np.arange(1000)[::-1], 3, "doc").tolist()
    True
    """
    unique = np.unique(ids)
    if len(unique) <= n:
        return unique
    chosen = np.argpartition(hash_ids(unique, salt), n)[:n] if n > 0 else np.empty(0, np.int64)
    return np.sort(unique[chosen])


def hash_ids(ids: Ids, salt: str) -> NDArray[np.uint64]:
    """A 64-bit hash of each id (splitmix64, a bijection: no two ids collide under one salt)."""
    x = ids.astype(np.uint64) ^ np.uint64(_number(salt))
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def _number(salt: str) -> int:
    return int.from_bytes(hashlib.sha256(salt.encode()).digest()[:8])

"""A part of a corpus that keeps every document that answers, and of the others a share of every kind."""

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from models.errors import SettingsError


def stratified_sample(strata: Sequence[Hashable], kept: AbstractSet[int], n_documents: int, seed: int = 0) -> list[int]:
    """Rows of the documents to take, in order: all of `kept`, and others so that each stratum has its share.

    Recall on such a sample is too high in absolute terms, since it has fewer documents that distract: it supports
    differences only. Shares are rounded by largest remainder; rows within a stratum are drawn without replacement.

    :param strata: the kind of each document, such as its length and its source.
    :raises SettingsError: `n_documents` has no room for `kept`.
    """
    if n_documents < len(kept):
        raise SettingsError(
            f"a sample of {n_documents} documents has no room for the {len(kept)} that answer; raise it"
        )
    others: dict[Hashable, list[int]] = {}
    for row, stratum in enumerate(strata):
        if row not in kept:
            others.setdefault(stratum, []).append(row)
    groups = list(others.values())
    sizes = _proportional([len(group) for group in groups], n_documents - len(kept))
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(group, size, replace=False) for group, size in zip(groups, sizes, strict=True) if size]
    return sorted({*kept, *(int(row) for rows in drawn for row in rows)})


def _proportional(sizes: Sequence[int], n_wanted: int) -> list[int]:
    """Parts of `n_wanted` in proportion to `sizes`, none over its size."""
    total = sum(sizes)
    if n_wanted >= total:
        return list(sizes)
    exact = [size * n_wanted / total for size in sizes]
    parts = [int(share) for share in exact]
    by_remainder = sorted(range(len(sizes)), key=lambda number: (parts[number] - exact[number], number))
    for number in by_remainder[: n_wanted - sum(parts)]:
        parts[number] += 1
    return parts

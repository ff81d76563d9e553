"""From what was matched to what is served: the passages of propositions, each once, with its best one's score."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pipelines.search.levels import Levels
from pipelines.search.live_rows import Numbers
from transforms.indexing.searching import NONE, Candidates
from transforms.indexing.training import Vectors32


class Served(NamedTuple):
    """The units to serve for each query, int64 (q, k), the best unit matched for each, and its score, float32 (q, k).

    Places left over hold id -1 and minus infinity. `n_matched` counts what was matched until there were k.
    """

    ids: Numbers
    matched: Numbers
    scores: Vectors32
    n_matched: int


def serve(found: Candidates, levels: Sequence[Levels], k: int) -> Served:
    """The first `k` distinct units to serve of matched ones, (q, n) best first."""
    return serve_owned(found, owners_of(found.ids, levels), k)


def owners_of(ids: Numbers, levels: Sequence[Levels]) -> Numbers:
    """The units to serve for matched ones, of the same shape."""
    for level in levels:
        ids = level.served(ids)
    return ids


def serve_owned(found: Candidates, owners: Numbers, k: int) -> Served:
    """`serve`, for matched units whose owners are known."""
    shape = (len(owners), k)
    served = Served(np.full(shape, NONE), np.full(shape, NONE), np.full(shape, -np.inf, np.float32), 0)
    n_matched = 0
    for number, row in enumerate(owners):
        firsts = _first_places(row, k)
        n = len(firsts)
        served.ids[number, :n], served.matched[number, :n] = row[firsts], found.ids[number, firsts]
        served.scores[number, :n] = found.scores[number, firsts]
        if n:
            last = len(row) if n < k else int(firsts[-1]) + 1
            n_matched += int(np.sum(row[:last] != NONE))
    return served._replace(n_matched=n_matched)


def _first_places(row: Numbers, k: int) -> Numbers:
    """Where the first `k` distinct ids of a row stand first, in order."""
    _, found = np.unique(row, return_index=True)
    in_order = np.sort(found)
    firsts: Numbers = in_order[row[in_order] != NONE]
    return firsts[:k]

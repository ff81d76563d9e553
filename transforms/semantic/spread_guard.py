"""PIC's spread guard chosen on annotated texts: below which spread of similarities a text had better be one run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transforms.chunkers.pic import cuts, labels
from transforms.semantic.calibration import pk_of_cuts

_SHARES = (0.1, 0.25, 0.5, 0.75)


@dataclass(frozen=True)
class GuardedText:
    """A text's spread, max r - min r of its sentences, and its P_k where labels cut it and where nothing does."""

    spread: float
    pk_cut: float
    pk_one_run: float


@dataclass(frozen=True)
class GuardRow:
    """What a guard does to the texts: the share of them that are one run for it, and the mean of their P_k."""

    min_spread: float
    one_run_share: float
    pk: float


def guarded_text(similarity: NDArray[np.float64], is_boundary: NDArray[np.bool_]) -> GuardedText:
    """A text of n > 1 sentences with their similarity to the anchor, (n,), and whether gaps are boundaries, (n - 1,).

    >>> guarded_text(np.array([0.9, 0.8, 0.2]), np.array([False, True]))
    GuardedText(spread=0.7, pk_cut=0.0, pk_one_run=1.0)
    """
    is_cut = np.zeros(len(is_boundary), np.bool_)
    is_cut[cuts(labels(similarity)) - 1] = True
    nothing = np.zeros_like(is_cut)
    # Rounded as the guard itself compares.
    spread = float(np.round(np.ptp(similarity), 4))
    return GuardedText(spread, pk_of_cuts(is_boundary, is_cut), pk_of_cuts(is_boundary, nothing))


def guard_row(texts: Sequence[GuardedText], min_spread: float) -> GuardRow:
    """What the guard `min_spread` does to the texts."""
    is_one_run = np.array([text.spread < min_spread for text in texts])
    pk = np.where(is_one_run, [text.pk_one_run for text in texts], [text.pk_cut for text in texts])
    return GuardRow(min_spread, float(is_one_run.mean()), float(pk.mean()))


def guard_rows(texts: Sequence[GuardedText]) -> list[GuardRow]:
    """Guards that leave none, and about a tenth to three quarters of the texts, as one run."""
    places = np.quantile([text.spread for text in texts], _SHARES, method="higher").tolist()
    return [guard_row(texts, value) for value in sorted({0.0, *places})]


def choose_guard(texts: Sequence[GuardedText]) -> GuardRow:
    """The guard with the lowest mean P_k on the texts; of equal ones the lowest, which interferes least."""
    spreads = sorted({text.spread for text in texts})
    candidates = [0.0, *spreads, round(spreads[-1] + 1e-4, 4)]
    return min((guard_row(texts, value) for value in candidates), key=lambda row: (row.pk, row.min_spread))

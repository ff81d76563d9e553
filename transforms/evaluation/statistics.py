"""Intervals and tests for means over questions. Seeded, so that a report says the same thing twice."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

N_RESAMPLES = 1000
CONFIDENCE = 0.95
SEED = 0
_BLOCK_DRAWS = 1 << 20


class Estimate(NamedTuple):
    """A mean with its standard error and the ends of its bootstrap interval. NaN where there were no values."""

    mean: float
    standard_error: float
    low: float
    high: float


class Flips(NamedTuple):
    """Questions that became better, worse, and neither; `p_value` of the exact two-sided sign test."""

    improved: int
    regressed: int
    tied: int
    p_value: float


def bootstrap_means(values: NDArray[Any], n_resamples: int = N_RESAMPLES, seed: int = SEED) -> NDArray[np.float64]:
    """Means of resamples drawn with replacement, float64 (n_resamples, m), for `values` (n, m).

    The columns of a resample are drawn together, so differences of columns are paired. A resample is kept as the number
    of times that each row was drawn, which makes all means one matrix product.
    """
    n_rows = len(values)
    rng = np.random.default_rng(seed)
    at_once = max(1, _BLOCK_DRAWS // max(1, n_rows))
    blocks = [
        _draw_counts(rng, min(at_once, n_resamples - start), n_rows) @ values / n_rows
        for start in range(0, n_resamples, at_once)
    ]
    return np.concatenate(blocks)


def estimate_means(
    values: NDArray[Any], confidence: float = CONFIDENCE, n_resamples: int = N_RESAMPLES, seed: int = SEED
) -> list[Estimate]:
    """The mean of each column of `values` (n, m), with the percentile interval of the bootstrap.

    For a paired comparison hand over the differences, one a question.
    """
    n_rows = len(values)
    if not n_rows:
        return [Estimate(np.nan, np.nan, np.nan, np.nan)] * values.shape[1]
    values = np.asarray(values, np.float64)
    tail = (1 - confidence) / 2
    low, high = np.quantile(bootstrap_means(values, n_resamples, seed), [tail, 1 - tail], axis=0)
    errors = values.std(axis=0, ddof=1) / np.sqrt(n_rows) if n_rows > 1 else np.full(values.shape[1], np.nan)
    columns = zip(values.mean(axis=0), errors, low, high, strict=True)
    return [Estimate(*map(float, column)) for column in columns]


def estimate_gap(
    values: NDArray[Any],
    others: NDArray[Any],
    confidence: float = CONFIDENCE,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Estimate:
    """The mean of `values` (n,) less that of `others` (m,), two groups of questions, each resampled by itself."""
    if not len(values) or not len(others):
        return Estimate(np.nan, np.nan, np.nan, np.nan)
    resamples = zip((values, others), (seed, seed + 1), strict=True)
    first, second = (bootstrap_means(np.asarray(v, np.float64)[:, None], n_resamples, s)[:, 0] for v, s in resamples)
    tail = (1 - confidence) / 2
    low, high = np.quantile(first - second, [tail, 1 - tail])
    errors = [v.std(ddof=1) ** 2 / len(v) if len(v) > 1 else np.nan for v in (values, others)]
    gap = float(np.mean(values) - np.mean(others))
    return Estimate(gap, float(np.sqrt(sum(errors))), float(low), float(high))


def count_flips(differences: NDArray[Any]) -> Flips:
    """How many of the paired `differences` (n,) are above, below and equal to 0, with the sign test."""
    improved, regressed = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    return Flips(improved, regressed, len(differences) - improved - regressed, sign_test(improved, regressed))


def sign_test(improved: int, regressed: int) -> float:
    """Exact two-sided p-value of so many questions better and so many worse, ties left out; 1 where none flipped."""
    if not improved + regressed:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(improved, improved + regressed, 0.5).pvalue)


def proportion_standard_error(proportion: float, n_questions: int) -> float:
    """`sqrt(p (1 - p) / n)`: about 0.035 for a proportion of 0.6 over 200 questions."""
    return float(np.sqrt(proportion * (1 - proportion) / n_questions))


def matched_k(k: int, unit_tokens: float, other_unit_tokens: float) -> int:
    """The k at which units of another mean length fill the same prompt: `round(k L / L_other)`, halves up, at least 1.

    >>> matched_k(10, 1024, 384)
    27
    """
    return max(1, int(np.floor(k * unit_tokens / other_unit_tokens + 0.5)))


def _draw_counts(rng: np.random.Generator, n_resamples: int, n_rows: int) -> NDArray[np.float64]:
    draws = rng.integers(0, n_rows, (n_resamples, n_rows))
    draws += n_rows * np.arange(n_resamples)[:, None]
    counts = np.bincount(draws.ravel(), minlength=n_resamples * n_rows)
    return counts.reshape(n_resamples, n_rows).astype(np.float64)

"""Two arms, question by question."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipelines.evaluation.measuring import AT_K, METRICS, WITHIN_BUDGET, Measures
from transforms.evaluation.attribution import length_growth
from transforms.evaluation.statistics import Estimate, Flips, count_flips, estimate_means

COMPARED = METRICS[:5]


@dataclass(frozen=True)
class Difference:
    """This arm's metric less the other's: over questions, and which way each question went."""

    estimate: Estimate
    flips: Flips


@dataclass(frozen=True)
class Comparison:
    """The differences by cut and metric, and what has to be known to read them.

    `unit_tokens` are the mean tokens of a unit of this arm and of the other; `n_different_texts` counts questions whose
    documents have not the same text in both.
    """

    differences: Mapping[str, Mapping[str, Difference]]
    unit_tokens: tuple[float, float]
    matched_k: int
    n_different_texts: int

    @property
    def longer_units_won(self) -> bool:
        """Whether the arm with the higher recall at k is the one with the longer units, so that it was served more."""
        gain = self.differences[AT_K]["recall"].estimate.mean
        growth = self.unit_tokens[0] - self.unit_tokens[1]
        return bool(gain * growth > 0)


def compare_measures(
    this: Mapping[str, Measures], other: Mapping[str, Measures], n_resamples: int, seed: int, confidence: float
) -> dict[str, dict[str, Difference]]:
    """Paired differences by cut and metric. At a matched k, this arm keeps its k and the other has the matched one."""
    found = {}
    for name in other:
        ours = this[name if name in this else AT_K]
        columns = ours[:, : len(COMPARED)] - other[name][:, : len(COMPARED)]
        estimates = estimate_means(columns, confidence, n_resamples, seed)
        flips = [count_flips(columns[:, number]) for number in range(len(COMPARED))]
        pairs = zip(COMPARED, map(Difference, estimates, flips), strict=True)
        found[name] = dict(pairs)
    return found


def warning(comparison: Comparison, names: tuple[str, str], k: int, budget_tokens: int) -> str | None:
    """What to say where the longer units won at k; None where they did not."""
    if not comparison.longer_units_won:
        return None
    gain = comparison.differences[AT_K]["recall"].estimate.mean
    winner, loser = names if gain > 0 else names[::-1]
    longer, shorter = sorted(comparison.unit_tokens, reverse=True)
    fair = comparison.differences[WITHIN_BUDGET]["recall"].estimate
    sign = np.sign(gain)
    low, high = sorted((sign * fair.low, sign * fair.high))
    return (
        f"{winner} is ahead of {loser} by {abs(gain):.3f} in recall at k = {k}, with units {longer / shorter:.1f} "
        f"times as long ({longer:.0f} tokens, not {shorter:.0f}). Within {budget_tokens:,} tokens each, the difference "
        f"is {sign * fair.mean:+z.3f} ({low:+z.3f} to {high:+z.3f})."
    )


def finite(estimate: Estimate) -> dict[str, Any]:
    """The fields by name, with None for what cannot be said, such as the standard error of one value."""
    return {name: value if np.isfinite(value) else None for name, value in estimate._asdict().items()}


def comparison_json(comparison: Comparison, note: str | None) -> dict[str, Any]:
    """The documented keys of a comparison."""
    return {
        "unit_tokens": list(comparison.unit_tokens),
        "length_growth": length_growth(comparison.unit_tokens[1], comparison.unit_tokens[0]),
        "matched_k": comparison.matched_k,
        "questions_with_different_texts": comparison.n_different_texts,
        "longer_units_won": comparison.longer_units_won,
        "warning": note,
        "differences": {
            cut: {
                metric: finite(difference.estimate) | difference.flips._asdict()
                for metric, difference in metrics.items()
            }
            for cut, metrics in comparison.differences.items()
        },
    }

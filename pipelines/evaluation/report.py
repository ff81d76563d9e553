"""What an evaluation found, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from pipelines.evaluation.comparing import Comparison, comparison_json, finite, warning
from pipelines.evaluation.measuring import METRICS, Cuts, Measures
from transforms.evaluation.attribution import evidence_tokens
from transforms.evaluation.statistics import Estimate, estimate_means, proportion_standard_error

QUESTION_CHARS = 100
PROPORTIONS = ("whole_answers", "documents_found")
"""Metrics that are 1 or 0 a question, whose means have the standard error of a proportion."""


@dataclass(frozen=True)
class Conventions:
    """How things were counted: where rankings are cut, whose tokens fill the budget, and how intervals are made."""

    cuts: Cuts
    token_counter: str
    confidence: float
    n_resamples: int
    seed: int


@dataclass(frozen=True)
class Asked:
    """The questions that were evaluated, in order, each shortened to `QUESTION_CHARS`; and those that were not.

    `left_out` are the lines of questions that lack a reference in one of the arms.
    """

    lines: list[int]
    ids: list[str]
    questions: list[str]
    left_out: list[int]


@dataclass(frozen=True)
class ArmReport:
    """One arm: what it is, what became of the references in its documents and at k, and its measures by cut."""

    name: str
    description: Mapping[str, Any]
    references: Mapping[str, int]
    misses: Mapping[str, int]
    unit_tokens: float
    measures: Mapping[str, Measures]
    estimates: Mapping[str, Mapping[str, Estimate]]


@dataclass(frozen=True)
class EvaluationReport:
    """Recall, precision and IoU of one arm, or of two with their paired comparison.

    `table` has a row a question, `means` a number a metric, `to_json` everything.
    """

    conventions: Conventions
    asked: Asked
    arms: Sequence[ArmReport]
    comparison: Comparison | None

    @property
    def n_questions(self) -> int:
        return len(self.asked.lines)

    @cached_property
    def table(self) -> pa.Table:
        """A row a question: `line`, `id`, `question`, `recall_at_k` and so on; a second arm's begin with `other_`."""
        columns: dict[str, Any] = {
            "line": pa.array(self.asked.lines, pa.int64()),
            "id": pa.array(self.asked.ids, pa.string()),
            "question": pa.array(self.asked.questions, pa.string()),
        }
        for prefix, arm in zip(("", "other_"), self.arms, strict=False):
            for cut, measures in arm.measures.items():
                for number, metric in enumerate(METRICS):
                    columns[f"{prefix}{metric}_{cut}"] = measures[:, number]
        return pa.table(columns)

    def means(self, cut: str = "at_k", arm: int = 0) -> dict[str, float]:
        """The mean of each metric at a cut: `at_k`, `within_budget`, and for a second arm `at_matched_k`."""
        return {metric: estimate.mean for metric, estimate in self.arms[arm].estimates[cut].items()}

    @property
    def warning(self) -> str | None:
        """What to know before a comparison is believed; None where there is nothing."""
        if self.comparison is None:
            return None
        names = (self.arms[0].name, self.arms[1].name)
        cuts = self.conventions.cuts
        return warning(self.comparison, names, cuts.k, cuts.budget_tokens)

    def to_json(self) -> dict[str, Any]:
        """The documented keys of `corpusmill evaluate --json`."""
        conventions, cuts = self.conventions, self.conventions.cuts
        return {
            "questions": {"evaluated": self.n_questions, "left_out": list(self.asked.left_out)},
            "k": cuts.k,
            "budget_tokens": cuts.budget_tokens,
            "positions": "characters",
            "token_counter": conventions.token_counter,
            "confidence": conventions.confidence,
            "resamples": conventions.n_resamples,
            "seed": conventions.seed,
            "arms": [_arm_json(arm, cuts.k, self.n_questions) for arm in self.arms],
            "comparison": comparison_json(self.comparison, self.warning) if self.comparison else None,
            "per_question": self.table.to_pylist(),
        }


def estimates_of(measures: Mapping[str, Measures], conventions: Conventions) -> dict[str, dict[str, Estimate]]:
    """Means with intervals of every metric, by cut."""
    settings = (conventions.confidence, conventions.n_resamples, conventions.seed)
    return {cut: dict(zip(METRICS, estimate_means(table, *settings), strict=True)) for cut, table in measures.items()}


def _arm_json(arm: ArmReport, k: int, n_questions: int) -> dict[str, Any]:
    estimates = {
        cut: {metric: finite(estimate) for metric, estimate in metrics.items()}
        for cut, metrics in arm.estimates.items()
    }
    head = {"name": arm.name, **arm.description, "references": dict(arm.references), "unit_tokens": arm.unit_tokens}
    head["at_k_references"] = dict(arm.misses)
    head["evidence_tokens"] = evidence_tokens(k, arm.unit_tokens)
    head["standard_errors"] = {
        cut: {name: proportion_standard_error(metrics[name].mean, n_questions) for name in PROPORTIONS}
        for cut, metrics in arm.estimates.items()
    }
    return head | estimates

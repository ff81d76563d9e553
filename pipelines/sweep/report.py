"""What a sweep found, as data: an object for JSON, rows for CSV, and the files of its folder."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from pipelines.evaluation.audit import Limits, group_json
from pipelines.evaluation.comparing import finite
from pipelines.evaluation.measuring import WITHIN_BUDGET
from pipelines.evaluation.report import Asked, Conventions
from pipelines.sweep.analysis import CONTROL, FAIR_CUTS, LONG_DOCUMENTS, ArmFindings, Differences, Findings
from pipelines.sweep.plot import draw
from pipelines.sweep.work import WorkFolder
from transforms.evaluation.attribution import attribute, control_movement, evidence_tokens, remaining_gap
from transforms.evaluation.hypotheses import Verdict
from transforms.evaluation.truncation import Group

CSV_COLUMNS = (
    "arm", "size_tokens", "encoder", "group", "questions", "cut", "k", "metric",
    "mean", "standard_error", "low", "high", "units", "unit_tokens",
)  # fmt: skip


class Encoding(NamedTuple):
    """One encoder's part: what it reads, the different texts that it encoded, and those that were kept from before."""

    encoder: str
    limits: Limits
    n_encoded: int
    n_kept: int


@dataclass(frozen=True)
class SweepReport:
    """`n_documents` are those searched, and all that the pattern matches; they differ where a sample was asked for.

    `n_units` are those of all arms and sizes, spans that two of them share counted once.
    """

    name: str
    conventions: Conventions
    asked: Asked
    n_documents: tuple[int, int]
    outcomes: Mapping[str, int]
    audit: Group
    audit_by_length: Sequence[Group]
    forced: bool
    recorded_at: str
    encoding: Mapping[str, Encoding]
    n_units: int
    left_out_sizes: Sequence[int]
    findings: Findings
    work: str

    @property
    def is_sample(self) -> bool:
        """Whether only a part of the corpus was searched, so that absolute values are optimistic."""
        return self.n_documents[0] < self.n_documents[1]

    def to_json(self) -> dict[str, Any]:
        """The documented keys of `corpusmill sweep --json`."""
        found, cuts = self.findings, self.conventions.cuts
        return {
            "corpus": self.name,
            "documents": {"searched": self.n_documents[0], "matched": self.n_documents[1], "sample": self.is_sample},
            "outcomes": dict(self.outcomes),
            "questions": {**found.n_questions, "left_out": list(self.asked.left_out)},
            "k": cuts.k,
            "budget_tokens": cuts.budget_tokens,
            "token_counter": self.conventions.token_counter,
            "confidence": self.conventions.confidence,
            "resamples": self.conventions.n_resamples,
            "seed": self.conventions.seed,
            "audit": group_json(self.audit)
            | {"by_length": [group_json(group) for group in self.audit_by_length], "forced": self.forced},
            "encoders": {name: _encoding_json(one) for name, one in self.encoding.items()},
            "spans": self.n_units,
            "arms": [_arm_json(arm, cuts.k) for arm in found.arms],
            "differences": {
                group: {quantity: _differences_json(one) for quantity, one in quantities.items()}
                for group, quantities in found.differences.items()
            },
            "attribution": _attribution_json(found),
            "valid": found.is_valid,
            "unexplained": finite(found.unexplained),
            "longer_units_won": found.longer_units_won,
            "recorded_at": self.recorded_at,
            "hypotheses": [_verdict_json(verdict) for verdict in found.verdicts],
            "curve": [_arm_json(arm, cuts.k) for arm in found.curve],
            "sizes_left_out": list(self.left_out_sizes),
            "work": self.work,
        }

    def to_csv(self) -> str:
        """A line for each arm, group of questions, cut and metric."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for arm in (*self.findings.arms, *self.findings.curve):
            writer.writerows(self._rows(arm))
        return stream.getvalue()

    def write(self, work: WorkFolder) -> None:
        """`sweep.json`, `sweep.csv` and `sweep.svg`."""
        work.write("sweep.json", json.dumps(self.to_json(), indent=1, allow_nan=False).encode())
        work.write("sweep.csv", self.to_csv().encode())
        work.write("sweep.svg", draw(self.findings, self.conventions.cuts.budget_tokens).encode())

    def _rows(self, arm: ArmFindings) -> Iterator[tuple[Any, ...]]:
        cuts = self.conventions.cuts
        for group, by_cut in arm.estimates.items():
            for cut, metrics in by_cut.items():
                k = {"at_k": cuts.k, "at_matched_k": arm.matched_k}.get(cut, "")
                for metric, estimate in metrics.items():
                    values = ("" if value is None else value for value in finite(estimate).values())
                    plan, n = arm.plan, self.findings.n_questions[group]
                    head = (plan.name, plan.size_tokens, plan.reader, group, n, cut, k, metric)
                    yield (*head, *values, arm.n_units, arm.unit_tokens)


def _encoding_json(one: Encoding) -> dict[str, Any]:
    return {
        "encoder": one.encoder,
        "limits": one.limits._asdict(),
        "texts_encoded": one.n_encoded,
        "texts_kept": one.n_kept,
    }


def _attribution_json(found: Findings) -> dict[str, Any]:
    """Mean recall taken apart, by group and cut; how far the control moved; and what arm B leaves against it."""
    parts: dict[str, Any] = {}
    for group in found.differences:
        recalls = {cut: [arm.estimates[group][cut]["recall"].mean for arm in found.arms] for cut in FAIR_CUTS}
        parts[group] = {cut: attribute(*means)._asdict() for cut, means in recalls.items()}
    control = {arm.plan.name: _recall(arm, CONTROL) for arm in found.arms}
    known = [recall for recall in control.values() if recall is not None]
    long, level = _recall(found.arms[1], LONG_DOCUMENTS), control["A"]
    gap = None if level is None or long is None else remaining_gap(level, long)
    return {"recall": parts, "control_movement": control_movement(known) if known else None, "remaining_gap": gap}


def _recall(arm: ArmFindings, group: str) -> float | None:
    """Mean recall within the budget; None where no question is of the group."""
    return arm.estimates[group][WITHIN_BUDGET]["recall"].mean if group in arm.estimates else None


def _arm_json(arm: ArmFindings, k: int) -> dict[str, Any]:
    means = {
        group: {cut: {metric: finite(one) for metric, one in metrics.items()} for cut, metrics in by_cut.items()}
        for group, by_cut in arm.estimates.items()
    }
    counts = {
        "units": arm.n_units,
        "unit_tokens": arm.unit_tokens,
        "matched_k": arm.matched_k,
        "evidence_tokens": {
            "at_k": evidence_tokens(k, arm.unit_tokens),
            "at_matched_k": evidence_tokens(arm.matched_k, arm.unit_tokens),
        },
    }
    return {**asdict(arm.plan), **counts, "means": means}


def _differences_json(differences: Differences) -> dict[str, Any]:
    return {
        cut: {metric: finite(one.estimate) | one.flips._asdict() for metric, one in metrics.items()}
        for cut, metrics in differences.items()
    }


def _verdict_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "quantity": verdict.quantity,
        "metric": verdict.metric,
        **finite(verdict.estimate),
        "hit": verdict.hit,
        "touched": list(verdict.touched),
    }

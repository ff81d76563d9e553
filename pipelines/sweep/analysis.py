"""What the arms say together: the differences, the control, the hypotheses, and what is left unexplained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipelines.evaluation.comparing import Difference, compare_measures
from pipelines.evaluation.measuring import AT_K, AT_MATCHED_K, METRICS, WITHIN_BUDGET, Measurer, Measures
from pipelines.evaluation.report import Conventions, estimates_of
from pipelines.sweep.arms import PlannedArm
from transforms.evaluation.hypotheses import QUANTITIES, Hypothesis, Verdict, judge
from transforms.evaluation.statistics import Estimate, estimate_gap

ALL, LONG_DOCUMENTS, CONTROL = "all", "long", "control"
GROUPS = (ALL, LONG_DOCUMENTS, CONTROL)
LEAST_CONTROL_QUESTIONS = 10
FAIR_CUTS = (AT_MATCHED_K, WITHIN_BUDGET)

Estimates = Mapping[str, Mapping[str, Estimate]]
Differences = Mapping[str, Mapping[str, Difference]]


@dataclass(frozen=True)
class ArmFindings:
    """An arm, its units, the k at which they fill the prompt of arm A, and means by group, cut and metric."""

    plan: PlannedArm
    n_units: int
    unit_tokens: float
    matched_k: int
    estimates: Mapping[str, Estimates]


@dataclass(frozen=True)
class Findings:
    """Arms A, B and C, the curve, and by group and quantity the paired differences.

    `is_valid` says whether A and C agree on the control within noise; None where fewer than
    `LEAST_CONTROL_QUESTIONS` are about it.
    `unexplained` is the recall of arm A on the control less that of arm B on the long documents, within the budget.
    """

    arms: Sequence[ArmFindings]
    curve: Sequence[ArmFindings]
    n_questions: Mapping[str, int]
    differences: Mapping[str, Mapping[str, Differences]]
    verdicts: Sequence[Verdict]
    is_valid: bool | None
    unexplained: Estimate
    longer_units_won: bool


def analyse(
    planned: Sequence[PlannedArm],
    measurers: Sequence[Measurer],
    is_control: NDArray[np.bool_],
    hypotheses: Sequence[Hypothesis],
    conventions: Conventions,
) -> Findings:
    """Everything that is said of a sweep; `is_control` bool (q,) marks questions about documents read whole by all."""
    chosen = {ALL: np.ones_like(is_control), LONG_DOCUMENTS: ~is_control, CONTROL: is_control}
    found = [_arm(plan, measurer, chosen, conventions) for plan, measurer in zip(planned, measurers, strict=True)]
    tables = {plan.name: measurer.measures for plan, measurer in zip(planned[:3], measurers, strict=False)}
    differences = {
        group: {quantity: _difference(tables, quantity, rows, conventions) for quantity in QUANTITIES}
        for group, rows in chosen.items()
        if rows.any()
    }
    main = differences[ALL]
    verdicts = [
        judge(hypotheses, quantity, metric, main[quantity][WITHIN_BUDGET][metric].estimate)
        for quantity, metric in dict.fromkeys((one.quantity, one.metric) for one in hypotheses)
    ]
    recall = METRICS.index("recall")
    unexplained = estimate_gap(
        tables["A"][WITHIN_BUDGET][is_control, recall],
        tables["B"][WITHIN_BUDGET][~is_control, recall],
        conventions.confidence,
        conventions.n_resamples,
        conventions.seed,
    )
    gain = found[0].estimates[ALL][AT_K]["recall"].mean - found[1].estimates[ALL][AT_K]["recall"].mean
    return Findings(
        arms=found[:3],
        curve=found[3:],
        n_questions={group: int(rows.sum()) for group, rows in chosen.items()},
        differences=differences,
        verdicts=verdicts,
        is_valid=_is_valid(differences[CONTROL]) if is_control.sum() >= LEAST_CONTROL_QUESTIONS else None,
        unexplained=unexplained,
        longer_units_won=bool(gain * (found[0].unit_tokens - found[1].unit_tokens) > 0),
    )


def _is_valid(control: Mapping[str, Differences]) -> bool:
    """Whether no interval of C - A in recall leaves 0 out on the control."""
    moved = [control["C - A"][cut]["recall"].estimate for cut in FAIR_CUTS]
    return all(estimate.low <= 0 <= estimate.high for estimate in moved)


def _arm(
    plan: PlannedArm, measurer: Measurer, chosen: Mapping[str, NDArray[np.bool_]], conventions: Conventions
) -> ArmFindings:
    measures = measurer.measures
    estimates = {
        group: estimates_of({cut: table[rows] for cut, table in measures.items()}, conventions)
        for group, rows in chosen.items()
        if rows.any()
    }
    assert measurer.cuts.matched_k is not None
    n_units = int(measurer.arm.description["n_units"])
    return ArmFindings(plan, n_units, measurer.unit_tokens, measurer.cuts.matched_k, estimates)


def _difference(
    tables: Mapping[str, Mapping[str, Measures]], quantity: str, rows: NDArray[np.bool_], conventions: Conventions
) -> Differences:
    this, other = ({cut: tables[name][cut][rows] for cut in FAIR_CUTS} for name in (quantity[0], quantity[-1]))
    return compare_measures(this, other, conventions.n_resamples, conventions.seed, conventions.confidence)

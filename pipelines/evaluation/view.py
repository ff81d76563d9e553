"""An evaluation as a person reads it, within 80 columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pipelines.evaluation.comparing import COMPARED, Difference
from pipelines.evaluation.measuring import AT_K, AT_MATCHED_K, METRICS, WITHIN_BUDGET
from pipelines.evaluation.report import ArmReport, EvaluationReport
from pipelines.output import print_pairs, safe, snippet
from pipelines.wording import left_out_in_words
from transforms.evaluation.statistics import Estimate, Flips

if TYPE_CHECKING:
    from rich.console import Console

_WORDS = {
    "recall": "recall",
    "precision": "precision",
    "iou": "IoU",
    "whole_answers": "whole answers",
    "documents_found": "documents found",
    "prompt_tokens": "prompt tokens",
    "units": "units",
}
_DIGITS = (3, 3, 3, 3, 3, 1, 1)
_QUESTION_CHARS = 34


def show_evaluation(report: EvaluationReport, questions_file: str, n_shown: int, console: "Console") -> None:
    """What was asked, the means of each arm, the comparison, and the questions that went worst."""
    left_out = len(report.asked.left_out)
    share = left_out / max(left_out + report.n_questions, 1)
    also = f", {left_out:,} more ({share:.1%}) left out for a lost reference" if left_out else ""
    console.print(f"{safe(questions_file)}: {report.n_questions:,} questions{also}", style="bold", soft_wrap=True)
    for arm in report.arms:
        _show_arm(report, arm, console)
    if report.comparison:
        _show_comparison(report, console)
    if n_shown:
        _show_worst(report, n_shown, console)
    _show_conventions(report, console)


def _show_arm(report: EvaluationReport, arm: ArmReport, console: "Console") -> None:
    facts = arm.description
    what = f"version {facts['version']}" if facts["kind"] == "root" else "in memory, exact search"
    console.print(f"\n{safe(arm.name)} ({safe(what)})", style="bold", soft_wrap=True)
    references = ", ".join(f"{count:,} {fate.replace('_', ' ')}" for fate, count in arm.references.items())
    sizes = f"{facts['n_documents']:,} documents, {facts['n_units']:,} units, {arm.unit_tokens:.0f} tokens a unit"
    cuts = report.conventions.cuts
    pairs = [("corpus", sizes), ("references", references), (f"at k = {cuts.k}", _misses(arm))]
    print_pairs(console, [*pairs, *_outcome_pairs(arm)])
    heads = ("", f"at k = {cuts.k}", "95 % interval", f"in {cuts.budget_tokens:,} tokens", "95 % interval")
    rows = [
        (
            _WORDS[metric],
            *(cell for cut in (AT_K, WITHIN_BUDGET) for cell in _estimate(arm.estimates[cut][metric], digits)),
        )
        for metric, digits in zip(METRICS, _DIGITS, strict=True)
    ]
    print_numbers(console, heads, rows)


def _misses(arm: ArmReport) -> str:
    severed, outranked = arm.misses["severed"], arm.misses["outranked"]
    return f"{arm.misses['retrieved']:,} whole, {severed:,} severed (in no unit), {outranked:,} outranked"


def _outcome_pairs(arm: ArmReport) -> list[tuple[str, str]]:
    words = left_out_in_words(arm.description["outcomes"])
    return [("noted", safe(words))] if words else []


def _show_comparison(report: EvaluationReport, console: "Console") -> None:
    comparison, (this, other) = report.comparison, report.arms[:2]
    assert comparison is not None
    console.print(f"\n{safe(this.name)} less {safe(other.name)}, question by question", style="bold", soft_wrap=True)
    cuts = report.conventions.cuts
    labels = {
        AT_K: f"k = {cuts.k}",
        AT_MATCHED_K: f"k = {cuts.k} | {comparison.matched_k}",
        WITHIN_BUDGET: f"{cuts.budget_tokens:,} tokens",
    }
    heads = ("", "at", "difference", "95 % interval", "+ / - / same", "p")
    rows = [
        (_WORDS[metric] if cut == AT_K else "", labels[cut], *_difference(comparison.differences[cut][metric]))
        for metric in COMPARED
        for cut in (AT_K, AT_MATCHED_K, WITHIN_BUDGET)
    ]
    print_numbers(console, heads, rows)
    console.print(
        f"+ and - count questions; p is of the exact sign test on them. {labels[AT_MATCHED_K]}: the second retrieves "
        f"{comparison.matched_k} units, about as many tokens."
    )
    if comparison.n_different_texts:
        console.print(f"{comparison.n_different_texts:,} questions are about documents whose texts differ.")
    if report.warning:
        console.print("Careful: " + safe(report.warning), style="bold yellow")


def _show_worst(report: EvaluationReport, n_shown: int, console: "Console") -> None:
    measures = report.arms[0].measures
    recall, iou = (METRICS.index(name) for name in ("recall", "iou"))
    order = np.lexsort((measures[WITHIN_BUDGET][:, recall], measures[AT_K][:, recall]))[:n_shown].tolist()
    console.print(f"\nThe {len(order)} questions with the lowest recall" if order else "", style="bold")
    cuts = report.conventions.cuts
    heads = ("line", "question", f"recall@{cuts.k}", f"IoU@{cuts.k}", f"recall/{cuts.budget_tokens}t")
    rows = [
        (
            str(report.asked.lines[row]),
            snippet(report.asked.questions[row], _QUESTION_CHARS),
            f"{measures[AT_K][row, recall]:.3f}",
            f"{measures[AT_K][row, iou]:.3f}",
            f"{measures[WITHIN_BUDGET][row, recall]:.3f}",
        )
        for row in order
    ]
    print_numbers(console, heads, rows, n_words=2)


def _show_conventions(report: EvaluationReport, console: "Console") -> None:
    conventions = report.conventions
    counter = "the encoder's" if conventions.token_counter == "encoder" else f"{conventions.token_counter}'s"
    console.print(
        f"\nExtents in characters, a position counted once; precision of nothing retrieved is 0. Tokens are {counter}. "
        f"Intervals: bootstrap over questions, {conventions.n_resamples:,} resamples, seed {conventions.seed}."
    )


def _estimate(estimate: Estimate, n_digits: int) -> tuple[str, str]:
    return f"{estimate.mean:,.{n_digits}f}", f"{estimate.low:,.{n_digits}f} to {estimate.high:,.{n_digits}f}"


def _difference(difference: Difference) -> tuple[str, str, str, str]:
    estimate, flips = difference.estimate, difference.flips
    return (
        f"{estimate.mean:+z.3f}",
        f"{estimate.low:+z.3f} to {estimate.high:+z.3f}",
        f"{flips.improved} / {flips.regressed} / {flips.tied}",
        p_text(flips),
    )


def p_text(flips: Flips) -> str:
    """The p-value of a sign test in a column."""
    return "< 0.001" if flips.p_value < 0.001 else f"{flips.p_value:.3f}"


def print_numbers(console: "Console", heads: Sequence[str], rows: Sequence[Sequence[str]], n_words: int = 1) -> None:
    """A table whose columns after the first `n_words` stand flush right."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, head in enumerate(heads):
        table.add_column(Text(head), justify="left" if number < n_words else "right", header_style="bold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)

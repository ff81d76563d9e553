"""A sweep as a person reads it, within 80 columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipelines.evaluation.comparing import Difference
from pipelines.evaluation.measuring import AT_MATCHED_K, WITHIN_BUDGET
from pipelines.evaluation.view import p_text, print_numbers
from pipelines.output import print_pairs, safe
from pipelines.sweep.analysis import ALL, CONTROL, GROUPS, LEAST_CONTROL_QUESTIONS, LONG_DOCUMENTS, ArmFindings
from pipelines.sweep.report import SweepReport
from pipelines.wording import left_out_in_words
from transforms.evaluation.hypotheses import QUANTITIES, Verdict
from transforms.evaluation.statistics import Estimate

if TYPE_CHECKING:
    from rich.console import Console

_GROUP_WORDS = {ALL: "all", LONG_DOCUMENTS: "long", CONTROL: "control"}
_BAR_WIDTH = 20


def show_sweep(report: SweepReport, console: "Console") -> None:
    """What was compared, the arms, their differences, the hypotheses, the control, and the curve."""
    _show_head(report, console)
    _show_arms(report, console)
    _show_differences(report, console)
    _show_hypotheses(report, console)
    _show_checks(report, console)
    _show_curve(report, console)
    _show_conventions(report, console)


def _show_head(report: SweepReport, console: "Console") -> None:
    searched, matched = report.n_documents
    console.print(f"{safe(report.name)}: {searched:,} documents", style="bold", soft_wrap=True)
    questions = report.findings.n_questions
    pairs = []
    if report.is_sample:
        pairs.append(("sample", f"of {matched:,} documents: absolute values are optimistic, only differences count"))
    left_out = f", {len(report.asked.left_out):,} left out" if report.asked.left_out else ""
    pairs.append(
        (
            "questions",
            f"{questions[ALL]:,}{left_out}: {questions[LONG_DOCUMENTS]:,} about documents over the short limit (long), "
            f"{questions[CONTROL]:,} about others (control)",
        )
    )
    for name, one in report.encoding.items():
        limit = one.limits.documents
        read = f"{limit:,} tokens (measured)" if limit else f"{one.limits.declared:,} tokens (declared)"
        made = f"{one.n_encoded:,} texts encoded, {one.n_kept:,} kept"
        pairs.append((name, f"{safe(one.encoder)}, reads {read}; {made}"))
    audit = report.audit
    over = f"{audit.n_over_limit:,} of {audit.n_inputs:,} inputs of arm A over the limit ({audit.over_limit_share:.1%})"
    pairs.append(("audit", f"{over}, {audit.unread_share:.1%} of its tokens not read" + (", forced" * report.forced)))
    if noted := left_out_in_words(report.outcomes):
        pairs.append(("noted", safe(noted)))
    print_pairs(console, pairs)


def _show_arms(report: SweepReport, console: "Console") -> None:
    cuts = report.conventions.cuts
    console.print(f"\nRecall of all questions, within {cuts.budget_tokens:,} tokens and at a matched k", style="bold")
    heads = ("arm", "size", "units", f"{cuts.budget_tokens:,} tokens", "95 % interval", "k", "recall", "95 % interval")
    print_numbers(console, heads, [_arm_row(arm) for arm in report.findings.arms])
    console.print(
        "A and C are the same spans, read by the short encoder and by the long one; B are small spans, read by the "
        "short one."
    )


def _arm_row(arm: ArmFindings) -> tuple[str, ...]:
    within, matched = (arm.estimates[ALL][cut]["recall"] for cut in (WITHIN_BUDGET, AT_MATCHED_K))
    head = (f"{arm.plan.name} {arm.plan.reader}", f"{arm.plan.size_tokens:,}", f"{arm.n_units:,}")
    return (
        *head,
        f"{within.mean:.3f}",
        _interval(within),
        str(arm.matched_k),
        f"{matched.mean:.3f}",
        _interval(matched),
    )


def _show_differences(report: SweepReport, console: "Console") -> None:
    cuts = report.conventions.cuts
    console.print("\nDifferences in recall, question by question", style="bold")
    labels = {WITHIN_BUDGET: f"{cuts.budget_tokens:,} tokens", AT_MATCHED_K: "matched k"}
    heads = ("", "questions", "at", "mean", "95 % interval", "+ / - / same", "p")
    rows = []
    for quantity in QUANTITIES:
        name = quantity
        for group in GROUPS:
            for cut in (WITHIN_BUDGET, AT_MATCHED_K) if group in report.findings.differences else ():
                one = report.findings.differences[group][quantity][cut]["recall"]
                rows.append((name, _GROUP_WORDS[group], labels[cut], *_difference(one)))
                name = ""
    print_numbers(console, heads, rows, n_words=3)
    console.print("C - A is truncation, B - C dilution; they add up to B - A by construction.")


def _show_hypotheses(report: SweepReport, console: "Console") -> None:
    console.print(f"\nHypotheses, set down {report.recorded_at}", style="bold")
    cuts = report.conventions.cuts
    for verdict in report.findings.verdicts:
        estimate = verdict.estimate
        console.print(
            f"{verdict.quantity} in {verdict.metric}, within {cuts.budget_tokens:,} tokens: {estimate.mean:+z.3f} "
            f"({_interval(estimate, '+z.3f')})"
        )
        console.print(f"  {_verdict_text(verdict)}")


def _verdict_text(verdict: Verdict) -> str:
    hit = f"hit: {safe(verdict.hit)}" if verdict.hit is not None else "no range was hit"
    others = [safe(name) for name in verdict.touched if name != verdict.hit]
    return hit + (f"; the interval reaches {', '.join(others)} too" if others else "")


def _show_checks(report: SweepReport, console: "Console") -> None:
    found = report.findings
    control = found.n_questions[CONTROL]
    texts = {
        True: f"valid: from A to C the control ({control:,} questions) does not move beyond noise",
        False: f"INVALID: from A to C the control ({control:,} questions) moves beyond noise, though both read its "
        "documents whole: something else than truncation differs, and the attribution above does not hold",
        None: f"not checked: it takes {LEAST_CONTROL_QUESTIONS} questions about documents that fit the short limit, "
        f"and there {'is' if control == 1 else 'are'} {control:,}",
    }
    console.print("\nThe attribution", style="bold")
    pairs = [("control", texts[found.is_valid])]
    if found.n_questions[CONTROL] and found.n_questions[LONG_DOCUMENTS]:
        gap = found.unexplained
        left = (
            f"{gap.mean:+z.3f} ({_interval(gap, '+z.3f')}): recall of A on the control less that of B on long documents"
        )
        pairs.append(("unexplained", left))
    if found.longer_units_won:
        pairs.append(("careful", "at equal k the arm with longer units is ahead: that gain may be bought by length"))
    print_pairs(console, pairs)


def _show_curve(report: SweepReport, console: "Console") -> None:
    cuts = report.conventions.cuts
    console.print(f"\nRecall within {cuts.budget_tokens:,} tokens by size", style="bold")
    heads = ("size", "encoder", "units", "0" + "1".rjust(_BAR_WIDTH - 1), "recall", "95 % interval")
    rows = []
    for arm in report.findings.curve:
        within = arm.estimates[ALL][WITHIN_BUDGET]["recall"]
        bar = "#" * round(_BAR_WIDTH * within.mean)
        head = (f"{arm.plan.size_tokens:,}", arm.plan.reader, f"{arm.n_units:,}", bar.ljust(_BAR_WIDTH, "."))
        rows.append((*head, f"{within.mean:.3f}", _interval(within)))
    print_numbers(console, heads, rows, n_words=2)
    if report.left_out_sizes:
        sizes = ", ".join(f"{size:,}" for size in report.left_out_sizes)
        console.print(f"Left out, since the long encoder does not read so much: {sizes}.")


def _show_conventions(report: SweepReport, console: "Console") -> None:
    conventions = report.conventions
    counter = "the short encoder's" if conventions.token_counter == "encoder" else f"{conventions.token_counter}'s"
    n_texts = sum(one.n_encoded + one.n_kept for one in report.encoding.values())
    console.print(
        f"\nExact search over one snapshot; {report.n_units:,} units of all arms came to {n_texts:,} encoder inputs. "
        f"Tokens are {counter}. Intervals: bootstrap over questions, {conventions.n_resamples:,} resamples, seed "
        f"{conventions.seed}."
    )
    console.print(f"Written to {safe(report.work)}: sweep.json, sweep.csv, sweep.svg", soft_wrap=True)


def _interval(estimate: Estimate, form: str = ".3f") -> str:
    return f"{estimate.low:{form}} to {estimate.high:{form}}"


def _difference(one: Difference) -> Sequence[str]:
    flips = one.flips
    changes = f"{flips.improved} / {flips.regressed} / {flips.tied}"
    return f"{one.estimate.mean:+z.3f}", _interval(one.estimate, "+z.3f"), changes, p_text(flips)

"""What stops a run before anything is paid for, and what keeps it from publishing."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from models.llm.records import PASSING_REASONS
from transforms.context import RunContext
from transforms.documents import Resolved
from transforms.records import Failure, GuardCount

MAX_EXAMPLES = 3
MAX_EXAMPLE_CHARS = 300


def add_up(counts: Iterable[GuardCount]) -> GuardCount:
    """The sum of all counts.

    >>> add_up([GuardCount(1, 2, 3, 4), GuardCount(1, 1, 1, 1)]).failed
    4
    """
    parts = list(counts)
    reasons: Counter[str] = Counter()
    for part in parts:
        reasons.update(part.reasons)
    return GuardCount(
        vanished=sum(part.vanished for part in parts),
        listed=sum(part.listed for part in parts),
        failed=sum(part.failed for part in parts),
        work_chars=sum(part.work_chars for part in parts),
        reasons=dict(sorted(reasons.items())),
        examples=tuple(sorted({example for part in parts for example in part.examples})[:MAX_EXAMPLES]),
        n_empty_gone=sum(part.n_empty_gone for part in parts),
        n_empty_new=sum(part.n_empty_new for part in parts),
        work_contents=sum(part.work_contents for part in parts),
        parts=sum(part.parts for part in parts),
        parts_chars=sum(part.parts_chars for part in parts),
        parts_contents=sum(part.parts_contents for part in parts),
    )


def count_documents(resolved: Resolved) -> GuardCount:
    """What the guards need to know of one shard's documents."""
    outcomes = resolved.outcomes
    return GuardCount(
        listed=outcomes.get("listed", 0),
        failed=outcomes.get("failed", 0),
        reasons=failure_reasons(outcomes),
        examples=tuple(uri[:MAX_EXAMPLE_CHARS] for uri in sorted({f.uri for f in resolved.failures})[:MAX_EXAMPLES]),
        n_empty_gone=resolved.n_empty_gone,
        n_empty_new=resolved.n_empty_new,
    )


def failure_reasons(outcomes: Mapping[str, int]) -> dict[str, int]:
    """The counts of failed documents by stage and reason, out of all outcomes.

    >>> failure_reasons({"failed": 2, "failed:read:broken_pdf": 2})
    {'read:broken_pdf': 2}
    """
    prefix = "failed:"
    return {name.removeprefix(prefix): n for name, n in outcomes.items() if name.startswith(prefix)}


def refusal(context: RunContext, total: GuardCount) -> str:
    """Why the run must not go on, in one line; empty where it may."""
    listed = total.listed + context.n_unchanged
    vanished = total.vanished + max(0, total.n_empty_gone - total.n_empty_new)
    return _too_many_vanished(context, vanished) or too_many_failures(
        context, total.failed, listed, total.reasons, total.examples
    )


def _too_many_vanished(context: RunContext, vanished: int) -> str:
    limit = context.limits.max_delete_share
    known = context.n_known_documents
    if context.limits.accept_deletes or not known or vanished <= limit * known:
        return ""
    return (
        f"{vanished} of {known} known documents vanished, over max_delete_share = {limit:.0%}; nothing was deleted. "
        "Check the input patterns, or run again with --accept-deletes"
    )


def too_many_failures(
    context: RunContext, failed: int, listed: int, reasons: Mapping[str, int], examples: Sequence[str] = ()
) -> str:
    """Why `failed` of `listed` documents are too many; empty where they are not."""
    if failed <= max_failed(context.limits.max_failures, listed):
        return ""
    by_reason = ", ".join(
        f"{n} {reason}" for reason, n in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    )
    named = f", among them {', '.join(ascii(example) for example in examples)}" if examples else ""
    return (
        f"{failed} of {listed} documents failed, over max_failures = {context.limits.max_failures} "
        f"({by_reason}{named}); nothing was published. Mend them or raise --max-failures"
    )


def max_failed(setting: str, listed: int) -> float:
    """The number of failures a setting such as '5%' or '10' allows.

    >>> max_failed("5%", 200), max_failed("3", 200)
    (10.0, 3.0)
    """
    if setting.endswith("%"):
        return float(setting[:-1]) / 100 * listed
    return float(setting)


def failed_contents(failures: Iterable[Failure]) -> dict[str, Failure]:
    """The contents of which nothing can be served: not cut, or not one unit with a sound vector."""
    failed: dict[str, Failure] = {}
    bad_units: dict[str, set[int]] = {}
    for failure in sorted(failures, key=lambda failure: (failure.content_id, failure.stage, failure.vector_id)):
        if failure.is_served:
            continue
        if failure.vector_id < 0:
            failed.setdefault(failure.content_id, failure)
            continue
        bad = bad_units.setdefault(failure.content_id, set())
        bad.add(failure.vector_id)
        if len(bad) >= failure.n_of:
            failed.setdefault(failure.content_id, failure)
    return failed


def unfinished_contents(failures: Iterable[Failure]) -> set[str]:
    """The contents that are served as they could be made without an answer that another run may get."""
    return {failure.content_id for failure in failures if failure.is_served and failure.reason in PASSING_REASONS}


def is_conserved(outcomes: Mapping[str, int]) -> bool:
    """Whether every listed document has exactly one outcome."""
    parts = ("indexed", "unchanged", "empty", "failed")
    return outcomes.get("listed", 0) == sum(outcomes.get(part, 0) for part in parts)

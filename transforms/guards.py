"""What stops a run before anything is paid for, and what keeps it from publishing."""

from collections.abc import Iterable, Mapping

from transforms.context import RunContext
from transforms.records import Failure, GuardCount


def add_up(counts: Iterable[GuardCount]) -> GuardCount:
    """The sum of all counts.

    >>> add_up([GuardCount(1, 2, 3, 4), GuardCount(1, 1, 1, 1)])
    GuardCount(vanished=2, listed=3, failed=4, work_chars=5)
    """
    vanished = listed = failed = work_chars = 0
    for count in counts:
        vanished += count.vanished
        listed += count.listed
        failed += count.failed
        work_chars += count.work_chars
    return GuardCount(vanished, listed, failed, work_chars)


def refusal(context: RunContext, total: GuardCount) -> str:
    """Why the run must not go on, in one line; empty where it may."""
    return _too_many_vanished(context, total.vanished) or too_many_failures(
        context, total.failed, total.listed + context.n_unchanged
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


def too_many_failures(context: RunContext, failed: int, listed: int) -> str:
    """Why `failed` of `listed` documents are too many; empty where they are not."""
    allowed = max_failed(context.limits.max_failures, listed)
    if failed <= allowed:
        return ""
    return (
        f"{failed} of {listed} documents failed, over max_failures = {context.limits.max_failures}; nothing was published. "
        "See the failures listed by reason, mend them, or raise --max-failures"
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
        if failure.vector_id < 0:
            failed.setdefault(failure.content_id, failure)
            continue
        bad = bad_units.setdefault(failure.content_id, set())
        bad.add(failure.vector_id)
        if len(bad) >= failure.n_of:
            failed.setdefault(failure.content_id, failure)
    return failed


def is_conserved(outcomes: Mapping[str, int]) -> bool:
    """Whether every listed document has exactly one outcome."""
    parts = ("indexed", "unchanged", "empty", "failed")
    return outcomes.get("listed", 0) == sum(outcomes.get(part, 0) for part in parts)

"""One run from the driver's side: what must happen before the graph starts, and what is said after it ended."""

import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import msgspec

from models.errors import ConflictError, RefusedError, SettingsError
from pipelines.beam_options import beam_arguments, budget_share
from pipelines.config import Settings
from pipelines.progress import Progress
from pipelines.run_context import make_context
from pipelines.run_graph import run_graph
from pipelines.run_plan import check_recipes, find_changes, touched_shards
from pipelines.run_progress import RunProgress
from transforms.attempts import dead_runs, spent_by, unsettled
from transforms.changes import Changes, write_changes
from transforms.context import RunContext, open_store
from transforms.listing import ListedFile, list_files
from transforms.llm_bill import llm_bill
from transforms.outcome import Outcome, read_outcome
from transforms.spending import DETECTED, spent_in
from transforms.store.files import Store
from transforms.store.lease import RUNS, Lease
from transforms.store.manifest import Manifest
from transforms.store.pointer import check_publishable, read_pointer
from transforms.store.versions import load_manifest
from transforms.work import WorkAhead, read_work_ahead

Watch = Callable[[Callable[[], Progress | None]], AbstractContextManager[None]]


class IngestReport(msgspec.Struct, frozen=True):
    """What a run came to. `seconds` are CPU seconds of each stage over all workers, and `wall` of the whole run.

    `ahead` is what the run knew of its work before it cut anything; None where it found nothing to do.
    `over_limit` is as `over_limit_share` makes it.
    """

    version: str
    published: bool
    documents: dict[str, int]
    units: dict[str, int]
    tokens: dict[str, int]
    flops: float
    seconds: dict[str, float]
    outcomes: dict[str, int]
    llm: dict[str, float] = {}
    ahead: WorkAhead | None = None
    over_limit: dict[str, float] = msgspec.field(default_factory=lambda: over_limit_share({}, {}))

    def to_json(self) -> dict[str, Any]:
        """The documented keys of `corpusmill ingest --json`."""
        builtins: dict[str, Any] = msgspec.to_builtins(self)
        del builtins["ahead"]
        return builtins


def run_ingest(
    settings: Settings, root: str, beam_args: list[str] | None = None, watch: Watch | None = None
) -> IngestReport:
    """Bring the index under `root` up to date with the files that match `settings.reading.input`.

    Raises `SettingsError` before anything starts, `RefusedError` where a guard or gate stopped the run, and
    `ConflictError` where another run published first; the old version is current after each of them.
    """
    started = time.monotonic()
    beam_args = beam_arguments(beam_args or [])
    store = open_store(local_root(root))
    check_publishable(store)
    base, sha256 = current_version(store)
    listing = list_input(settings, store.root, base)
    budget = settings.llm_budget
    share = budget_share(budget.budget_processes, beam_args, budget.is_limited)
    context = make_context(settings, store, base, sha256, listing, share)
    check_recipes(context, base)
    touched = touched_shards(context, base)
    changes = find_changes(context, base, listing, has_other_work=any(touched))
    context = dataclasses.replace(context, n_unchanged=changes.n_unchanged)
    if base is not None and changes.is_empty and not any(touched):
        return _nothing_changed(context, base, changes, started)
    with Lease(store, context.run):
        outcome = _run(context, changes, touched, beam_args, watch)
        _raise_refusal(outcome)
        ahead = read_work_ahead(context)
        _sweep(store, outcome.settled_runs)
    return _report(outcome, started, ahead)


def over_limit_share(outcomes: Mapping[str, int], units: Mapping[str, int]) -> dict[str, float]:
    """`units` over the encoder's limit before the cap split them, `inputs` whose end it did not read, and their share.

    The share is of the units that the run cut. Of what was cut here only units are over the limit, which are split.

    >>> over_limit_share({"over_limit_units": 3}, {"total": 90, "encoded": 8, "reused": 4})
    {'units': 3, 'inputs': 0, 'share': 0.25}
    """
    n_units, n_inputs = outcomes.get("over_limit_units", 0), outcomes.get("over_limit_inputs", 0)
    n_cut = units.get("encoded", 0) + units.get("reused", 0)
    return {"units": n_units, "inputs": n_inputs, "share": min(1.0, (n_units + n_inputs) / n_cut) if n_cut else 0.0}


def local_root(root: str) -> str:
    """`root`, absolute where it is a local path. `SettingsError` where it is empty."""
    if not root.strip():
        raise SettingsError("the index's folder is empty; name one after --output")
    return root if "://" in root else os.path.abspath(root)


def current_version(store: Store) -> tuple[Manifest | None, str]:
    """The manifest that is current, none before a first run, and its sha256."""
    pointer = read_pointer(store)
    return (load_manifest(store, pointer.version), pointer.manifest_sha256) if pointer else (None, "")


def list_input(settings: Settings, root: str, base: Manifest | None) -> list[ListedFile]:
    """The objects that match the settings' patterns; `SettingsError` where a first run would find none."""
    patterns = tuple(
        pattern if "://" in pattern else os.path.abspath(pattern) + "/" * pattern.endswith("/")
        for pattern in settings.reading.input
    )
    listing = list_files(patterns, exclude=root)
    if not listing and base is None:
        raise SettingsError(
            f"input = {' '.join(settings.reading.input)} matches no file outside {root}; check the patterns"
        )
    return listing


def _run(
    context: RunContext,
    changes: Changes,
    touched: tuple[list[int], list[int]],
    beam_args: list[str],
    watch: Watch | None,
) -> Outcome:
    paths = write_changes(context, changes)
    leftovers = [
        file.path for file in context.store.list("runs") if file.path.endswith(".arrow") and "/vectors/" in file.path
    ]
    progress = RunProgress(context, changes)
    with watch(progress.poll) if watch else nullcontext():
        run_graph(context, paths, leftovers, touched, beam_args)
    outcome = read_outcome(context)
    if outcome is None:
        raise RefusedError("the run ended without an outcome; the old version is still current. Run again")
    return outcome


def _raise_refusal(outcome: Outcome) -> None:
    if outcome.is_conflict:
        raise ConflictError(outcome.refused)
    if outcome.refused:
        raise RefusedError(outcome.refused)


def _sweep(store: Store, runs: Iterable[str]) -> None:
    """Remove what dead runs left, when nobody can use it any more."""
    for run in runs:
        store.delete_folder(f"{RUNS}/{run}")


def _nothing_changed(context: RunContext, base: Manifest, changes: Changes, started: float) -> IngestReport:
    store = context.store
    dead = dead_runs(store, own="")
    to_settle = unsettled(dead, base)
    wasted = spent_by(store, to_settle) + spent_in(store, to_settle)[DETECTED]
    bill = llm_bill(context, to_settle, ())
    _sweep(store, dead)
    documents = dict.fromkeys(("listed", "indexed", "unchanged", "empty", "failed", "deleted", "stale"), 0)
    documents |= {"listed": changes.n_unchanged, "unchanged": changes.n_unchanged}
    units = {"total": sum(shard.n_units for shard in base.shards), "encoded": 0, "reused": 0, "removed": 0}
    tokens = {**dict.fromkeys(("cut", "detected", "encoded", "padded_slots"), 0), "wasted": wasted, **bill.tokens}
    seconds = {**dict.fromkeys(("read", "detect", "cut", "encode", "index"), 0.0), "wall": time.monotonic() - started}
    return IngestReport(base.version, False, documents, units, tokens, bill.flops, seconds, {}, dict(bill.totals))


def _report(outcome: Outcome, started: float, ahead: WorkAhead | None) -> IngestReport:
    seconds = {**outcome.seconds, "wall": time.monotonic() - started}
    return IngestReport(
        outcome.version, outcome.published, outcome.documents, outcome.units, outcome.tokens,
        outcome.flops + outcome.detection_flops + outcome.llm_flops, seconds, outcome.outcomes, outcome.llm,
        ahead,
        over_limit_share(outcome.outcomes, outcome.units),
    )  # fmt: skip

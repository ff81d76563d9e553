"""One run from the driver's side: what must happen before the graph starts, and what is said after it ended."""

import dataclasses
import os
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec

from models.encoder import encoder_identity, encoder_parameters, encoder_prompts
from models.errors import ConflictError, CorpusmillError, RefusedError, SettingsError
from models.model_files import read_json, resolve_model
from models.settings import EncoderSettings
from models.tokenizer import Tokenizer, load_tokenizer
from pipelines.config import Settings
from pipelines.progress import Progress
from pipelines.run_progress import RunProgress
from transforms.changes import Changes, compare, failed_late, known_files, write_changes
from transforms.chunking import make_cutter
from transforms.context import EncoderCosts, RunContext, open_store
from transforms.extraction import extractor_identity, format_of, is_table
from transforms.layout import first_document_shards, first_shards
from transforms.listing import ListedFile, list_files, total_bytes
from transforms.outcome import Outcome, read_outcome
from transforms.recipes import Recipe, changed_parts, changed_stages, make_recipes
from transforms.splitting import split_document_shards, split_shards
from transforms.store.files import Store
from transforms.store.lease import Lease, expired_runs
from transforms.store.manifest import Manifest
from transforms.store.pointer import check_publishable, read_pointer
from transforms.store.segments import read_table
from transforms.store.versions import load_manifest

Watch = Callable[[Callable[[], Progress | None]], AbstractContextManager[None]]
PACKAGES = (
    "apache-beam",
    "faiss-cpu",
    "faiss-gpu-cuvs",
    "numpy",
    "pyarrow",
    "sentence-transformers",
    "tokenizers",
    "torch",
)


class IngestReport(msgspec.Struct, frozen=True):
    """What a run came to. `seconds` are CPU seconds of each stage over all workers, and `wall` of the whole run."""

    version: str
    published: bool
    documents: dict[str, int]
    units: dict[str, int]
    tokens: dict[str, int]
    flops: float
    seconds: dict[str, float]
    outcomes: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """The documented keys of `corpusmill ingest --json`."""
        builtins: dict[str, Any] = msgspec.to_builtins(self)
        return builtins


def run_ingest(
    settings: Settings, root: str, beam_args: list[str] | None = None, watch: Watch | None = None
) -> IngestReport:
    """Bring the index under `root` up to date with the files that match `settings.reading.input`.

    Raises `SettingsError` before anything starts, `RefusedError` where a guard or gate stopped the run, and
    `ConflictError` where another run published first; the old version is current after each of them.
    """
    started = time.monotonic()
    store = open_store(_local_root(root))
    check_publishable(store)
    base, sha256 = _current(store)
    listing = _list(settings, store.root, base)
    context = _context(settings, store, base, sha256, listing)
    _check_recipes(context, base)
    changes = _compare(context, base, listing)
    context = dataclasses.replace(context, n_unchanged=changes.n_unchanged)
    touched = _touched(context, base)
    if base is not None and changes.is_empty and not any(touched):
        _sweep_dead_runs(store, context.run)
        return _nothing_changed(base, changes, started)
    with Lease(store, context.run):
        outcome = _run(context, changes, touched, beam_args or [], watch)
        _raise_refusal(outcome)
        _sweep_dead_runs(store, context.run)
    return _report(outcome, started)


def _local_root(root: str) -> str:
    return root if "://" in root else os.path.abspath(root)


def _current(store: Store) -> tuple[Manifest | None, str]:
    pointer = read_pointer(store)
    return (load_manifest(store, pointer.version), pointer.manifest_sha256) if pointer else (None, "")


def _list(settings: Settings, root: str, base: Manifest | None) -> list[ListedFile]:
    patterns = tuple(
        pattern if "://" in pattern else os.path.abspath(pattern) + "/" * pattern.endswith("/")
        for pattern in settings.reading.input
    )
    listing = list_files(patterns, exclude=root)
    if not listing and base is None:
        raise SettingsError(f"input = {' '.join(settings.reading.input)} matches no file; check the patterns")
    return listing


def _context(
    settings: Settings, store: Store, base: Manifest | None, sha256: str, listing: list[ListedFile]
) -> RunContext:
    tokenizer = load_tokenizer(settings.encoder)
    prompt_tokens = _prompt_tokens(settings.encoder, tokenizer)
    identity = encoder_identity(settings.encoder)
    cutter = make_cutter(settings.chunking, tokenizer, prompt_tokens)
    recipes = make_recipes(
        {"extract": extractor_identity(), "cut": cutter.identity, "encode": identity, "index": _index_parts(settings)}
    )
    return RunContext(
        root=store.root,
        run=f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}",
        base=base.version if base else "",
        base_sha256=sha256,
        reading=settings.reading,
        chunking=settings.chunking,
        encoder=settings.encoder,
        index=settings.index,
        limits=settings.run,
        recipes=recipes,
        document_shards=tuple(split_document_shards(base.document_shards) if base else _document_shards(listing)),
        shards=tuple(_shards(settings, base, listing)),
        dimension=int(identity["dimension"]),
        prompt_tokens=prompt_tokens,
        costs=encoder_costs(settings.encoder),
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        n_known_documents=_known_documents(base),
        encoder_identity=identity,
        libraries=_libraries(),
    )


def _prompt_tokens(settings: EncoderSettings, tokenizer: Tokenizer) -> int:
    prompt = encoder_prompts(settings)[0]
    return int(tokenizer.count([prompt])[0]) if prompt else 0


def _index_parts(settings: Settings) -> dict[str, Any]:
    from transforms.indexing.recipe import VERSION

    parts = settings.index.model_dump(include={"index", "min_ivf_units", "pq_bytes"})
    return {**parts, "version": VERSION}


def encoder_costs(settings: EncoderSettings) -> EncoderCosts:
    """What the ledger needs to know of an encoder, read from its files."""
    if settings.encoder == "hashing":
        return EncoderCosts()
    config = read_json(resolve_model(settings) / "config.json")
    size, layers = int(config.get("hidden_size", 0)), int(config.get("num_hidden_layers", 0))
    return EncoderCosts(encoder_parameters(settings), size, layers)


def _document_shards(listing: list[ListedFile]) -> list[Any]:
    tables = [file for file in listing if is_table(format_of(file.file, None) or "")]
    return list(first_document_shards(len(listing) - len(tables), total_bytes(tables)))


def _shards(settings: Settings, base: Manifest | None, listing: list[ListedFile]) -> list[Any]:
    if base is not None:
        return list(split_shards(base.shards, settings.index.shard_chars))
    return list(first_shards(total_bytes(listing), settings.index.shard_chars))


def _known_documents(base: Manifest | None) -> int:
    return sum(shard.documents.n_rows for shard in base.document_shards if shard.documents) if base else 0


def _libraries() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _check_recipes(context: RunContext, base: Manifest | None) -> None:
    """`SettingsError` where a changed recipe would encode more of what is stored again than was accepted."""
    if base is None or context.limits.accept_recipe_change:
        return
    changed = [stage for stage in changed_stages(context.recipes, base.recipes) if stage in ("cut", "encode")]
    n_units = sum(shard.n_units for shard in base.shards)
    if not changed or not n_units or context.limits.max_reencode_share >= 1:
        return
    causes = "; ".join(_cause(context.recipes[stage], stage, base) for stage in changed)
    raise SettingsError(
        f"{causes}: up to {n_units} of {n_units} stored units would be encoded again, over max_reencode_share = "
        f"{context.limits.max_reencode_share:.0%}. Put the setting back, or run again with --accept-recipe-change"
    )


def _cause(recipe: Recipe, stage: str, base: Manifest) -> str:
    parts = ", ".join(changed_parts(recipe, base.recipes.get(stage, {}))) or "unknown parts"
    return f"the {stage} recipe changed ({parts})"


def _compare(context: RunContext, base: Manifest | None, listing: list[ListedFile]) -> Changes:
    store = context.store
    known = known_files(store, base.document_shards) if base else {}
    retry = failed_late(store, [read_table(store, entry) for entry in base.failures]) if base else {}
    recipe_changed = base is not None and base.recipes["extract"]["id"] != context.recipes["extract"].id
    everything = context.limits.full or recipe_changed or _reading_changed(context, base)
    return compare(listing, known, retry, everything)


def _reading_changed(context: RunContext, base: Manifest | None) -> bool:
    """Whether a setting that decides what a table's rows are is another one."""
    if base is None:
        return False
    stored = base.settings.get("reading", {})
    now = context.reading.model_dump(mode="json")
    return any(now[name] != stored.get(name) for name in now if name != "input")


def _touched(context: RunContext, base: Manifest | None) -> tuple[list[int], list[int]]:
    """The document shards and content shards that must be looked at whatever their documents did."""
    if base is None:
        return [], []
    changed = set(changed_stages(context.recipes, base.recipes)) - {"extract"}
    document_ranges = {(shard.first, shard.last) for shard in base.document_shards}
    documents = [i for i, s in enumerate(context.document_shards) if (s.first, s.last) not in document_ranges]
    ranges = {(shard.first, shard.last) for shard in base.shards}
    shards = [i for i, s in enumerate(context.shards) if changed or (s.first, s.last) not in ranges]
    return documents, shards


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


def run_graph(
    context: RunContext,
    paths: list[str],
    leftovers: list[str],
    touched: tuple[list[int], list[int]],
    beam_args: list[str],
) -> None:
    """Build the graph, run it and wait. A failure is one line; Beam's own traceback goes to the log."""
    import logging

    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions
    from apache_beam.runners.runner import PipelineState

    from pipelines.graph import build

    options = PipelineOptions(beam_args or ["--runner=FnApiRunner"], save_main_session=False)
    pipeline = beam.Pipeline(options=options)
    build(pipeline, context, paths, leftovers, *touched)
    try:
        state = pipeline.run().wait_until_finish()
    except CorpusmillError:
        raise
    except Exception as error:  # a runner raises whatever a worker raised, in its own wrapping
        logging.getLogger(__name__).debug("the run failed", exc_info=True)
        raise RefusedError(
            f"the run failed: {_root_cause(error)}; the old version is still current. Run again to go on"
        ) from error
    if state not in (None, PipelineState.DONE):
        raise RefusedError(f"the run ended in state {state}; the old version is still current. Run again to go on")


def _root_cause(error: BaseException) -> str:
    """The last line of what went wrong first, without the wrappings of the runner."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if "Error" in line and ": " in line and not line.startswith("File ")]
    line = (named or lines or [type(error).__name__])[-1]
    return line.split(" [while running")[0][:300]


def _raise_refusal(outcome: Outcome) -> None:
    if outcome.is_conflict:
        raise ConflictError(outcome.refused)
    if outcome.refused:
        raise RefusedError(outcome.refused)


def _sweep_dead_runs(store: Store, own: str) -> None:
    """Remove what dead runs left: this run has taken over what it could use."""
    for record in expired_runs(store):
        if record.run != own:
            store.delete_folder(f"runs/{record.run}")


def _nothing_changed(base: Manifest, changes: Changes, started: float) -> IngestReport:
    documents = dict.fromkeys(("listed", "indexed", "unchanged", "empty", "failed", "deleted", "stale"), 0)
    documents |= {"listed": changes.n_unchanged, "unchanged": changes.n_unchanged}
    units = {"total": sum(shard.n_units for shard in base.shards), "encoded": 0, "reused": 0, "removed": 0}
    tokens = dict.fromkeys(("cut", "encoded", "padded_slots", "wasted"), 0)
    seconds = {**dict.fromkeys(("read", "cut", "encode", "index"), 0.0), "wall": time.monotonic() - started}
    return IngestReport(base.version, False, documents, units, tokens, 0.0, seconds, {})


def _report(outcome: Outcome, started: float) -> IngestReport:
    seconds = {**outcome.seconds, "wall": time.monotonic() - started}
    return IngestReport(
        outcome.version, outcome.published, outcome.documents, outcome.units, outcome.tokens, outcome.flops, seconds,
        outcome.outcomes,
    )  # fmt: skip

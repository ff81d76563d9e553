"""What each command does. Every command takes parsed arguments and returns an `Outcome`; none prints."""

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from models.errors import DamagedFileError, SettingsError, StoreError
from pipelines import views
from pipelines.arguments import build_parser, flags_of, setting_overrides
from pipelines.config import Settings, load_settings, setting_fields, settings_schema
from pipelines.output import Outcome, complain
from pipelines.progress import watch_progress

if TYPE_CHECKING:
    from models.settings import EncoderSettings
    from transforms.store.files import Store
    from transforms.store.manifest import Manifest


def run_command(name: str, arguments: argparse.Namespace, beam_flags: list[str]) -> Outcome:
    """Run the command called `name`; `beam_flags` are for those that can run as a pipeline."""
    if name in ("ingest", "evaluate", "audit"):
        return {"ingest": ingest, "evaluate": evaluate, "audit": audit}[name](arguments, beam_flags)
    commands: dict[str, Callable[[argparse.Namespace], Outcome]] = {
        "search": search,
        "status": status,
        "verify": verify,
        "versions": versions,
        "rollback": rollback,
        "gc": gc,
        "chunk": chunk,
        "plan": plan,
        "calibrate": calibrate,
        "advise": advise,
        "sweep": sweep,
        "boundaries": boundaries,
        "config": config,
    }
    return commands[name](arguments)


def ingest(arguments: argparse.Namespace, beam_flags: list[str]) -> Outcome:
    """Bring an index up to date with its corpus."""
    from pipelines.beam_options import beam_arguments

    settings = _settings(arguments)
    if not settings.reading.input:
        raise SettingsError("no input: name file patterns after --input, or as input in section reading of --config")
    own_flags = flags_of(build_parser(only="ingest"), "ingest")
    beam_args = beam_arguments(beam_flags, own_flags)
    if arguments.dry_run:
        return _dry_run(settings, arguments)
    if arguments.prices is not None or arguments.turnover is not None:
        raise SettingsError("--prices and --turnover are for --dry-run; leave them out or add it")
    from pipelines.ingest import run_ingest
    from pipelines.planned import planned_by_counts, read_planned
    from transforms.listing import reaches_into

    if reaches_into(settings.reading.input, arguments.output):
        complain(f"{arguments.output} lies within the input; what is in it is the index, and is not read")
    planned = read_planned(arguments.planned) if arguments.planned is not None else None
    done = run_ingest(settings, arguments.output, beam_args, watch_progress)
    if planned is None and done.ahead is not None:
        planned = planned_by_counts(settings, done.ahead)
    report = done.to_json() | ({"planned": planned.beside(done)} if planned else {})
    return Outcome(report, partial(views.show_report, report, arguments.output))


def _beam_args(command: str, beam_flags: list[str]) -> list[str] | None:
    """Beam's flags, checked; None where there are none, and the command works in this process."""
    if not beam_flags:
        return None
    from pipelines.beam_options import beam_arguments

    return beam_arguments(beam_flags, flags_of(build_parser(only=command), command))


def _dry_run(settings: Settings, arguments: argparse.Namespace) -> Outcome:
    from pipelines.dry_run import dry_run
    from pipelines.plan_view import show_dry_run

    report = dry_run(settings, arguments.output, arguments.prices, arguments.turnover)
    return Outcome(report.to_json(), partial(show_dry_run, report, arguments.output))


def search(arguments: argparse.Namespace) -> Outcome:
    """Answer a question from an index."""
    if not arguments.question.strip():
        raise SettingsError("the question is empty; put it in quotes after ROOT")
    encoder = _encoder_of_version(arguments)
    from pipelines.search import open_index

    index = open_index(arguments.root, arguments.version, encoder)
    hits = [msgspec.to_builtins(hit) for hit in index.search([arguments.question], arguments.k)[0]]
    if index.outcomes["queries_over_limit"]:
        complain("the question is over the encoder's limit; its end was not read")
    payload = {"version": index.version, "hits": hits, **_fan_in(index.fan_in, arguments.k)}
    return Outcome(payload, partial(views.show_hits, hits, index.fan_in))


def _fan_in(fan_in: float | None, k: int) -> dict[str, float | None]:
    """Units matched for each passage served, and what follows for `k`: passages behind k hits, hits for k passages."""
    from transforms.planning.geometry import distinct_parents, hits_for_parents

    if fan_in is None:
        return {"fan_in": None, "passages_of_k_hits": None, "hits_for_k_passages": None}
    hits, passages = round(hits_for_parents(k, fan_in)), distinct_parents(k, fan_in)
    return {"fan_in": fan_in, "passages_of_k_hits": passages, "hits_for_k_passages": hits}


def status(arguments: argparse.Namespace) -> Outcome:
    """Show the current version, what it holds, and the runs that are going on."""
    from transforms.store.status import status as look_at

    store = _store(arguments.root)
    manifest, store_status = _manifest(store), look_at(store)
    files = manifest.files()
    payload = {
        "version": manifest.version,
        "base": manifest.base,
        "created_at": manifest.created_at,
        "documents": manifest.documents,
        "units": manifest.units,
        "tokens": manifest.tokens,
        "flops": manifest.flops,
        "llm": manifest.llm,
        "seconds": manifest.seconds,
        "outcomes": manifest.outcomes,
        "encoder": manifest.encoder,
        "index_kinds": sorted({shard.index_kind for shard in manifest.shards if shard.index_kind}),
        "recall_at_10": manifest.gates.recall_at_10,
        "drift": manifest.gates.drift,
        "n_shards": len(manifest.shards),
        "n_files": len(files),
        "n_bytes": sum(file.n_bytes for file in files),
        "failures": [file.path for file in manifest.failures],
        "ledger": [file.path for file in manifest.ledger],
        "n_versions": store_status.n_versions,
        "n_stored_files": store_status.n_files,
        "n_stored_bytes": store_status.n_bytes,
        "live_runs": [lease.run for lease in store_status.live_runs],
        "interrupted_runs": list(store_status.interrupted_runs),
    }
    return Outcome(payload, partial(views.show_status, payload))


def verify(arguments: argparse.Namespace) -> Outcome:
    """Recompute what a version promises; exit code 1 where anything is not so."""
    from transforms.store.verify import verify as find_faults

    store = _store(arguments.root)
    faults = [msgspec.to_builtins(fault) for fault in find_faults(store, arguments.version)]
    version = arguments.version or _current_version(store)
    if version is None and not faults:
        raise _no_index(store)
    payload = {"version": version, "sound": not faults, "faults": faults}
    return Outcome(payload, partial(views.show_faults, payload), exit_code=1 if faults else 0)


def versions(arguments: argparse.Namespace) -> Outcome:
    """List the versions of an index."""
    from transforms.store.versions import list_versions

    store = _store(arguments.root)
    rows = [msgspec.to_builtins(info) for info in list_versions(store)]
    if not rows:
        raise _no_index(store)
    return Outcome({"versions": rows}, partial(views.show_versions, rows))


def rollback(arguments: argparse.Namespace) -> Outcome:
    """Make an earlier version current again."""
    from transforms.store.versions import rollback as roll_back

    store = _store(arguments.root)
    if not store.list("versions"):
        raise _no_index(store)
    was = _current_version(store)
    now = roll_back(store, arguments.version).version
    before = f"it was {was}" if was else "none was before, or its pointer was damaged"
    return Outcome({"version": now, "was": was}, lambda console: console.print(f"{now} is current; {before}"))


def _current_version(store: "Store") -> str | None:
    """None where nothing was published, or CURRENT is damaged, which a rollback puts right."""
    from transforms.store.pointer import read_pointer

    try:
        pointer = read_pointer(store)
    except DamagedFileError:
        return None
    return pointer.version if pointer else None


def gc(arguments: argparse.Namespace) -> Outcome:
    """Remove old versions and files that nothing refers to."""
    from transforms.answers_garbage import collect_answers
    from transforms.store.garbage import collect

    store = _store(arguments.root)
    done = collect(store, arguments.keep, arguments.grace)
    answers = collect_answers(store, done.kept_versions, max(arguments.grace, arguments.answer_grace))
    removed = {**msgspec.to_builtins(done), **msgspec.to_builtins(answers)}
    return Outcome(removed, partial(views.show_removed, removed))


def chunk(arguments: argparse.Namespace) -> Outcome:
    """Show how one document is cut into units."""
    from pipelines.chunk_view import cut_file
    from pipelines.run_context import local_questioning

    settings = _settings(arguments)
    view = cut_file(
        arguments.file, settings.reading, settings.chunking, settings.encoder, settings.semantic,
        explains=arguments.explain, questioning=local_questioning(settings),
    )  # fmt: skip
    return Outcome(view.to_json(), view.show)


def plan(arguments: argparse.Namespace) -> Outcome:
    """Price chunking policies for a corpus known by counts or by a sample."""
    from pipelines.plan import PlanRequest, make_plan
    from pipelines.plan_view import show_plan

    request = PlanRequest(
        arguments.documents,
        arguments.tokens_per_document,
        arguments.length_histogram,
        tuple(arguments.sample or ()),
        arguments.prices,
        arguments.turnover,
        arguments.span_tokens,
    )
    made = make_plan(_settings(arguments), request)
    return Outcome(made.to_json(), partial(show_plan, made))


def calibrate(arguments: argparse.Namespace) -> Outcome:
    """Choose thresholds of semantic cuts on annotated texts."""
    from pipelines.calibrate import calibrate_folder

    found = calibrate_folder(arguments.folder, _settings(arguments), arguments.span_tokens, arguments.write)
    return Outcome(found.to_json(), found.show)


def evaluate(arguments: argparse.Namespace, beam_flags: list[str]) -> Outcome:
    """Measure an index or a policy on questions whose answers are known."""
    from pipelines.evaluation import evaluate as measure
    from pipelines.evaluation.view import show_evaluation

    overrides = setting_overrides(arguments)
    report = measure(
        arguments.questions,
        arguments.root,
        overrides.pop("input", ()),
        arguments.policy,
        arguments.against,
        version=arguments.version,
        k=arguments.k,
        budget_tokens=arguments.budget_tokens,
        count_with=arguments.count_with,
        max_lost_share=arguments.max_lost_share,
        seed=arguments.seed,
        overrides=overrides,
        watch=watch_progress,
        beam_args=_beam_args("evaluate", beam_flags),
    )
    return Outcome(report.to_json(), partial(show_evaluation, report, arguments.questions, arguments.show))


def advise(arguments: argparse.Namespace) -> Outcome:
    """Recommend how to cut a corpus from what a sample shows."""
    from pipelines.advise import advise as measure
    from pipelines.advise.view import show_advice

    if "input" in setting_overrides(arguments):
        raise SettingsError("--input is for runs; name what to measure after --sample alone")
    report = measure(
        _settings(arguments), arguments.sample, arguments.questions, arguments.write, arguments.prices, watch_progress
    )
    return Outcome(report.to_json(), partial(show_advice, report))


def sweep(arguments: argparse.Namespace) -> Outcome:
    """Tell truncation from dilution by three arms, and compare sizes."""
    from pipelines.sweep import SweepRequest
    from pipelines.sweep import sweep as run
    from pipelines.sweep.view import show_sweep

    names = SweepRequest.__dataclass_fields__
    given = {name: value for name, value in vars(arguments).items() if name in names}
    report = run(_settings(arguments), SweepRequest(**given), watch_progress)
    return Outcome(report.to_json(), partial(show_sweep, report))


def audit(arguments: argparse.Namespace, beam_flags: list[str]) -> Outcome:
    """Measure what the encoder would not read of a corpus or of given chunks."""
    from pipelines.evaluation.audit import audit as measure

    beam_args = _beam_args("audit", beam_flags)
    if beam_args is not None and arguments.questions is not None:
        raise SettingsError("--questions are asked of inputs in memory; leave it out, or leave out Beam's flags")
    if arguments.root is not None:
        return _audit_root(arguments, beam_args)
    if arguments.version is not None:
        raise SettingsError(f"--version {arguments.version!a} is one of an index; name its folder by --root")
    settings = _settings(arguments)
    if beam_args is not None:
        from pipelines.evaluation.audit_scattered import audit_scattered

        report = audit_scattered(settings.reading, settings.encoder, arguments.document_column, beam_args)
        return Outcome(report.to_json(), report.show)
    report = measure(
        settings.reading, settings.encoder, arguments.document_column, arguments.questions, arguments.k, watch_progress
    )
    return Outcome(report.to_json(), report.show)


def _audit_root(arguments: argparse.Namespace, beam_args: list[str] | None) -> Outcome:
    from pipelines.evaluation.audit_root import audit_root

    flags = setting_overrides(arguments)
    others = [name for name in flags if setting_fields()[name].section != "encoder"]
    if others or arguments.config is not None or arguments.document_column is not None:
        raise SettingsError(f"--root {arguments.root!a} has its own corpus; leave out --input and what reads it")
    encoder = _encoder_of_version(arguments)
    if beam_args is not None:
        from pipelines.evaluation.audit_scattered import audit_root_scattered

        report = audit_root_scattered(arguments.root, arguments.version, encoder, beam_args)
        return Outcome(report.to_json(), report.show)
    report = audit_root(arguments.root, arguments.version, encoder, arguments.questions, arguments.k)
    return Outcome(report.to_json(), report.show)


def boundaries(arguments: argparse.Namespace) -> Outcome:
    """Compare a chunker's cuts with marked texts."""
    from pipelines.evaluation.boundaries import measure_boundaries
    from pipelines.run_context import local_questioning
    from transforms.settings import RewritingSettings

    settings = _settings(arguments).model_copy(update={"rewriting": RewritingSettings()})  # which moves no cut
    report = measure_boundaries(
        arguments.folder, settings.chunking, settings.encoder, arguments.level, settings.semantic,
        local_questioning(settings),
    )  # fmt: skip
    return Outcome(report.to_json(), report.show)


def config(arguments: argparse.Namespace) -> Outcome:
    """Show every setting, or the JSON Schema of a settings file."""
    if arguments.schema:
        schema = settings_schema()
        return Outcome(schema, lambda console: console.print_json(data=schema, highlight=False))
    settings = _settings(arguments)
    rows = {setting.name: views.setting_row(setting, settings) for setting in setting_fields().values()}
    return Outcome({"settings": rows}, partial(views.show_settings, rows))


def _settings(arguments: argparse.Namespace) -> Settings:
    return load_settings(arguments.config, setting_overrides(arguments))


def _store(root: str) -> "Store":
    from transforms.store.files import Store

    return Store(root)


def _manifest(store: "Store", version: str | None = None) -> "Manifest":
    from transforms.store.versions import load_manifest

    manifest = load_manifest(store, version)
    if manifest is None:
        raise _no_index(store)
    return manifest


def _no_index(store: "Store") -> StoreError:
    return StoreError(f"no index in {store.root}; `corpusmill ingest --output` makes one")


def _encoder_of_version(arguments: argparse.Namespace) -> "EncoderSettings | None":
    """The version's own encoder settings with the flags over them; None, which means just the same, without flags."""
    flags = setting_overrides(arguments)
    if not flags:
        return None
    stored = _manifest(_store(arguments.root), arguments.version).encoder.get("settings", {})
    return load_settings(None, stored | flags).encoder

"""What makes an index and asks it. Every command takes parsed arguments and returns an `Outcome`; none prints."""

import argparse
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from models.errors import SettingsError
from models.llm.records import DENIED
from pipelines import views
from pipelines.arguments import build_parser, flags_of
from pipelines.commands.common import encoder_of_version, manifest_of, settings_of, store_at
from pipelines.config import Settings, setting_fields, settings_schema
from pipelines.flags import setting_overrides
from pipelines.output import Outcome, complain
from pipelines.progress import watch_progress
from pipelines.unused_flags import check_flags_are_used
from pipelines.wording import n_of

if TYPE_CHECKING:
    pass


def ingest(arguments: argparse.Namespace, beam_flags: list[str]) -> Outcome:
    """Bring an index up to date with its corpus."""
    from pipelines.beam_options import beam_arguments

    own_flags = flags_of(build_parser(only="ingest"), "ingest")
    beam_args = beam_arguments(beam_flags, own_flags)  # first: a misspelt --input is no missing input
    settings = settings_of(arguments)
    check_flags_are_used(settings, setting_overrides(arguments))
    if not settings.reading.input:
        raise SettingsError("no input: name file patterns after --input, or as input in section reading of --config")
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
    _complain_of_denial(settings, done.outcomes)
    if planned is None and done.ahead is not None:
        planned = planned_by_counts(settings, done.ahead)
    report = {**done.to_json(), "n_failures": _n_failures(arguments.output)}
    if planned:
        report["planned"] = planned.beside(done)
    return Outcome(report, partial(views.show_report, report, arguments.output))


def _complain_of_denial(settings: Settings, outcomes: Mapping[str, int]) -> None:
    """Some endpoints list their models to anybody, so that a wrong key shows only once texts are asked about."""
    n_denied = sum(count for name, count in outcomes.items() if name.endswith(f".{DENIED}"))
    if n_denied:
        complain(
            f"the language model denied {n_of(n_denied, 'answer')}: check llm_url, llm_model and the key in "
            f"{settings.llm.llm_key_variable}; texts were indexed without them, and the next run asks again"
        )


def _n_failures(root: str) -> int:
    """Dead letters of the current version, failed documents and what documents are served without."""
    return sum(file.n_rows for file in manifest_of(store_at(root)).failures)


def _dry_run(settings: Settings, arguments: argparse.Namespace) -> Outcome:
    from pipelines.dry_run import dry_run
    from pipelines.plan_view import show_dry_run

    report = dry_run(settings, arguments.output, arguments.prices, arguments.turnover)
    return Outcome(report.to_json(), partial(show_dry_run, report, arguments.output))


def search(arguments: argparse.Namespace) -> Outcome:
    """Answer a question from an index."""
    if not arguments.question.strip():
        raise SettingsError("the question is empty; put it in quotes after ROOT")
    encoder = encoder_of_version(arguments)
    from pipelines.search import open_index

    index = open_index(arguments.root, arguments.version, encoder)
    hits = [msgspec.to_builtins(hit) for hit in index.search([arguments.question], arguments.k, arguments.uri)[0]]
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


def chunk(arguments: argparse.Namespace) -> Outcome:
    """Show how one document is cut into units."""
    from pipelines.chunk_view import cut_file
    from pipelines.run_context import local_questioning

    settings = settings_of(arguments)
    check_flags_are_used(settings, setting_overrides(arguments))
    if arguments.plot and not arguments.explain:
        raise SettingsError("--plot draws what --explain shows; give both")
    view = cut_file(
        arguments.file, settings.reading, settings.chunking, settings.encoder, settings.semantic,
        explains=arguments.explain, questioning=local_questioning(settings),
    )  # fmt: skip
    if arguments.plot:
        view.plot(arguments.plot)
    return Outcome(view.to_json(), view.show)


def config(arguments: argparse.Namespace) -> Outcome:
    """Show every setting, or the JSON Schema of a settings file."""
    if arguments.schema:
        schema = settings_schema()
        return Outcome(schema, lambda console: console.print_json(data=schema, highlight=False))
    settings = settings_of(arguments)
    rows = {setting.name: views.setting_row(setting, settings) for setting in setting_fields().values()}
    return Outcome({"settings": rows}, partial(views.show_settings, rows))

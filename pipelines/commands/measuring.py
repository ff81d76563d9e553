"""What plans and measures. Every command takes parsed arguments and returns an `Outcome`; none prints."""

import argparse
from functools import partial
from typing import TYPE_CHECKING

from models.errors import SettingsError
from pipelines.commands.common import beam_args_of, encoder_of_version, settings_of
from pipelines.config import setting_fields
from pipelines.flags import setting_overrides
from pipelines.output import Outcome
from pipelines.progress import watch_progress

if TYPE_CHECKING:
    pass


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
    made = make_plan(settings_of(arguments), request)
    return Outcome(made.to_json(), partial(show_plan, made))


def calibrate(arguments: argparse.Namespace) -> Outcome:
    """Choose thresholds of semantic cuts on annotated texts."""
    from pipelines.calibrate import calibrate_folder

    found = calibrate_folder(arguments.folder, settings_of(arguments), arguments.span_tokens, arguments.write)
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
        beam_args=beam_args_of("evaluate", beam_flags),
    )
    return Outcome(report.to_json(), partial(show_evaluation, report, arguments.questions, arguments.show))


def advise(arguments: argparse.Namespace) -> Outcome:
    """Recommend how to cut a corpus from what a sample shows."""
    from pipelines.advise import advise as measure
    from pipelines.advise.view import show_advice

    if "input" in setting_overrides(arguments):
        raise SettingsError("--input is for runs; name what to measure after --sample alone")
    report = measure(
        settings_of(arguments), arguments.sample, arguments.questions, arguments.write, arguments.prices, watch_progress
    )
    return Outcome(report.to_json(), partial(show_advice, report))


def sweep(arguments: argparse.Namespace) -> Outcome:
    """Tell truncation from dilution by three arms, and compare sizes."""
    from pipelines.sweep import SweepRequest
    from pipelines.sweep import sweep as run
    from pipelines.sweep.view import show_sweep

    names = SweepRequest.__dataclass_fields__
    given = {name: value for name, value in vars(arguments).items() if name in names}
    report = run(settings_of(arguments), SweepRequest(**given), watch_progress)
    return Outcome(report.to_json(), partial(show_sweep, report))


def audit(arguments: argparse.Namespace, beam_flags: list[str]) -> Outcome:
    """Measure what the encoder would not read of a corpus or of given chunks."""
    from pipelines.evaluation.audit import audit as measure

    beam_args = beam_args_of("audit", beam_flags)
    if beam_args is not None and arguments.questions is not None:
        raise SettingsError("--questions are asked of inputs in memory; leave it out, or leave out Beam's flags")
    if arguments.root is not None:
        return _audit_root(arguments, beam_args)
    if arguments.version is not None:
        raise SettingsError(f"--version {arguments.version!a} is one of an index; name its folder by --root")
    settings = settings_of(arguments)
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
    encoder = encoder_of_version(arguments)
    if beam_args is not None:
        from pipelines.evaluation.audit_scattered import audit_root_scattered

        report = audit_root_scattered(arguments.root, arguments.version, encoder, beam_args)
        return Outcome(report.to_json(), report.show)
    report = audit_root(arguments.root, arguments.version, encoder, arguments.questions, arguments.k, watch_progress)
    return Outcome(report.to_json(), report.show)


def boundaries(arguments: argparse.Namespace) -> Outcome:
    """Compare a chunker's cuts with marked texts."""
    from pipelines.evaluation.boundaries import measure_boundaries
    from pipelines.run_context import local_questioning
    from transforms.rewriting.settings import RewritingSettings

    settings = settings_of(arguments).model_copy(update={"rewriting": RewritingSettings()})  # which moves no cut
    report = measure_boundaries(
        arguments.folder, settings.chunking, settings.encoder, arguments.level, settings.semantic,
        local_questioning(settings),
    )  # fmt: skip
    return Outcome(report.to_json(), report.show)

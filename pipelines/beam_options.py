"""The flags that are Beam's own: checked against what Beam knows, since Beam itself drops a misspelt one silently."""

import argparse
import os
from collections.abc import Sequence
from typing import NoReturn

from models.errors import SettingsError
from pipelines.wording import suggestion

DEFAULT_RUNNER = "FnApiRunner"
_OF_THIS_MACHINE = frozenset({"fnapi", "direct", "switchingdirect", "bundlebaseddirect", "prism"})
JOB_SERVER_FLAGS = (
    "--execution_mode_for_batch", "--execution_retry_delay", "--max_bundle_size", "--number_of_execution_retries",
    "--object_reuse", "--operator_chaining", "--re_iterable_group_by_key_result",
)  # fmt: skip
"""Flags that Beam's job server for Flink takes and Beam for Python does not know."""


def beam_arguments(flags: Sequence[str], known_here: Sequence[str] = ()) -> list[str]:
    """`flags` as they are handed to Beam, with the FnApiRunner where they name no runner.

    `known_here` are this program's own flags, for suggestions only.

    Raises:
        SettingsError: for a flag Beam does not know, an unknown runner, and the multi-threaded direct mode.
    """
    if not flags:
        return [f"--runner={DEFAULT_RUNNER}"]
    parser = _parser()
    options, unknown = parser.parse_known_args(list(flags))
    if unknown:
        raise SettingsError(_unknown(unknown[0], [*known_here, *_option_strings(parser)]))
    if options.direct_running_mode == "multi_threading":
        raise SettingsError(
            "direct_running_mode = 'multi_threading' is refused, since Beam 2.77 can lose rows in it without an error; "
            "use multi_processing"
        )
    _check_runner(options.runner)
    return [*flags] if options.runner else [*flags, f"--runner={DEFAULT_RUNNER}"]


def worker_processes(beam_args: Sequence[str]) -> int | None:
    """The worker processes that there are at most, by the flags; None for a runner that decides that by itself.

    >>> worker_processes(["--runner=FlinkRunner", "--parallelism=3"]), worker_processes(["--runner=DataflowRunner"])
    (3, None)
    """
    options, _ = _parser().parse_known_args(list(beam_args))
    runner = (options.runner or DEFAULT_RUNNER).lower().removesuffix("runner")
    if runner in _OF_THIS_MACHINE:
        direct = options.direct_num_workers if options.direct_running_mode == "multi_processing" else 1
        return direct or os.cpu_count() or 1
    parallelism, for_each = int(options.parallelism or 0), int(options.sdk_worker_parallelism or 0)
    is_stated = runner in ("flink", "portable") and parallelism > 0 and for_each > 0
    return parallelism * for_each if is_stated else None


def budget_share(n_processes: int | None, beam_args: Sequence[str], is_limited: bool) -> float:
    """Each worker process's share of a budget: of `n_processes` where that is set, else of those that the flags allow.

    :raises SettingsError: there is a budget, and nobody knows among how many it is to be shared.
    """
    found = n_processes or worker_processes(beam_args)
    if found is None and is_limited:
        raise SettingsError(
            "a budget is shared by the worker processes, and the runner alone knows how many it starts; set "
            "budget_processes to the most there can be, such as max_num_workers times the processes of a machine"
        )
    return 1 / (found or 1)


def temp_location(beam_args: Sequence[str]) -> str | None:
    """The folder that the flags name for what passes between workers."""
    place: str | None = _parser().parse_known_args(list(beam_args))[0].temp_location
    return place


def _check_runner(name: str | None) -> None:
    from apache_beam.options.pipeline_options import StandardOptions

    known = list(StandardOptions.KNOWN_RUNNER_NAMES)
    taken = {known_name.lower() for known_name in known}
    if name is None or "." in name or {name.lower(), f"{name.lower()}runner"} & taken:
        return
    raise SettingsError(f"runner = {name!a} must be one of {', '.join(known)}{suggestion(name, known)}")


def _parser() -> argparse.ArgumentParser:
    from apache_beam.options.pipeline_options import PipelineOptions, _BeamArgumentParser

    class Parser(_BeamArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise SettingsError(f"Beam option: {message}")

    parser: argparse.ArgumentParser = Parser(allow_abbrev=False, add_help=False)
    for flag in JOB_SERVER_FLAGS:
        parser.add_argument(flag, nargs="?")
    for options in {str(options): options for options in PipelineOptions.__subclasses__()}.values():
        options._add_argparse_args(parser)
    return parser


def _option_strings(parser: argparse.ArgumentParser) -> list[str]:
    return [flag for action in parser._actions for flag in action.option_strings]


def _unknown(word: str, known: Sequence[str]) -> str:
    flag = word.split("=", 1)[0]
    if not flag.startswith("-"):
        return f"unexpected argument {flag!a}; file patterns follow --input"
    return f"unknown flag {flag!a}{suggestion(flag, known) or '; see corpusmill ingest --help'}"

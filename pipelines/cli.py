"""The program `corpusmill`. Exit codes: 0 done, 1 failed, 2 a mistake in command or settings, 128 + n for signal n."""

import contextlib
import logging
import os
import signal
import sys
from collections.abc import Sequence

from models.errors import CorpusmillError
from pipelines.output import Outcome, complain, make_console, print_json
from pipelines.signals import received, stopping_on_signals

EXIT_SIGNAL = 128
EXIT_BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Standard output carries its answer and nothing else."""
    logging.getLogger().addFilter(_is_for_users)
    words = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in words
    try:
        with stopping_on_signals():
            return _print(_run(words), as_json)
    except CorpusmillError as error:
        return _failed(str(error), error.exit_code, as_json)
    except KeyboardInterrupt:
        number = received() or signal.SIGINT
        how = "interrupted" if number == signal.SIGINT else f"stopped by {signal.Signals(number).name}"
        return _failed(f"{how}; what was published before is still there", EXIT_SIGNAL + number, as_json)


def _failed(line: str, exit_code: int, as_json: bool) -> int:
    complain(line)
    return _print(Outcome({"error": line, "exit_code": exit_code}, lambda console: None, exit_code), as_json)


def _is_for_users(record: logging.LogRecord) -> bool:
    """Beam warns of a client library for BigQuery, which nothing here uses, whenever it is imported."""
    return not record.getMessage().startswith("apitools not found")


def _run(words: list[str]) -> Outcome:
    from pipelines.arguments import build_parser, parse

    arguments, beam_flags = parse(words)
    if arguments.print_version:
        return _version()
    if arguments.command is None:
        build_parser(only="").print_help(sys.stderr)
        return Outcome({}, lambda console: None, exit_code=2)
    from pipelines.commands import run_command

    with contextlib.redirect_stdout(sys.stderr):
        return run_command(arguments.command, arguments, beam_flags)


def _version() -> Outcome:
    from importlib.metadata import version

    text = version("corpusmill")
    return Outcome({"version": text}, lambda console: console.print(f"corpusmill {text}"))


def _print(outcome: Outcome, as_json: bool) -> int:
    """Print an answer on standard output. A reader that has gone, as `head` does, is no failure to complain about."""
    try:
        if as_json:
            print_json(outcome.payload, sys.stdout)
        else:
            outcome.show(make_console(sys.stdout))
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    return outcome.exit_code


if __name__ == "__main__":
    sys.exit(main())

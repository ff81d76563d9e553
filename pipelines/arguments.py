"""The command line: commands, their arguments, and what is left for Beam."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from models.errors import SettingsError
from pipelines import measuring_arguments as measuring
from pipelines import mill_arguments as mill
from pipelines.flags import is_setting
from pipelines.wording import suggestion


@dataclass(frozen=True)
class Command:
    """A command: what it does in one line, its arguments, and whether flags it does not know may be Beam's."""

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    takes_beam_flags: bool = False


class Parser(argparse.ArgumentParser):
    """argparse, except that a mistake is a `SettingsError` of one line, and flags are never abbreviated."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(allow_abbrev=False, **arguments)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print."""
        raise SettingsError(f"{message}; see {self.prog} --help")


def build_parser(only: str | None = None) -> Parser:
    """The whole parser; with `only`, a command's name, no other command's flags, which is much quicker."""
    parser = Parser(prog="corpusmill", description="Turns a corpus into a searchable, incrementally maintained index.")
    parser.add_argument("--version", dest="print_version", action="store_true", help="print the version of corpusmill")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in COMMANDS.values():
        sub = commands.add_parser(command.name, help=command.help, description=_sentence(command.help))
        if only is None or only == command.name:
            command.add_arguments(sub)
            sub.add_argument("--json", action="store_true", help="print one JSON object (its keys: docs/json.md)")
            sub.usage = _usage(sub)
    return parser


def parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """The parsed arguments, and the flags left for Beam.

    Raises:
        SettingsError: for an unknown command or flag, or a value that cannot be.
    """
    name = next((word for word in argv if not word.startswith("-")), None)
    if name is not None and name not in COMMANDS:
        hint = suggestion(name, COMMANDS) or f"; the commands are {', '.join(COMMANDS)}"
        raise SettingsError(f"unknown command {name!a}{hint}")
    parser = build_parser(only=name or "")
    try:
        arguments, rest = parser.parse_known_args(list(argv))
    except SettingsError as error:
        raise _misspelt(argv, flags_of(parser, name)) or error from error
    if rest and not (name and COMMANDS[name].takes_beam_flags):
        flags = flags_of(parser, name)
        raise SettingsError(f"unknown argument {rest[0]!a}{suggestion(rest[0].split('=')[0], flags)}")
    return arguments, rest


def _misspelt(argv: Sequence[str], flags: Sequence[str]) -> SettingsError | None:
    """The flag that is nearly one of `flags`: of a misspelt --output argparse only says that --output is missing."""
    given = [word.split("=")[0] for word in argv if word.startswith("--")]
    missing = set(flags).difference(given)
    close = ((word, suggestion(word, missing)) for word in given if word not in flags)
    return next((SettingsError(f"unknown argument {word!a}{hint}") for word, hint in close if hint), None)


def flags_of(parser: argparse.ArgumentParser, command: str | None) -> list[str]:
    """Every flag of `command`, or the program's own."""
    target = subparsers_of(parser)[command] if command else parser
    return [flag for action in target._actions for flag in action.option_strings]


def subparsers_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    (action,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(action.choices)


def _usage(parser: argparse.ArgumentParser) -> str | None:
    """The usage without settings, which fill a screen before the first word of help; None where there are none."""
    own = [action for action in parser._actions if not is_setting(action.dest)]
    if len(own) == len(parser._actions):
        return None
    formatter = parser._get_formatter()
    formatter.add_usage(None, own, parser._mutually_exclusive_groups, prefix="usage: ")
    words = formatter.format_help().strip().removeprefix("usage: ").replace("%", "%%")
    return f"{words}\n{' ' * len(f'usage: {parser.prog} ')}[--SETTING VALUE ...]"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


COMMANDS = {
    command.name: command
    for command in (
        Command("ingest", "bring an index up to date with its corpus", mill.ingest, takes_beam_flags=True),
        Command("search", "answer a question from an index", mill.search),
        Command("status", "show the current version of an index and what it holds", mill.status),
        Command("failures", "list what the current version could not read, and why", mill.failures),
        Command("verify", "recompute the checksums, counts, spans and ids of a version", mill.verify),
        Command("versions", "list the versions of an index", mill.versions),
        Command("rollback", "make an earlier version current again", mill.rollback),
        Command("gc", "remove old versions and files that nothing refers to", mill.gc),
        Command("chunk", "show how one document is cut into units", mill.chunk),
        Command("plan", "price chunking policies before anything is run", measuring.plan),
        Command("calibrate", "choose thresholds of semantic cuts on annotated texts", measuring.calibrate),
        Command(
            "evaluate", "measure an index or a policy on questions whose answers are known", measuring.evaluate, True
        ),
        Command(
            "advise", "recommend how to cut a corpus from what a sample shows, each with its reason", measuring.advise
        ),
        Command("sweep", "tell truncation from dilution by three arms, and compare sizes", measuring.sweep),
        Command(
            "audit", "measure what the encoder would not read of a corpus or of given chunks", measuring.audit, True
        ),
        Command("boundaries", "compare a chunker's cuts with marked texts", measuring.boundaries),
        Command("config", "show every setting with its value, unit and meaning", mill.config),
    )
}

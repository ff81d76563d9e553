"""The command line: commands, their arguments, and one flag for every setting."""

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from models.errors import SettingsError
from pipelines.wording import suggestion

_SETTING_PREFIX = "setting:"
CUTTING_SECTIONS = ("reading", "chunking", "semantic", "pic", "boundaries", "llm", "llm_server", "llm_budget")
"""The sections that decide what the units of a document are, and what finding them takes."""

_HOURS = {"s": 1 / 3600, "m": 1 / 60, "h": 1.0, "d": 24.0, "w": 168.0}


@dataclass(frozen=True)
class Command:
    """A command: what it does in one line, its arguments, and whether flags it does not know may be Beam's."""

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    takes_beam_flags: bool = False


BEAM_FLAGS = "Any other flag is handed to Apache Beam, such as --runner or --direct_num_workers."


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
    arguments, rest = parser.parse_known_args(list(argv))
    if rest and not (name and COMMANDS[name].takes_beam_flags):
        flags = flags_of(parser, name)
        raise SettingsError(f"unknown argument {rest[0]!a}{suggestion(rest[0].split('=')[0], flags)}")
    return arguments, rest


def flags_of(parser: argparse.ArgumentParser, command: str | None) -> list[str]:
    """Every flag of `command`, or the program's own."""
    target = subparsers_of(parser)[command] if command else parser
    return [flag for action in target._actions for flag in action.option_strings]


def subparsers_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    (action,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(action.choices)


def setting_overrides(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings given as flags, by name, as text."""
    given = vars(arguments).items()
    return {name.removeprefix(_SETTING_PREFIX): text for name, text in given if name.startswith(_SETTING_PREFIX)}


def add_setting_flags(parser: argparse.ArgumentParser, *sections: str) -> None:
    """One flag for every setting of `sections`, worded by the settings' own schema."""
    from pipelines.config import Settings, setting_fields

    for section in sections:
        group = parser.add_argument_group(f"settings [{section}]", Settings.model_fields[section].description)
        for setting in setting_fields().values():
            if setting.section != section:
                continue
            text = f"{setting.description} ({setting.facts})".replace("%", "%%")
            options: dict[str, Any] = {"metavar": setting.metavar}
            if setting.is_switch:
                options = {"action": argparse.BooleanOptionalAction}
            elif setting.is_list:
                options |= {"nargs": "+", "action": "extend"}
            group.add_argument(
                setting.flag, dest=_SETTING_PREFIX + setting.name, default=argparse.SUPPRESS, help=text, **options
            )


def hours(text: str) -> float:
    """A duration such as 30m, 24h or 7d, in hours.

    >>> hours("30m"), hours("7d")
    (0.5, 168.0)
    """
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)([smhdw])", text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!a} must be a number with a unit, such as 30m, 24h or 7d")
    return float(match[1]) * _HOURS[match[2]]


def positive(text: str) -> int:
    """A whole number above 0."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!a} must be a whole number above 0 and below 10^9")
    return int(text)


def natural(text: str) -> int:
    """A whole number from 0."""
    return 0 if re.fullmatch(r"0{1,9}", text) else positive(text)


def count(text: str) -> int:
    """A whole number above 0, up to 10^12, in digits (1000000), with underscores (1_000_000) or as a power (1e6).

    >>> count("2_000"), count("1e9")
    (2000, 1000000000)
    """
    plain = text.replace("_", "")
    power = re.fullmatch(r"([1-9]\d{0,3})e(\d{1,2})", plain)
    number = int(power[1]) * 10 ** int(power[2]) if power else int(plain) if re.fullmatch(r"\d{1,13}", plain) else 0
    if not 0 < number <= 10**12:
        raise argparse.ArgumentTypeError(f"{text!a} must be a whole number above 0, up to 1e12")
    return number


def share(text: str) -> float:
    """A share such as 0.05 or 5%, from 0 to 1.

    >>> share("5%"), share("0.05")
    (0.05, 0.05)
    """
    match = re.fullmatch(r"(\d{1,3}(?:\.\d{1,9})?)(%?)", text.strip())
    value = float(match[1]) / (100 if match[2] else 1) if match else -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!a} must be a share, from 0 to 1 or 0% to 100%")
    return value


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _add_root(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("root", metavar="ROOT", help="folder of the index")


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="settings file, .toml or .yaml; flags go over it")


def _ingest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", metavar="ROOT", required=True, help="folder of the index; made if missing")
    _add_config(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="read and cut what changed, print what the run would cost, write nothing"
    )
    parser.add_argument(
        "--planned", metavar="FILE", help="what --dry-run --json printed, to be shown beside what the run measures"
    )
    _add_prices(parser)
    parser.epilog = BEAM_FLAGS
    add_setting_flags(parser, *CUTTING_SECTIONS, "rewriting", "encoder", "index", "run")


def _search(parser: argparse.ArgumentParser) -> None:
    _add_root(parser)
    parser.add_argument("question", metavar="QUESTION", help="what to look for")
    parser.add_argument("--k", type=positive, default=10, metavar="N", help="hits at most (a number, default 10)")
    parser.add_argument("--version", metavar="V", help="search this version (default: the current one)")
    add_setting_flags(parser, "encoder")


def _status(parser: argparse.ArgumentParser) -> None:
    _add_root(parser)


def _verify(parser: argparse.ArgumentParser) -> None:
    _add_root(parser)
    parser.add_argument("--version", metavar="V", help="verify this version (default: the current one)")


def _versions(parser: argparse.ArgumentParser) -> None:
    _add_root(parser)


def _rollback(parser: argparse.ArgumentParser) -> None:
    _add_root(parser)
    parser.add_argument("version", metavar="VERSION", help="version to make current; `corpusmill versions` lists them")


def _gc(parser: argparse.ArgumentParser) -> None:
    _add_root(parser)
    parser.add_argument("--keep", type=positive, required=True, metavar="N", help="newest versions to keep (a number)")
    parser.add_argument(
        "--grace", type=hours, default=24.0, metavar="T", help="remove nothing younger (30m, 24h, 7d; default 24h)"
    )
    parser.add_argument(
        "--answer-grace",
        type=hours,
        default=720.0,
        metavar="T",
        help="remove no younger answer of a language model, which cost money (30d, 24h; default 30d, or --grace)",
    )


def _chunk(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="document to cut")
    parser.add_argument("--explain", action="store_true", help="show the sentences with the scores that made the cuts")
    _add_config(parser)
    add_setting_flags(parser, *CUTTING_SECTIONS, "rewriting", "encoder")


def _plan(parser: argparse.ArgumentParser) -> None:
    corpus = parser.add_argument_group("the corpus", "counts of its documents, or a sample of real files")
    corpus.add_argument(
        "--documents", type=count, metavar="N", help="documents (a number, 1e9 too); scales a --sample that is given"
    )
    corpus.add_argument("--tokens-per-document", type=count, metavar="N", help="tokens of each document, a mean")
    corpus.add_argument("--length-histogram", metavar="FILE", help="CSV file of lines tokens,documents")
    corpus.add_argument(
        "--sample", nargs="+", metavar="PATTERN", help="file patterns; what they match is read and really cut"
    )
    parser.add_argument(
        "--span-tokens", type=positive, metavar="N", help="tokens of a long answer, to tell what the overlap protects"
    )
    _add_prices(parser)
    _add_config(parser)
    add_setting_flags(parser, "chunking", "encoder", "index")


def _add_prices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--prices", metavar="FILE", help="TOML file of prices, speeds and assumptions (docs/plan.md lists them)"
    )
    parser.add_argument(
        "--turnover", type=share, metavar="SHARE", help="share of the documents that a week changes (default 5%%)"
    )


def _calibrate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="folder of texts whose sections begin with a line of ========")
    parser.add_argument("--write", metavar="FILE", help="write the chosen thresholds into this new .toml settings file")
    parser.add_argument(
        "--span-tokens", type=positive, default=80, metavar="N", help="length of an answer, in tokens (default 80)"
    )
    _add_config(parser)
    add_setting_flags(parser, *CUTTING_SECTIONS, "encoder")


def _add_cuts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--k", type=positive, default=5, metavar="N", help="units retrieved (a number, default 5)")
    parser.add_argument(
        "--budget-tokens", type=positive, default=1000, metavar="N", help="tokens retrieved (a number, default 1000)"
    )
    parser.add_argument(
        "--count-with",
        default="encoder",
        metavar="NAME",
        help="whose tokens these are: 'encoder', or an LLM's as 'tiktoken:cl100k_base' (default encoder)",
    )
    parser.add_argument(
        "--max-lost-share",
        type=share,
        default=0.1,
        metavar="N",
        help="share of the questions that may be left out because a reference is lost (0 to 1, default 0.1)",
    )
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="of the bootstrap (a number, default 0)")


def _evaluate(parser: argparse.ArgumentParser) -> None:
    parser.epilog = BEAM_FLAGS.removesuffix(".") + "; with one, a root is measured by a pipeline."
    parser.add_argument("--questions", metavar="FILE", required=True, help="questions with references, as JSON lines")
    parser.add_argument(
        "--root", metavar="ROOT", help="folder of an index to evaluate; or else name a corpus by --input"
    )
    parser.add_argument("--version", metavar="V", help="evaluate this version of ROOT (default: the current one)")
    parser.add_argument(
        "--policy", metavar="FILE", help="settings file to try on the corpus, in memory (default: all defaults)"
    )
    parser.add_argument("--against", metavar="OTHER", help="another ROOT or settings file, for a paired comparison")
    _add_cuts(parser)
    parser.add_argument(
        "--show", type=natural, default=5, metavar="N", help="questions shown, the worst first (a number, default 5)"
    )
    add_setting_flags(parser, "reading", "encoder")


def _advise(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sample", nargs="+", required=True, metavar="PATTERN", help="file patterns; what they match is measured"
    )
    parser.add_argument("--questions", metavar="FILE", help="questions with references in the sample, as JSON lines")
    parser.add_argument("--write", metavar="FILE", help="write the advised settings into this new .toml file")
    parser.add_argument("--prices", metavar="FILE", help="TOML file of prices and speeds (docs/plan.md lists them)")
    _add_config(parser)
    add_setting_flags(parser, "reading", "semantic", "encoder")


def _sweep(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--questions", metavar="FILE", required=True, help="questions with references, as JSON lines")
    parser.add_argument(
        "--hypotheses", metavar="FILE", required=True, help="TOML or YAML file of the ranges that are expected"
    )
    parser.add_argument(
        "--work",
        metavar="DIR",
        required=True,
        help="folder for record, vectors and results; made if missing",
    )
    parser.add_argument("--long-encoder", metavar="NAME", help="long-context encoder (default: the short one's model)")
    parser.add_argument(
        "--long-max-input-tokens", type=positive, metavar="N", help="what the long encoder reads (tokens)"
    )
    parser.add_argument(
        "--big-tokens", type=positive, metavar="N", help="input of arms A and C (tokens; default: the long limit)"
    )
    parser.add_argument(
        "--small-tokens", type=positive, default=128, metavar="N", help="input of arm B (tokens; default 128)"
    )
    parser.add_argument(
        "--sizes",
        type=positive,
        nargs="+",
        default=(128, 256, 512, 1024),
        metavar="N",
        help="inputs of the size curve (tokens; default 128 256 512 1024)",
    )
    parser.add_argument(
        "--overlap-share", type=share, default=0.0, metavar="N", help="overlap of every window (share, default 0)"
    )
    _add_cuts(parser)
    parser.add_argument(
        "--sample-documents", type=positive, metavar="N", help="search a stratified sample that holds all that answer"
    )
    parser.add_argument("--force", action="store_true", help="go on although the audit finds next to nothing cut off")
    _add_config(parser)
    add_setting_flags(parser, "reading", "chunking", "semantic", "encoder")


def _audit(parser: argparse.ArgumentParser) -> None:
    parser.epilog = BEAM_FLAGS.removesuffix(".") + "; with one, inputs are counted by a pipeline."
    parser.add_argument(
        "--document-column",
        metavar="NAME",
        help="column of a table of chunks that names the document (default: each row is its own)",
    )
    parser.add_argument("--root", metavar="ROOT", help="folder of an index to audit; or else name a corpus by --input")
    parser.add_argument("--version", metavar="V", help="audit this version of ROOT (default: the current one)")
    parser.add_argument(
        "--questions", metavar="FILE", help="questions with references, as JSON lines; asked to see what is clipped"
    )
    parser.add_argument("--k", type=positive, default=5, metavar="N", help="inputs retrieved (a number, default 5)")
    _add_config(parser)
    add_setting_flags(parser, "reading", "encoder")


def _boundaries(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="FOLDER", help="marked texts: a unit a line, sections under lines of '========'"
    )
    parser.add_argument("--level", type=positive, metavar="N", help="deepest sections that count (default: all)")
    _add_config(parser)
    add_setting_flags(parser, *CUTTING_SECTIONS[1:], "encoder")


def _config(parser: argparse.ArgumentParser) -> None:
    _add_config(parser)
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of a settings file instead")
    add_setting_flags(parser, *CUTTING_SECTIONS, "rewriting", "encoder", "index", "run")


COMMANDS = {
    command.name: command
    for command in (
        Command("ingest", "bring an index up to date with its corpus", _ingest, takes_beam_flags=True),
        Command("search", "answer a question from an index", _search),
        Command("status", "show the current version of an index and what it holds", _status),
        Command("verify", "recompute the checksums, counts, spans and ids of a version", _verify),
        Command("versions", "list the versions of an index", _versions),
        Command("rollback", "make an earlier version current again", _rollback),
        Command("gc", "remove old versions and files that nothing refers to", _gc),
        Command("chunk", "show how one document is cut into units", _chunk),
        Command("plan", "price chunking policies before anything is run", _plan),
        Command("calibrate", "choose thresholds of semantic cuts on annotated texts", _calibrate),
        Command("evaluate", "measure an index or a policy on questions whose answers are known", _evaluate, True),
        Command("advise", "recommend how to cut a corpus from what a sample shows, each with its reason", _advise),
        Command("sweep", "tell truncation from dilution by three arms, and compare sizes", _sweep),
        Command("audit", "measure what the encoder would not read of a corpus or of given chunks", _audit, True),
        Command("boundaries", "compare a chunker's cuts with marked texts", _boundaries),
        Command("config", "show every setting with its value, unit and meaning", _config),
    )
}

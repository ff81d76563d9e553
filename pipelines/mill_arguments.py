"""Arguments of the commands that make an index, ask it and look after it; one function a command."""

import argparse

from pipelines.flags import (
    BEAM_FLAGS,
    CUTTING_SECTIONS,
    add_config,
    add_prices,
    add_root,
    add_setting_flags,
    hours,
    positive,
)


def ingest(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill ingest`."""
    parser.add_argument("--output", metavar="ROOT", required=True, help="folder of the index; made if missing")
    add_config(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="read and cut what changed, print what the run would cost, write nothing"
    )
    parser.add_argument(
        "--planned", metavar="FILE", help="what --dry-run --json printed, to be shown beside what the run measures"
    )
    add_prices(parser)
    parser.epilog = BEAM_FLAGS
    add_setting_flags(parser, *CUTTING_SECTIONS, "rewriting", "encoder", "index", "run")


def search(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill search`."""
    add_root(parser)
    parser.add_argument("question", metavar="QUESTION", help="what to look for")
    parser.add_argument("--k", type=positive, default=10, metavar="N", help="hits at most (a number, default 10)")
    parser.add_argument(
        "--uri",
        metavar="PATTERN",
        help="search only documents whose whole uri matches, such as '*/notes/*' (default: all documents)",
    )
    parser.add_argument("--version", metavar="V", help="search this version (default: the current one)")
    add_setting_flags(parser, "encoder")


def status(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill status`."""
    add_root(parser)


def failures(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill failures`."""
    add_root(parser)
    parser.add_argument("--version", metavar="V", help="list those of this version (default: the current one)")
    parser.add_argument(
        "--show", type=positive, default=20, metavar="N", help="failures shown at most (a number, default 20)"
    )


def verify(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill verify`."""
    add_root(parser)
    parser.add_argument("--version", metavar="V", help="verify this version (default: the current one)")


def versions(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill versions`."""
    add_root(parser)


def rollback(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill rollback`."""
    add_root(parser)
    parser.add_argument("version", metavar="VERSION", help="version to make current; `corpusmill versions` lists them")


def gc(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill gc`."""
    add_root(parser)
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


def chunk(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill chunk`."""
    parser.add_argument("file", metavar="FILE", help="document to cut")
    parser.add_argument("--explain", action="store_true", help="show the sentences with the scores that made the cuts")
    parser.add_argument("--plot", metavar="FILE", help="with --explain: draw the scores and cuts into an .svg file too")
    add_config(parser)
    add_setting_flags(parser, *CUTTING_SECTIONS, "rewriting", "encoder", without=("input",))


def config(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill config`."""
    add_config(parser)
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of a settings file instead")
    add_setting_flags(parser, *CUTTING_SECTIONS, "rewriting", "encoder", "index", "run")

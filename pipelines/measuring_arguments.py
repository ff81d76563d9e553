"""Arguments of the commands that plan and measure; one function a command."""

import argparse

from pipelines.flags import (
    BEAM_FLAGS,
    CUTTING_SECTIONS,
    add_config,
    add_cuts,
    add_prices,
    add_setting_flags,
    count,
    natural,
    positive,
    share,
)


def plan(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill plan`."""
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
    add_prices(parser)
    add_config(parser)
    add_setting_flags(parser, "chunking", "encoder", "index")


def calibrate(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill calibrate`."""
    parser.add_argument("folder", metavar="FOLDER", help="folder of texts whose sections begin with a line of ========")
    parser.add_argument("--write", metavar="FILE", help="write the chosen thresholds into this new .toml settings file")
    parser.add_argument(
        "--span-tokens", type=positive, default=80, metavar="N", help="length of an answer, in tokens (default 80)"
    )
    add_config(parser)
    add_setting_flags(parser, *CUTTING_SECTIONS, "encoder", without=("input", "id_column", "text_column", "id_scope"))


def evaluate(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill evaluate`."""
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
    add_cuts(parser)
    parser.add_argument(
        "--show", type=natural, default=5, metavar="N", help="questions shown, the worst first (a number, default 5)"
    )
    add_setting_flags(parser, "reading", "encoder")


def advise(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill advise`."""
    parser.add_argument(
        "--sample", nargs="+", required=True, metavar="PATTERN", help="file patterns; what they match is measured"
    )
    parser.add_argument("--questions", metavar="FILE", help="questions with references in the sample, as JSON lines")
    parser.add_argument("--write", metavar="FILE", help="write the advised settings into this new .toml file")
    parser.add_argument("--prices", metavar="FILE", help="TOML file of prices and speeds (docs/plan.md lists them)")
    add_config(parser)
    add_setting_flags(parser, "reading", "semantic", "encoder")


def sweep(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill sweep`."""
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
    add_cuts(parser)
    parser.add_argument(
        "--sample-documents", type=positive, metavar="N", help="search a stratified sample that holds all that answer"
    )
    parser.add_argument("--force", action="store_true", help="go on although the audit finds next to nothing cut off")
    add_config(parser)
    add_setting_flags(parser, "reading", "chunking", "semantic", "encoder")


def audit(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill audit`."""
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
    add_config(parser)
    add_setting_flags(parser, "reading", "encoder")


def boundaries(parser: argparse.ArgumentParser) -> None:
    """Of `corpusmill boundaries`."""
    parser.add_argument(
        "folder", metavar="FOLDER", help="marked texts: a unit a line, sections under lines of '========'"
    )
    parser.add_argument("--level", type=positive, metavar="N", help="deepest sections that count (default: all)")
    add_config(parser)
    add_setting_flags(parser, *CUTTING_SECTIONS[1:], "encoder")

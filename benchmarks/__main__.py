"""Every measurement, each in a process of its own, as one table of ratios with their targets.

python -m benchmarks [PART ...] [--folder FOLDER] [--url URL]
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import Figure, figures_of, run_child, show

PARTS = ("cutting", "linear", "encode", "indexing", "evaluating", "mill", "memory")
TAKE_A_FOLDER = ("cutting", "encode", "indexing")
NEED_A_FOLDER = ("chunking_evaluation",)
"""Parts that are measured on published data, and only where they are named."""
NEED_A_SERVER = ("llm",)
"""Parts that ask a language model, and only where they are named."""


def measured(parts: list[str], folder: Path | None, url: str | None) -> Iterator[Figure]:
    for part in parts:
        texts = ["--folder", str(folder.resolve())] if folder and part in TAKE_A_FOLDER else []
        if folder and part in NEED_A_FOLDER:
            texts = [str(folder.resolve())]
        if url and part in NEED_A_SERVER:
            texts = ["--url", url]
        yield from figures_of(run_child("-m", f"benchmarks.{part}", "--json", *texts).output)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all of them without")
    parser.epilog = f"{', '.join(NEED_A_FOLDER)}: a published task in --folder, half an hour on one core."
    parser.add_argument("--folder", type=Path, help="real texts for the parts on which made-up words tell little")
    parser.epilog += f" {', '.join(NEED_A_SERVER)}: a vLLM made for tests in $CORPUSMILL_VLLM, or --url."
    parser.add_argument("--url", help="an OpenAI-compatible endpoint for the parts that ask one")
    options = parser.parse_args()
    every = (*PARTS, *NEED_A_FOLDER, *NEED_A_SERVER)
    unknown = set(options.parts) - set(every)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}; the parts are {', '.join(every)}")
    if set(options.parts) & set(NEED_A_SERVER) and not options.url and not os.environ.get("CORPUSMILL_VLLM"):
        parser.error(f"{', '.join(NEED_A_SERVER)} needs --url, an endpoint, or CORPUSMILL_VLLM, a folder with vLLM")
    if not options.folder and set(options.parts) & set(NEED_A_FOLDER):
        parser.error(f"{', '.join(NEED_A_FOLDER)} needs --folder, the published task")
    show(list(measured(options.parts or list(PARTS), options.folder, options.url)))


if __name__ == "__main__":
    main()

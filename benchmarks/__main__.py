"""Every measurement, each in a process of its own, as one table of ratios with their targets.

python -m benchmarks [PART ...] [--folder FOLDER]
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import Figure, figures_of, run_child, show

PARTS = ("cutting", "linear", "encode", "indexing", "mill", "memory")
TAKE_A_FOLDER = ("cutting", "encode", "indexing")
NEED_A_FOLDER = ("chunking_evaluation",)
"""Parts that are measured on published data, and only where they are named."""


def measured(parts: list[str], folder: Path | None) -> Iterator[Figure]:
    for part in parts:
        texts = ["--folder", str(folder.resolve())] if folder and part in TAKE_A_FOLDER else []
        if folder and part in NEED_A_FOLDER:
            texts = [str(folder.resolve())]
        yield from figures_of(run_child("-m", f"benchmarks.{part}", "--json", *texts).output)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all of them without")
    parser.epilog = f"{', '.join(NEED_A_FOLDER)}: a published task in --folder, half an hour on one core."
    parser.add_argument("--folder", type=Path, help="real texts for the parts on which made-up words tell little")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS) - set(NEED_A_FOLDER)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}; the parts are {', '.join((*PARTS, *NEED_A_FOLDER))}")
    if not options.folder and set(options.parts) & set(NEED_A_FOLDER):
        parser.error(f"{', '.join(NEED_A_FOLDER)} needs --folder, the published task")
    show(list(measured(options.parts or list(PARTS), options.folder)))


if __name__ == "__main__":
    main()

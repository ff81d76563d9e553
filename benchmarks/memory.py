"""Peak memory of a whole run on FnApiRunner with the hashing encoder, and what each added document costs of it.

python -m benchmarks.memory --documents 5000 50000
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from benchmarks.corpus import write_corpus
from benchmarks.measuring import Figure, hand_over, part_parser, run_child

LIMIT_KIB_PER_DOCUMENT = 2.0


def peaks(folder: Path, sizes: Sequence[int], seed: int, length_scale: float) -> Iterator[tuple[int, int, float]]:
    """Yields the number of documents, the peak resident set in KiB and the CPU seconds of a first run of each size."""
    for size in sorted(sizes):
        corpus = folder / f"corpus-{size}"
        write_corpus(corpus, size, seed, length_scale)
        arguments = ["-m", "pipelines", "ingest", "--input", str(corpus), "--output", str(folder / f"root-{size}")]
        # Vectors of hashed words have no clusters, so inverted lists would miss the recall gate.
        child = run_child(*arguments, "--encoder", "hashing", "--index", "flat", "--runner", "FnApiRunner")
        yield size, child.peak_kib, child.cpu_seconds


def figures(sizes: Sequence[int], seed: int, length_scale: float) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        measured = list(peaks(Path(folder), sizes, seed, length_scale))
    for (few, small, few_seconds), (many, large, seconds) in pairwise(measured):
        detail = f"{small / 1024:.0f} MiB at {few} documents, {large / 1024:.0f} MiB at {many}; "
        detail += f"{(seconds - few_seconds) / (many - few) * 1000:.2f} CPU ms per added document"
        value = (large - small) / (many - few)
        yield Figure("memory", "per added document", value, LIMIT_KIB_PER_DOCUMENT, detail=detail, unit="KiB")


def main() -> None:
    parser: argparse.ArgumentParser = part_parser(__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, nargs="+", default=[5_000, 50_000], help="corpus sizes")
    parser.add_argument("--length-scale", type=float, default=1.0, help="stretches the documents")
    options = parser.parse_args()
    hand_over(figures(options.documents, options.seed, options.length_scale), options.json)


if __name__ == "__main__":
    main()

"""A full run beside the bare loop, and runs in which little changed beside the full run, all in CPU seconds.

    python -m benchmarks.mill --documents 2000 --encoder minilm

Each is a process of its own on one thread. Start-up is what the same process costs on a corpus of one document; it is
taken off both sides of the first ratio, and off neither side of the others.
"""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.corpus import change_corpus, write_corpus
from benchmarks.measuring import Child, Figure, hand_over, part_parser, run_child

CHANGED_SHARE = 0.05


class Bench:
    """A corpus, a corpus of one document, and the commands that are compared on them."""

    def __init__(self, folder: Path, n_documents: int, encoder: str, seed: int, length_scale: float) -> None:
        self.corpus, self.root = folder / "corpus", folder / "root"
        self.n_documents, self.encoder, self._seed, self._scale = n_documents, encoder, seed, length_scale
        self._one, self._folder, self._n_roots = folder / "one", folder, 0
        write_corpus(self.corpus, n_documents, seed, length_scale)
        write_corpus(self._one, 1, seed, length_scale)

    def ingest(self, corpus: Path, root: Path) -> Child:
        arguments = ["--input", str(corpus), "--output", str(root), "--encoder", self.encoder, "--index", "flat"]
        return run_child("-m", "pipelines", "ingest", *arguments)

    def loop(self, corpus: Path) -> Child:
        return run_child("-m", "benchmarks.bare_loop", str(corpus), "--encoder", self.encoder)

    def fresh_root(self) -> Path:
        self._n_roots += 1
        return self._folder / f"root-{self._n_roots}"

    def start_up(self) -> tuple[float, float]:
        """CPU seconds of the mill and of the loop on one document, after one turn that fills the disk's cache."""
        self.ingest(self._one, self.fresh_root())
        mill = [self.ingest(self._one, self.fresh_root()).cpu_seconds for _ in range(3)]
        return statistics.median(mill), statistics.median(self.loop(self._one).cpu_seconds for _ in range(3))

    def change(self) -> None:
        change_corpus(self.corpus, self.n_documents, CHANGED_SHARE, self._seed, self._scale)


def figures(bench: Bench, repeats: int) -> Iterator[Figure]:
    mill_start, loop_start = bench.start_up()
    loops = [bench.loop(bench.corpus).cpu_seconds for _ in range(repeats)]
    fulls = [bench.ingest(bench.corpus, bench.fresh_root()).cpu_seconds for _ in range(repeats - 1)]
    fulls.append(bench.ingest(bench.corpus, bench.root).cpu_seconds)
    full, loop = statistics.median(fulls), statistics.median(loops)
    part = f"mill, {bench.encoder}"
    added = (full - mill_start - loop + loop_start) / bench.n_documents
    detail = (
        f"full {full:.1f} s of which start-up {mill_start:.1f}, loop {loop:.1f} s of which start-up {loop_start:.1f}; "
    )
    detail += f"{added * 1000:.2f} ms more a document"
    yield Figure(part, "full run / bare loop", (full - mill_start) / (loop - loop_start), 1.15, detail=detail)

    same = statistics.median(bench.ingest(bench.corpus, bench.root).cpu_seconds for _ in range(3))
    yield Figure(part, "nothing changed / full run", same / full, 0.03, detail=f"{same:.1f} s of {full:.1f}")
    bench.change()
    changed = bench.ingest(bench.corpus, bench.root).cpu_seconds
    detail = f"{changed:.1f} s of {full:.1f}; whole documents, each with a new text"
    yield Figure(part, "5 % changed / full run", changed / full, 0.09, detail=detail)


def main() -> None:
    parser = part_parser(__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, default=2_000, help="corpus size")
    parser.add_argument("--length-scale", type=float, default=1.0, help="stretches the documents")
    parser.add_argument("--encoder", default="minilm", help="as in the settings; hashing shows the mill alone")
    parser.add_argument("--repeats", type=int, default=1, help="full runs, of which the median counts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options.documents, options.encoder, options.seed, options.length_scale)
        hand_over(figures(bench, options.repeats), options.json)


if __name__ == "__main__":
    main()

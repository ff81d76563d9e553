"""Level 2: paragraphs, else lines, sentences, clauses, words, graphemes, packed up to the window."""

from collections.abc import Iterator
from dataclasses import dataclass

from transforms.chunkers.fitting import Fitter
from transforms.chunkers.headings import HeadingPaths
from transforms.chunkers.measuring import MeasuredText
from transforms.chunkers.packing import Packer
from transforms.chunkers.protocol import Piece
from transforms.elements import Snapshot

VERSION = 1


@dataclass(frozen=True)
class RecursiveChunker:
    """Recursive cuts of the bare text; each piece carries the heading path that holds at its start."""

    window: int
    overlap: int = 0
    name = "recursive"
    max_context_tokens = 0

    def cut(self, snapshot: Snapshot, measured: MeasuredText, fitter: Fitter) -> Iterator[Piece]:
        headings = HeadingPaths(snapshot, measured.counts)
        for start, end in fitter.fit(Packer(measured, self.window, self.overlap).pack(0, measured.n_tokens)):
            yield Piece(start, end, heading_path=headings.at(start))

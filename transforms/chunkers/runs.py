"""From the tokens at which runs of sentences begin to pieces: packed within the window, under their headings."""

from collections.abc import Iterator, Sequence
from itertools import pairwise, repeat

from transforms.chunkers.fitting import Fitter
from transforms.chunkers.headings import HeadingPaths
from transforms.chunkers.measuring import MeasuredText
from transforms.chunkers.packing import Packer
from transforms.chunkers.protocol import Piece
from transforms.elements import Snapshot

VERSION = 1


def run_pieces(
    snapshot: Snapshot,
    measured: MeasuredText,
    fitter: Fitter,
    firsts: Sequence[int],
    window: int,
    overlap: int,
    labels: Sequence[str] = (),
) -> Iterator[Piece]:
    """Yields the pieces of the runs that begin at token 0 and at the tokens `firsts`, ascending.

    A run longer than `window` is packed from its paragraphs, sentences, words; `runs_over_cap` counts those. `labels`
    has one for each run, or none at all.
    """
    headings = HeadingPaths(snapshot, measured.counts)
    packer = Packer(measured, window, overlap)
    runs = pairwise([0, *firsts, measured.n_tokens])
    for (first, end), label in zip(runs, labels or repeat(""), strict=False):
        spans = list(packer.pack(first, end))
        measured.counts["runs_over_cap"] += len(spans) > 1 and len(firsts) > 0
        for start, stop in fitter.fit(spans):
            yield Piece(start, stop, heading_path=headings.at(start), label=label)

"""Level 3: the author's own structure. Sections, paragraphs, lists, tables and code, as extraction found them."""

from collections.abc import Iterator
from dataclasses import dataclass

from models.tokenizer import Tokenizer
from transforms.chunkers.contexts import Contexts
from transforms.chunkers.fitting import Fitter
from transforms.chunkers.headings import HeadingPaths
from transforms.chunkers.measuring import MeasuredText
from transforms.chunkers.packing import Packer
from transforms.chunkers.protocol import Piece
from transforms.chunkers.sections import Part, group_blocks
from transforms.elements import Snapshot

VERSION = 1


@dataclass(frozen=True)
class StructuralChunker:
    """Cuts along blocks; what is too long is packed from its paragraphs, rows, lines or sentences.

    A table's later pieces carry its header rows as context. With `heading_prefix`, so does every piece the headings
    above it that its own text does not show. `max_context_tokens` bounds a context.
    """

    tokenizer: Tokenizer
    window: int
    overlap: int = 0
    min_tokens: int = 0
    heading_prefix: bool = True
    max_context_tokens: int = 64
    name = "structural"

    def cut(self, snapshot: Snapshot, measured: MeasuredText, fitter: Fitter) -> Iterator[Piece]:
        headings = HeadingPaths(snapshot, measured.counts)
        contexts = Contexts(self.tokenizer, self.max_context_tokens, measured.counts)
        packer = Packer(measured, self.window, self.overlap)
        for part in group_blocks(snapshot, measured, self.window, self.min_tokens):
            above = headings.headings_at(measured.position(part.body))
            path = tuple(heading.name for heading in above)
            spans = packer.pack(part.start, part.end, glued=part.body, overlaps=part.is_text)
            for start, end in fitter.fit(spans, glued=measured.position(part.body)):
                hidden = tuple(heading.name for heading in above if heading.end <= start)
                context = contexts.make(hidden if self.heading_prefix else (), _header(snapshot, part, start))
                yield Piece(start, end, context, path)


def _header(snapshot: Snapshot, part: Part, start: int) -> str:
    """The header rows of the table that `start` lies in the body of."""
    header_start, header_end = part.table_header
    return snapshot.text[header_start:header_end].strip() if header_start < header_end <= start else ""

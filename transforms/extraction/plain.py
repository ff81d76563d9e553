"""Plain text: paragraphs, and numbered clauses where the text really is written in them."""

import re
from collections.abc import Iterator

from transforms.elements import Block, Snapshot
from transforms.extraction.clauses import find_clauses
from transforms.extraction.normalising import normalise

VERSION = 1

_PARAGRAPH_BREAK = re.compile(r"\n(?:[^\S\n]*+\n)++")


def extract_plain(source: str) -> Snapshot:
    """The normalised source itself, with its paragraphs and, in a text of numbered clauses, headings as blocks."""
    text, counts = normalise(source)
    return Snapshot(text, plain_blocks(text), counts)


def plain_blocks(text: str) -> tuple[Block, ...]:
    """Paragraphs (separated by blank lines) in order; clauses are cut out of them as headings."""
    blocks: list[Block] = []
    clauses = iter(find_clauses(text))
    clause = next(clauses, None)
    for start, end in paragraph_spans(text, 0, len(text)):
        while clause is not None and clause.start < end:
            _append_paragraph(blocks, text, start, clause.start)
            blocks.append(Block("heading", clause.start, clause.end, clause.level, clause.start))
            start, clause = clause.end, next(clauses, None)
        _append_paragraph(blocks, text, start, end)
    return tuple(blocks)


def paragraph_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of the paragraphs of `text[start:end]`, trimmed of white space, none blank."""
    for match in _PARAGRAPH_BREAK.finditer(text, start, end):
        yield from _trimmed(text, start, match.start())
        start = match.end()
    yield from _trimmed(text, start, end)


def _append_paragraph(blocks: list[Block], text: str, start: int, end: int) -> None:
    blocks.extend(Block("paragraph", first, last, 0, first) for first, last in _trimmed(text, start, end))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    kept = piece.lstrip()
    if kept:
        start = end - len(kept)
        yield start, start + len(kept.rstrip())

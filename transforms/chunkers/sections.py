"""Groups a document's blocks into the parts that structural cutting keeps together."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from transforms.elements import Block, BlockKind, Snapshot

VERSION = 1

_TEXT_KINDS = frozenset({"heading", "paragraph", "list", "quote"})


class Measured(Protocol):
    """A text with numbered places to cut it at, as `MeasuredText` has them."""

    n_tokens: int

    def index_at(self, position: int) -> int: ...

    def clean_floor(self, index: int) -> int: ...


@dataclass
class Part:
    """Neighbouring blocks of one section as a token range [start, end).

    `body` is the first token that may begin a later unit: what lies before (a heading, a short lead-in) stays with
    what follows. `table_header` is the span of a table's header rows in code points, empty for every other kind.
    """

    start: int
    end: int
    kind: BlockKind
    body: int
    table_header: tuple[int, int] = (0, 0)
    is_bare_heading: bool = False

    @property
    def n_tokens(self) -> int:
        return self.end - self.start

    @property
    def is_text(self) -> bool:
        return self.kind in _TEXT_KINDS


def group_blocks(snapshot: Snapshot, measured: Measured, window: int, min_tokens: int) -> Iterator[Part]:
    """Yields parts that tile the document's tokens.

    A heading goes with what follows it, and so does a heading without a body. A block below `min_tokens` joins a
    neighbour of the same section where both fit into `window` tokens.
    """
    part: Part | None = None
    for block in _block_parts(snapshot.blocks, measured):
        if part is None:
            part = block
        elif _belong_together(part, block, window, min_tokens):
            part = _joined(part, block)
        else:
            yield part
            part = block
    if part is not None:
        yield part


def _block_parts(blocks: Iterable[Block], measured: Measured) -> Iterator[Part]:
    """Yields one part a block; text between two blocks belongs to the first, text before all is a paragraph."""
    starts = [(measured.clean_floor(measured.index_at(block.start)), block) for block in blocks if block.kind != "page"]
    ends = [*(start for start, _ in starts), measured.n_tokens]
    lead_end = ends.pop(0)
    if lead_end > 0:
        yield Part(0, lead_end, "paragraph", 0)
    for (start, block), end in zip(starts, ends, strict=True):
        if start < end:
            yield _part_of(block, start, end, measured)


def _part_of(block: Block, start: int, end: int, measured: Measured) -> Part:
    if block.kind == "table" and block.header_end > block.start:
        body = min(measured.index_at(block.header_end), end)
        return Part(start, end, "table", body, (block.start, block.header_end))
    return Part(start, end, block.kind, start, is_bare_heading=block.kind == "heading")


def _belong_together(part: Part, block: Part, window: int, min_tokens: int) -> bool:
    total = part.n_tokens + block.n_tokens
    if part.is_bare_heading:
        # Headings in a row stay together, but never so many that nothing else has room.
        return not block.is_bare_heading or 2 * total <= window
    if block.is_bare_heading:
        return False
    if total <= window:
        return min(part.n_tokens, block.n_tokens) < min_tokens
    if block.n_tokens > window:
        return part.n_tokens < min_tokens and 2 * part.n_tokens <= window
    return block.n_tokens < min_tokens and part.n_tokens > window and part.is_text and block.is_text


def _joined(part: Part, block: Part) -> Part:
    if part.n_tokens > block.n_tokens and not part.is_bare_heading:
        return Part(part.start, block.end, part.kind, part.body, part.table_header)
    body = max(block.body, block.start)
    return Part(
        part.start, block.end, block.kind, body, block.table_header, part.is_bare_heading and block.is_bare_heading
    )

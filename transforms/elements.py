"""What flows between the stages: small frozen records with deterministic coders. Texts and vectors never do.

Every offset is a code point offset `[start, end)` into a document's snapshot.
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Literal

import msgspec

BlockKind = Literal["heading", "paragraph", "list", "quote", "table", "code", "page"]


class Block(msgspec.Struct, frozen=True, array_like=True):
    """A span of a snapshot with the author's own structure.

    Blocks are sorted by `start` and do not overlap, except that a `page` block spans the blocks of its page.
    `level` is a heading's depth from 1. `header_end` is where a table's header rows end (separator line included);
    it equals `start` for a table without a header and for every other kind.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    header_end: int = 0


class Snapshot(msgspec.Struct, frozen=True):
    """A document's immutable text with its blocks. `counts` are outcomes such as `replaced_nul`."""

    text: str
    blocks: tuple[Block, ...] = ()
    counts: Mapping[str, int] = {}


CHUNK, PASSAGE, PROPOSITION, SUMMARY = "chunk", "passage", "proposition", "summary"
"""Levels of units. A chunk is matched and served; a passage is served where one of its propositions is matched."""

SOURCE_LEVELS = frozenset({CHUNK, PASSAGE})
"""Levels whose text is the document's own. What a model wrote stands for its span instead."""


class Unit(msgspec.Struct, frozen=True):
    """A retrieval unit; `context` is put in front of the embedded text only.

    At the levels of the source `snapshot.text[start:end] == text`; else a model wrote the text, and the span is what it
    is about. `parent` is the number of the unit in its document that is served where this one is matched. `label` is
    metadata of the chunker: PIC's `near` or `far` from the document's summary, which says nothing about usefulness.
    """

    start: int
    end: int
    text: str
    n_tokens: int
    context: str = ""
    heading_path: tuple[str, ...] = ()
    level: str = CHUNK
    parent: int | None = None
    label: str = ""

    @property
    def embedded_text(self) -> str:
        """What the encoder is given: context, a line feed, and the text; the text alone where there is no context."""
        return f"{self.context}\n{self.text}" if self.context else self.text


@dataclass(frozen=True)
class DetectionCost:
    """What encoding a document's sentences cost, so that it could be cut.

    `n_tokens` are those read, special tokens and prompt included, `n_pairs` the sum of the squares of each input's.
    `seconds` are wall time, `cpu_seconds` the process's, which loading the encoder is part of. Neither counts where
    costs are compared.
    """

    n_inputs: int = 0
    n_tokens: int = 0
    n_pairs: int = 0
    n_padded_slots: int = 0
    seconds: float = field(default=0.0, compare=False)
    cpu_seconds: float = field(default=0.0, compare=False)

    def __add__(self, other: "DetectionCost") -> "DetectionCost":
        """Both together."""
        return DetectionCost(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))


class CutDocument(msgspec.Struct, frozen=True):
    """The units of one document, in order, with counted outcomes such as `moved_cuts` or `trimmed_contexts`."""

    units: tuple[Unit, ...]
    chunker: str
    counts: Mapping[str, int] = {}
    detection: DetectionCost = DetectionCost()

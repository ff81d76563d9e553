"""How many units structural cutting will make of a document, from where its blocks lie and without a tokenizer."""

from dataclasses import dataclass
from math import ceil

from models.prices import Assumptions
from transforms.chunkers.sections import group_blocks
from transforms.elements import Snapshot
from transforms.work import CHARS_PER_TOKEN

FILL = Assumptions().recursive_fill
"""Mean length of a unit over its window, where a part is longer and is cut at rows, lines or sentences."""


@dataclass
class _ByCharacters:
    """A text whose tokens are taken to have `CHARS_PER_TOKEN` characters each, any of which may begin a unit."""

    n_tokens: int

    def index_at(self, position: int) -> int:
        return min(-(-position // CHARS_PER_TOKEN), self.n_tokens)

    def clean_floor(self, index: int) -> int:
        return index


def expected_units(snapshot: Snapshot, window_tokens: int, min_tokens: int) -> int:
    """Units of a document that is cut along its blocks: one a part, and of a longer part as many as fill `FILL`.

    Overlap is left out.
    """
    measured = _ByCharacters(-(-len(snapshot.text) // CHARS_PER_TOKEN))
    parts = group_blocks(snapshot, measured, window_tokens, min_tokens)
    return sum(1 if part.n_tokens <= window_tokens else ceil(part.n_tokens / (FILL * window_tokens)) for part in parts)

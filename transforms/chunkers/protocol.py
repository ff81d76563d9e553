"""What a cutting algorithm is."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from transforms.chunkers.measuring import MeasuredText
from transforms.elements import Snapshot


class Piece(NamedTuple):
    """A span of a snapshot that becomes a unit, with the context that goes in front of its embedded text."""

    start: int
    end: int
    context: str = ""
    heading_path: tuple[str, ...] = ()


class Chunker(Protocol):
    """Cuts one measured document. Pieces come in order, cover all its tokens, and hold at most `window` of them."""

    @property
    def name(self) -> str:
        """The name in the settings."""

    @property
    def window(self) -> int:
        """Content tokens of a piece at most."""

    def cut(self, snapshot: Snapshot, measured: MeasuredText) -> Iterator[Piece]:
        """Yields the pieces; `measured` holds the tokens of the snapshot's text and collects counts."""

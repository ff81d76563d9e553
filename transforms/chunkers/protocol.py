"""What a cutting algorithm is."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from transforms.chunkers.fitting import Fitter
from transforms.chunkers.measuring import MeasuredText
from transforms.elements import Snapshot


class Piece(NamedTuple):
    """A span of a snapshot that becomes a unit, with the context that goes in front of its embedded text."""

    start: int
    end: int
    context: str = ""
    heading_path: tuple[str, ...] = ()


class Chunker(Protocol):
    """Cuts one measured document. Pieces come in order, cover all its tokens, and hold at most `window` of them.

    Windows are counted in the tokens of `measured`, contexts in the encoder's.
    """

    @property
    def name(self) -> str:
        """The name in the settings."""

    @property
    def window(self) -> int:
        """Content tokens of a piece at most."""

    @property
    def max_context_tokens(self) -> int:
        """Tokens that the context of a piece takes of the encoder's input at most."""

    def cut(self, snapshot: Snapshot, measured: MeasuredText, fitter: Fitter) -> Iterator[Piece]:
        """Yields the pieces, whose spans are those that `fitter` leaves; `measured` collects counts."""

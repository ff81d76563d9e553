"""What a cutting algorithm is."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

from transforms.chunkers.explaining import Explanation
from transforms.chunkers.fitting import Fitter
from transforms.chunkers.measuring import MeasuredText
from transforms.elements import Snapshot
from transforms.rewriting.dialogues import Dialogue


class Piece(NamedTuple):
    """A span of a snapshot that becomes a unit, with the context that goes in front of its embedded text.

    `label` is what the chunker found about the run that it lies in, such as PIC's `near` and `far`.
    """

    start: int
    end: int
    context: str = ""
    heading_path: tuple[str, ...] = ()
    label: str = ""


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


class Source(NamedTuple):
    """What is cut: a snapshot, the id of its content, which the bill names, and the address of one document with it."""

    snapshot: Snapshot
    content_id: str = ""
    uri: str = ""


@runtime_checkable
class AskingChunker(Protocol):
    """A chunker that asks a language model, as a dialogue, so that many documents are asked about together."""

    @property
    def name(self) -> str:
        """As of `Chunker`."""

    @property
    def window(self) -> int:
        """As of `Chunker`."""

    @property
    def max_context_tokens(self) -> int:
        """As of `Chunker`."""

    def cut_by_asking(self, source: Source, measured: MeasuredText, fitter: Fitter) -> Dialogue[list[Piece]]:
        """A dialogue that returns the pieces, of which holds what holds of those of `Chunker.cut`."""

    def explain_by_asking(self, source: Source, measured: MeasuredText) -> Dialogue[Explanation]:
        """A dialogue that returns every sentence with what decided about it."""

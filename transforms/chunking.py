"""Cuts documents into units: the settings' chunker, exact counts, and the cap that no embedded input exceeds."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from models.errors import SettingsError
from models.tokenizer import Tokenizer
from transforms.chunkers import (
    boundaries,
    contexts,
    fixed,
    headings,
    measuring,
    packing,
    recursive,
    sections,
    sentences,
    structural,
)
from transforms.chunkers.measuring import MeasuredText
from transforms.chunkers.packing import Packer
from transforms.chunkers.protocol import Chunker, Piece
from transforms.elements import CutDocument, Snapshot, Unit
from transforms.settings import ChunkingSettings

VERSION = 1

_MODULES = {
    "fixed": (fixed, headings, measuring),
    "recursive": (recursive, boundaries, headings, measuring, packing, sentences),
    "structural": (structural, boundaries, contexts, headings, measuring, packing, sections, sentences),
}
_PLAIN_KINDS = frozenset({"paragraph", "page"})


def make_cutter(settings: ChunkingSettings, tokenizer: Tokenizer, prompt_tokens: int = 0) -> "Cutter":
    """The cutter that `settings` ask for. `prompt_tokens` are what the encoder's document prompt takes of an input.

    Raises SettingsError where window and overhead exceed the encoder's limit, or the overlap the window.
    """
    names = ("structural", "recursive") if settings.chunker == "auto" else (settings.chunker,)
    room = tokenizer.max_input_tokens - tokenizer.overhead_tokens - prompt_tokens
    if room < 1:
        raise SettingsError(
            f"max_input_tokens = {tokenizer.max_input_tokens} is taken up by {tokenizer.overhead_tokens} special "
            f"tokens and {prompt_tokens} of the prompt; raise it or shorten document_prompt"
        )
    return Cutter([_make_chunker(name, settings, tokenizer, room) for name in names], settings, tokenizer, room)


class Cutter:
    """Cuts snapshots into units. `room` is the number of tokens that context and text of a unit may take together.

    `identity` holds what decides the units: algorithm versions, the tokenizer, and the settings that matter.
    """

    def __init__(self, chunkers: list[Chunker], settings: ChunkingSettings, tokenizer: Tokenizer, room: int) -> None:
        self._chunkers = {chunker.name: chunker for chunker in chunkers}
        self._tokenizer = tokenizer
        self._room = room
        self.identity: dict[str, Any] = {
            "chunker": settings.chunker,
            "versions": {"chunking": VERSION, **_versions(self._chunkers)},
            "windows": {name: chunker.window for name, chunker in self._chunkers.items()},
            "overlap_tokens": settings.overlap_tokens,
            "tokenizer": tokenizer.identity,
            "room_tokens": room,
        }
        if "structural" in self._chunkers:
            structure = settings.model_dump(include={"min_tokens", "heading_prefix", "max_context_tokens"})
            self.identity.update(structure)

    def cut(self, snapshot: Snapshot) -> CutDocument:
        """The units of one document. A text in which the tokenizer finds nothing has none."""
        chunker = self._chunker_for(snapshot)
        measured = MeasuredText(snapshot.text, self._tokenizer)
        if not measured.n_tokens:
            counts = {"texts_without_tokens": 1} if snapshot.text.strip() else {}
            return CutDocument((), chunker.name, counts)
        pieces = _without_blank(chunker.cut(snapshot, measured), measured)
        units = self._units(snapshot.text, self._within_window(list(pieces), chunker.window, measured), measured)
        return CutDocument(tuple(units), chunker.name, {name: n for name, n in sorted(measured.counts.items()) if n})

    def _chunker_for(self, snapshot: Snapshot) -> Chunker:
        if len(self._chunkers) == 1:
            return next(iter(self._chunkers.values()))
        return self._chunkers["structural" if has_markup(snapshot) else "recursive"]

    def _within_window(self, pieces: list[Piece], window: int, measured: MeasuredText) -> list[Piece]:
        """`pieces`, with those split again that the tokenizer counts over the window once they stand alone."""
        if self._tokenizer.is_word_local:
            return pieces
        fitting: list[Piece] = []
        waiting = pieces[::-1]
        counts = self._counts(waiting, measured)
        while waiting:
            piece, n_tokens = waiting.pop(), counts.pop()
            parts = [] if n_tokens <= window else _split(piece, window, n_tokens, measured)[::-1]
            if parts:
                measured.counts["recounted_units"] += 1
                waiting += parts
                counts += self._counts(parts, measured)
            else:
                fitting.append(piece)
        return _in_order(fitting)

    def _counts(self, pieces: list[Piece], measured: MeasuredText) -> list[int]:
        """Content tokens of each piece's text, as the encoder's tokenizer counts them."""
        if not self._tokenizer.is_word_local:
            return list(map(int, self._tokenizer.count([measured.text[piece.start : piece.end] for piece in pieces])))
        spans = np.array([piece[:2] for piece in pieces], np.int64).reshape(-1, 2)
        return list(map(int, measured.count_spans(spans[:, 0], spans[:, 1])))

    def _units(self, text: str, pieces: list[Piece], measured: MeasuredText) -> Iterator[Unit]:
        for piece, n_tokens in zip(pieces, self._counts(pieces, measured), strict=True):
            unit = Unit(
                piece.start, piece.end, text[piece.start : piece.end], n_tokens, piece.context, piece.heading_path
            )
            measured.counts["over_limit_units"] += n_tokens > self._room
            yield unit


def has_markup(snapshot: Snapshot) -> bool:
    """Whether the author marked any structure beyond paragraphs and pages."""
    return any(block.kind not in _PLAIN_KINDS for block in snapshot.blocks)


def _make_chunker(name: str, settings: ChunkingSettings, tokenizer: Tokenizer, room: int) -> Chunker:
    reserved = settings.max_context_tokens if name == "structural" else 0
    if settings.window_tokens is None:
        # A small encoder keeps most of its room for the text.
        reserved = min(reserved, room // 3)
    window = settings.window_tokens or room - reserved
    if window + reserved > room:
        raise SettingsError(
            f"window_tokens = {window} and {reserved} of context exceed the {room} tokens that the encoder leaves for "
            f"the {name} chunker; set window_tokens to at most {max(room - reserved, 0)}"
            + (" or lower max_context_tokens" if reserved else "")
        )
    if settings.overlap_tokens >= window:
        raise SettingsError(
            f"overlap_tokens = {settings.overlap_tokens} is not below the window of {window} tokens; "
            "a window must advance"
        )
    match name:
        case "fixed":
            return fixed.FixedChunker(window, settings.overlap_tokens)
        case "recursive":
            return recursive.RecursiveChunker(window, settings.overlap_tokens)
        case _:
            return structural.StructuralChunker(
                tokenizer, window, settings.overlap_tokens, settings.min_tokens, settings.heading_prefix, reserved
            )


def _split(piece: Piece, window: int, n_tokens: int, measured: MeasuredText) -> list[Piece]:
    """`piece` in two or more at the best boundaries, smaller by what it counts over `window`; none if it cannot be."""
    start, end = measured.index_at(piece.start), measured.index_at(piece.end)
    target = max(1, min(window, end - start) - (n_tokens - window))
    places = {position for span in Packer(measured, target).pack(start, end) for position in span}
    inner = sorted(place for place in places if piece.start < place < piece.end)
    if not inner:
        middle = measured.grapheme_floor((piece.start + piece.end) // 2)
        inner = [middle if middle > piece.start else (piece.start + piece.end) // 2]
    if not piece.start < inner[0]:
        return []
    spans = pairwise([piece.start, *inner, piece.end])
    return list(_without_blank((piece._replace(start=first, end=last) for first, last in spans), measured))


def _in_order(pieces: list[Piece]) -> list[Piece]:
    """`pieces` by start, without those that a longer one with the same start covers."""
    longest = {piece.start: piece for piece in sorted(pieces, key=lambda piece: piece.end)}
    return [longest[start] for start in sorted(longest)]


def _versions(chunkers: Mapping[str, Chunker]) -> dict[str, int]:
    modules = {module for name in chunkers for module in _MODULES[name]}
    return {module.__name__.rpartition(".")[2]: module.VERSION for module in sorted(modules, key=lambda m: m.__name__)}


def _without_blank(pieces: Iterable[Piece], measured: MeasuredText) -> Iterator[Piece]:
    """Yields `pieces` without white space around them; those with nothing else are dropped and counted."""
    for piece in pieces:
        kept = measured.text[piece.start : piece.end].lstrip()
        start = piece.end - len(kept)
        kept = kept.rstrip()
        if kept:
            # White space that bears a combining mark is the mark's own.
            first = max(measured.grapheme_floor(start), piece.start)
            yield piece._replace(start=first, end=start + len(kept))
        else:
            measured.counts["blank_windows"] += 1

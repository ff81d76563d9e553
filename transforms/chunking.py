"""Cuts documents into units: the settings' chunker, exact counts, and the cap that no embedded input exceeds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from models.errors import SettingsError
from models.settings import EncoderSettings
from models.tokenizer import Tokenizer, load_budget_tokenizer
from transforms.chunkers import (
    boundaries,
    contexts,
    fitting,
    fixed,
    headings,
    measuring,
    packing,
    recursive,
    sections,
    semantic,
    sentence_spans,
    sentences,
    structural,
)
from transforms.chunkers.explaining import Explanation
from transforms.chunkers.fitting import Fitter
from transforms.chunkers.measuring import BudgetText, MeasuredText
from transforms.chunkers.protocol import Chunker, Piece
from transforms.elements import CutDocument, Snapshot, Unit
from transforms.semantic import distances, thresholds
from transforms.semantic.detection import Detector, detection_encoder
from transforms.sentences import splitting
from transforms.settings import ChunkingSettings, SemanticSettings

VERSION = 1

_MODULES = {
    "fixed": (fixed, fitting, headings, measuring),
    "recursive": (recursive, boundaries, fitting, headings, measuring, packing, sentences),
    "structural": (structural, boundaries, contexts, fitting, headings, measuring, packing, sections, sentences),
    "semantic": (
        semantic, boundaries, distances, fitting, headings, measuring, packing, sentence_spans, sentences, splitting,
        thresholds,
    ),
}  # fmt: skip
# What splits a span that the encoder could not read whole.
_SPLITTING_MODULES = (boundaries, packing, sentences)
_PLAIN_KINDS = frozenset({"paragraph", "page"})


@dataclass(frozen=True)
class Detection:
    """How boundaries are found, and by which encoder, for the chunkers that read before they cut."""

    settings: SemanticSettings
    detector: Detector


def make_detection(settings: SemanticSettings, embedder: EncoderSettings) -> Detection:
    """Detection as `settings` ask for it. Loads nothing: that waits for the first text."""
    return Detection(settings, Detector(detection_encoder(settings, embedder)))


def make_cutter(
    settings: ChunkingSettings, tokenizer: Tokenizer, prompt_tokens: int = 0, detection: Detection | None = None
) -> "Cutter":
    """The cutter that `settings` ask for. `prompt_tokens` are what the encoder's document prompt takes of an input.

    `detection` is needed by the semantic chunker only.

    Raises SettingsError where window and overhead exceed the encoder's limit, or the overlap the window; for a budget
    that cannot be counted as `load_budget_tokenizer`.
    """
    names = ("structural", "recursive") if settings.chunker == "auto" else (settings.chunker,)
    room = tokenizer.max_input_tokens - tokenizer.overhead_tokens - prompt_tokens
    if room < 1:
        raise SettingsError(
            f"max_input_tokens = {tokenizer.max_input_tokens} is taken up by {tokenizer.overhead_tokens} special "
            f"tokens and {prompt_tokens} of the prompt; raise it or shorten document_prompt"
        )
    budget = load_budget_tokenizer(settings.budget_tokenizer, tokenizer)
    chunkers = [_make_chunker(name, settings, tokenizer, room, detection) for name in names]
    return Cutter(chunkers, settings, tokenizer, budget, room)


class Cutter:
    """Cuts snapshots into units. `room` is the number of tokens that context and text of a unit may take together.

    Windows are counted with `budget`, `room` and every unit's `n_tokens` with `tokenizer`, which may be the same.
    """

    def __init__(
        self, chunkers: list[Chunker], settings: ChunkingSettings, tokenizer: Tokenizer, budget: Tokenizer, room: int
    ) -> None:
        self._chunkers = {chunker.name: chunker for chunker in chunkers}
        self._tokenizer = tokenizer
        self._budget = budget
        self._room = room
        self._is_exact = budget is tokenizer and tokenizer.is_word_local
        self._settings = settings

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What decides the units: algorithm versions, tokenizers, a detecting encoder, and the settings that matter."""
        settings = self._settings
        identity: dict[str, Any] = {
            "chunker": settings.chunker,
            "versions": {"chunking": VERSION, **_versions(self._chunkers, splits=not self._is_exact)},
            "windows": {name: chunker.window for name, chunker in self._chunkers.items()},
            "overlap_tokens": settings.overlap_tokens,
            "tokenizer": self._tokenizer.identity,
            "budget_tokenizer": self._budget.identity,
            "room_tokens": self._room,
        }
        if "structural" in self._chunkers:
            identity |= settings.model_dump(include={"min_tokens", "heading_prefix", "max_context_tokens"})
        for chunker in self._chunkers.values():
            if isinstance(chunker, semantic.SemanticChunker):
                identity |= {"detection": dict(chunker.detector.identity), "semantic": chunker.settings.decisive()}
        return identity

    @property
    def detects(self) -> bool:
        """Whether cutting runs an encoder."""
        return "semantic" in self._chunkers

    def cut(self, snapshot: Snapshot) -> CutDocument:
        """The units of one document. A text in which the tokenizer finds nothing has none."""
        chunker = self._chunker_for(snapshot)
        if not snapshot.text.strip():
            return CutDocument((), chunker.name)
        read = MeasuredText(snapshot.text, self._tokenizer)
        if not read.n_tokens:
            return CutDocument((), chunker.name, {"texts_without_tokens": 1})
        measured = read if self._budget is self._tokenizer else BudgetText(read.text, self._budget, read.graphemes)
        pieces = _in_order(list(chunker.cut(snapshot, measured, self._fitter(chunker, read))))
        units = tuple(self._units(pieces, read))
        outcomes = read.counts if measured is read else read.counts + measured.counts
        counts = {name: n for name, n in sorted(outcomes.items()) if n}
        return CutDocument(units, chunker.name, counts, measured.detection)

    def explain(self, snapshot: Snapshot) -> Explanation | None:
        """Why the document is cut where it is; None for chunkers that measure nothing, and texts without tokens."""
        chunker = self._chunker_for(snapshot)
        measured = MeasuredText(snapshot.text, self._budget)
        if not isinstance(chunker, semantic.SemanticChunker) or not measured.n_tokens:
            return None
        return chunker.explain(snapshot, measured)

    def _fitter(self, chunker: Chunker, read: MeasuredText) -> Fitter:
        if self._is_exact:
            return Fitter(read)
        if self._budget is self._tokenizer:
            return Fitter(read, chunker.window, "recounted_units")
        return Fitter(read, self._room - chunker.max_context_tokens, "over_limit_units")

    def _chunker_for(self, snapshot: Snapshot) -> Chunker:
        if len(self._chunkers) == 1:
            return next(iter(self._chunkers.values()))
        return self._chunkers["structural" if has_markup(snapshot) else "recursive"]

    def _units(self, pieces: list[Piece], read: MeasuredText) -> Iterator[Unit]:
        spans = np.array([piece[:2] for piece in pieces], np.int64).reshape(-1, 2)
        for piece, n_tokens in zip(pieces, read.count_alone(spans[:, 0], spans[:, 1]).tolist(), strict=True):
            if not n_tokens:
                read.counts["units_without_tokens"] += 1
                continue
            if self._budget is self._tokenizer:
                read.counts["over_limit_units"] += n_tokens > self._room
            text = read.text[piece.start : piece.end]
            yield Unit(piece.start, piece.end, text, n_tokens, piece.context, piece.heading_path)


def has_markup(snapshot: Snapshot) -> bool:
    """Whether the author marked any structure beyond paragraphs and pages."""
    return any(block.kind not in _PLAIN_KINDS for block in snapshot.blocks)


def window_and_context(name: str, settings: ChunkingSettings, room: int) -> tuple[int, int]:
    """Tokens that the text and the context of a unit of the cutter `name` may have, of the encoder's `room`.

    Raises SettingsError where they do not fit, or the overlap does not leave a window room to advance.
    """
    reserved = settings.max_context_tokens if name == "structural" else 0
    is_encoders = settings.budget_tokenizer == "encoder"
    if settings.window_tokens is None or not is_encoders:
        # A small encoder keeps most of its room for the text.
        reserved = min(reserved, room // 3)
    window = settings.window_tokens or room - reserved
    if is_encoders and window + reserved > room:
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
    return window, reserved


def _make_chunker(
    name: str, settings: ChunkingSettings, tokenizer: Tokenizer, room: int, detection: Detection | None
) -> Chunker:
    window, reserved = window_and_context(name, settings, room)
    match name:
        case "fixed":
            return fixed.FixedChunker(window, settings.overlap_tokens)
        case "recursive":
            return recursive.RecursiveChunker(window, settings.overlap_tokens)
        case "semantic":
            if detection is None:
                raise SettingsError("chunker = semantic needs an encoder to find boundaries with; pass `detection`")
            return semantic.SemanticChunker(detection.detector, detection.settings, window, settings.overlap_tokens)
        case _:
            return structural.StructuralChunker(
                tokenizer, window, settings.overlap_tokens, settings.min_tokens, settings.heading_prefix, reserved
            )


def _in_order(pieces: list[Piece]) -> list[Piece]:
    """`pieces` by start, without those that a longer one with the same start covers."""
    longest = {piece.start: piece for piece in sorted(pieces, key=lambda piece: piece.end)}
    return [longest[start] for start in sorted(longest)]


def _versions(chunkers: Mapping[str, Chunker], *, splits: bool) -> dict[str, int]:
    modules = {module for name in chunkers for module in _MODULES[name]} | set(_SPLITTING_MODULES if splits else ())
    return {module.__name__.rpartition(".")[2]: module.VERSION for module in sorted(modules, key=lambda m: m.__name__)}

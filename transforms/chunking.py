"""Cuts documents into units: the settings' chunker, exact counts, and the cap that no embedded input exceeds."""

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from models.errors import SettingsError
from models.llm.records import Request, Result
from models.tokenizer import Tokenizer, load_budget_tokenizer
from transforms.chunkers import llm, pic, semantic
from transforms.chunkers.explaining import Explanation
from transforms.chunkers.fitting import Fitter
from transforms.chunkers.making import (
    ASKING,
    Detection,
    Questioning,
    asking_chunker,
    asks_nobody,
    make_detection,
    plain_chunker,
    window_and_context,
)
from transforms.chunkers.measuring import BudgetText, MeasuredText
from transforms.chunkers.protocol import AskingChunker, Chunker, Piece, Source
from transforms.chunkers.versions import versions
from transforms.elements import CutDocument, Snapshot, Unit
from transforms.rewriting.asking import Asking
from transforms.rewriting.dialogues import Ask, Dialogue, hold
from transforms.rewriting.queries import questions_sha256
from transforms.rewriting.rewriter import Rewriter
from transforms.rewriting.traffic import busiest
from transforms.settings import ChunkingSettings

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = [
    "ASKING",
    "VERSION",
    "Cutter",
    "Detection",
    "Questioning",
    "asks_nobody",
    "has_markup",
    "make_cutter",
    "make_detection",
    "nobody",
    "window_and_context",
]

VERSION = 1

_PLAIN_KINDS = frozenset({"paragraph", "page"})


def make_cutter(
    settings: ChunkingSettings,
    tokenizer: Tokenizer,
    prompt_tokens: int = 0,
    detection: Detection | None = None,
    questioning: Questioning | None = None,
) -> "Cutter":
    """The cutter that `settings` ask for. `prompt_tokens` are what the encoder's document prompt takes of an input.

    `detection` is needed by the semantic chunker and by PIC, `questioning` by PIC and LLM boundaries.

    Raises SettingsError where window and overhead exceed the encoder's limit, or the overlap the window; for a budget
    that cannot be counted as `load_budget_tokenizer`.
    """
    busy = _busiest(settings, questioning)
    names: tuple[str, ...] = (settings.chunker,) if settings.chunker != "auto" else ()
    names += ("structural", "recursive") if settings.chunker == "auto" or busy is not None else ()
    room = tokenizer.max_input_tokens - tokenizer.overhead_tokens - prompt_tokens
    if room < 1:
        raise SettingsError(
            f"max_input_tokens = {tokenizer.max_input_tokens} is taken up by {tokenizer.overhead_tokens} special "
            f"tokens and {prompt_tokens} of the prompt; raise it or shorten document_prompt"
        )
    budget = load_budget_tokenizer(settings.budget_tokenizer, tokenizer)
    rewriter = _rewriter(questioning, tokenizer, room)
    room -= rewriter.reserved_tokens(settings.window_tokens) if rewriter else 0
    windows = {name: window_and_context(name, settings, room) for name in names}
    chunkers = [
        asking_chunker(name, settings, windows[name][0], detection, questioning)
        if name in ASKING
        else plain_chunker(name, settings, tokenizer, *windows[name], detection)
        for name in names
    ]
    asking = questioning.asking if questioning else None
    return Cutter(chunkers, settings, tokenizer, budget, room, asking, busy, rewriter)


class Cutter:
    """Cuts snapshots into units. `room` is the number of tokens that context and text of a unit may take together.

    Windows are counted with `budget`, `room` and every unit's `n_tokens` with `tokenizer`, which may be the same. Where
    `busy` is given, only documents at these addresses are cut by asking. What `rewriter` writes comes with the units.
    """

    def __init__(
        self,
        chunkers: Sequence[Chunker | AskingChunker],
        settings: ChunkingSettings,
        tokenizer: Tokenizer,
        budget: Tokenizer,
        room: int,
        asking: Asking | None = None,
        busy: frozenset[str] | None = None,
        rewriter: Rewriter | None = None,
    ) -> None:
        self._chunkers = {chunker.name: chunker for chunker in chunkers}
        self._tokenizer = tokenizer
        self._budget = budget
        self._room = room
        self._is_exact = budget is tokenizer and tokenizer.is_word_local
        self._settings = settings
        self._asking = asking
        self._busy = busy
        self._rewriter = rewriter

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What decides the units: algorithm versions, tokenizers, a detecting encoder, and the settings that matter."""
        settings = self._settings
        identity: dict[str, Any] = {
            "chunker": settings.chunker,
            "versions": {"chunking": VERSION, **versions(self._chunkers, splits=not self._is_exact)},
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
            elif isinstance(chunker, pic.PicChunker):
                identity |= {"detection": dict(chunker.detector.identity), "pic": _decisive(chunker)}
                identity |= _llm_identity(chunker.asking, chunker.prompt.version)
            elif isinstance(chunker, llm.LlmChunker):
                identity |= _llm_identity(chunker.asking, chunker.prompt.version)
        if self._busy is not None:
            identity["busiest_sha256"] = hashlib.sha256("\n".join(sorted(self._busy)).encode()).hexdigest()
        if self._rewriter is not None and self._asking is not None:
            rewriting = {**self._rewriter.identity, "llm": dict(self._asking.identity)}
            identity["rewriting"] = {**rewriting, "llm_context_tokens": self._asking.context_tokens}
        return identity

    @property
    def detects(self) -> bool:
        """Whether cutting runs an encoder."""
        return not self._chunkers.keys().isdisjoint(("semantic", "pic"))

    @property
    def asks(self) -> bool:
        """Whether cutting asks a language model."""
        return not self._chunkers.keys().isdisjoint(ASKING)

    @property
    def ask(self) -> Ask:
        """What the dialogues of `dialogue` are held with."""
        return self._asking.ask if self._asking else nobody

    @property
    def addresses(self) -> frozenset[str]:
        """The addresses that matter: who cuts a document at any other need not know where it lies."""
        found = frozenset(self._busy or ())
        for chunker in self._chunkers.values():
            found |= frozenset(chunker.questions) if isinstance(chunker, pic.PicChunker) else frozenset()
        return found

    def cut(self, snapshot: Snapshot, uri: str = "") -> CutDocument:
        """The units of one document. A text in which the tokenizer finds nothing has none."""
        return hold(self.dialogue(Source(snapshot, uri=uri)), self.ask)

    def dialogue(self, source: Source) -> Dialogue[CutDocument]:
        """`cut` as a dialogue, for many documents to be asked about together; most chunkers ask nothing."""
        snapshot, chunker = source.snapshot, self._chunker_for(source)
        if not snapshot.text.strip():
            return CutDocument((), chunker.name)
        read = MeasuredText(snapshot.text, self._tokenizer)
        if not read.n_tokens:
            return CutDocument((), chunker.name, {"texts_without_tokens": 1})
        measured = read if self._budget is self._tokenizer else BudgetText(read.text, self._budget, read.graphemes)
        fitter = self._fitter(chunker, read)
        if _is_asking(chunker):
            pieces = yield from chunker.cut_by_asking(source, measured, fitter)
        else:
            pieces = list(chunker.cut(snapshot, measured, fitter))
        units = tuple(self._units(_in_order(pieces), read))
        outcomes = read.counts if measured is read else read.counts + measured.counts
        counts = {name: n for name, n in sorted(outcomes.items()) if n}
        document = CutDocument(units, chunker.name, counts, measured.detection)
        if self._rewriter is None:
            return document
        return (yield from self._rewriter.dialogue(snapshot, document, source.content_id))

    def explain(self, snapshot: Snapshot, uri: str = "") -> Explanation | None:
        """Why the document is cut where it is; None for chunkers that measure nothing, and texts without tokens."""
        return hold(self.explaining(Source(snapshot, uri=uri)), self.ask)

    def explaining(self, source: Source) -> Dialogue[Explanation | None]:
        """`explain` as a dialogue, for many documents to be asked about together."""
        snapshot, chunker = source.snapshot, self._chunker_for(source)
        measured = MeasuredText(snapshot.text, self._budget)
        if not measured.n_tokens or not snapshot.text.strip():
            return None
        if _is_asking(chunker):
            return (yield from chunker.explain_by_asking(source, measured))
        return chunker.explain(snapshot, measured) if isinstance(chunker, semantic.SemanticChunker) else None

    def _fitter(self, chunker: Chunker | AskingChunker, read: MeasuredText) -> Fitter:
        if self._is_exact:
            return Fitter(read)
        if self._budget is self._tokenizer:
            return Fitter(read, chunker.window, "recounted_units")
        return Fitter(read, self._room - chunker.max_context_tokens, "over_limit_units")

    def _chunker_for(self, source: Source) -> Chunker | AskingChunker:
        if len(self._chunkers) == 1 or (self._busy is not None and source.uri in self._busy):
            return next(iter(self._chunkers.values()))
        return self._chunkers["structural" if has_markup(source.snapshot) else "recursive"]

    def _units(self, pieces: list[Piece], read: MeasuredText) -> Iterator[Unit]:
        spans = np.array([piece[:2] for piece in pieces], np.int64).reshape(-1, 2)
        for piece, n_tokens in zip(pieces, read.count_alone(spans[:, 0], spans[:, 1]).tolist(), strict=True):
            if not n_tokens:
                read.counts["units_without_tokens"] += 1
                continue
            if self._budget is self._tokenizer:
                read.counts["over_limit_units"] += n_tokens > self._room
            text = read.text[piece.start : piece.end]
            yield Unit(piece.start, piece.end, text, n_tokens, piece.context, piece.heading_path, label=piece.label)


def _is_asking(chunker: Chunker | AskingChunker) -> "TypeIs[AskingChunker]":
    return chunker.name in ASKING  # a check of the Protocol takes as long as cutting a page


def has_markup(snapshot: Snapshot) -> bool:
    """Whether the author marked any structure beyond paragraphs and pages."""
    return any(block.kind not in _PLAIN_KINDS for block in snapshot.blocks)


def _busiest(settings: ChunkingSettings, questioning: Questioning | None) -> frozenset[str] | None:
    """The addresses that alone are cut by asking; None where all are, or none."""
    if settings.chunker != "llm" or questioning is None or questioning.boundaries.traffic is None:
        return None
    return busiest(questioning.boundaries.traffic, questioning.boundaries.busiest_share)


def _rewriter(questioning: Questioning | None, tokenizer: Tokenizer, room: int) -> Rewriter | None:
    if questioning is None or questioning.rewriting.rewrite == "none":
        return None
    asking = questioning.asking
    return Rewriter(questioning.rewriting, tokenizer, room, asking.context_tokens, asking.count_tokens)


def _decisive(chunker: pic.PicChunker) -> dict[str, Any]:
    """The settings that decide what PIC makes, and the questions instead of their file's name."""
    asked: dict[str, Any] = {}
    if chunker.questions:
        asked = {"questions_sha256": questions_sha256(chunker.questions), "query_prompt": chunker.detector.query_prompt}
    other = {"other_sha256": hashlib.sha256(chunker.other.encode()).hexdigest()} if chunker.other else {}
    return chunker.settings.model_dump(exclude={"query_log", "pic_other_document"}) | asked | other


def _llm_identity(asking: Asking, prompt_version: str) -> dict[str, Any]:
    return {"llm": dict(asking.identity), "prompt": prompt_version, "llm_context_tokens": asking.context_tokens}


def nobody(requests: Sequence[Request]) -> Sequence[Result]:
    """An `ask` for where nothing is ever asked. Raises LookupError."""
    raise LookupError(f"{len(requests)} requests, and no language model to ask")


def _in_order(pieces: list[Piece]) -> list[Piece]:
    """`pieces` by start, without those that a longer one with the same start covers."""
    longest = {piece.start: piece for piece in sorted(pieces, key=lambda piece: piece.end)}
    return [longest[start] for start in sorted(longest)]

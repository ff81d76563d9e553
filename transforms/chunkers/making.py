"""Makes the chunkers that the settings name, with the windows that their encoder leaves them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from models.encoder import Encoder, load_encoder
from models.errors import SettingsError
from models.settings import EncoderSettings
from models.text_files import read_text
from models.tokenizer import Tokenizer
from transforms.chunkers import anchors, fixed, llm, pic, recursive, semantic, structural
from transforms.chunkers.protocol import AskingChunker, Chunker
from transforms.extraction.normalising import normalise
from transforms.rewriting.asking import Asking
from transforms.rewriting.prompts import load_prompt
from transforms.rewriting.queries import Questions, read_questions
from transforms.rewriting.settings import BoundarySettings, PicSettings, RewritingSettings
from transforms.semantic.detection import Detector, detection_encoder
from transforms.settings import ChunkingSettings, SemanticSettings

ASKING = frozenset({"pic", "llm"})
"""The chunkers that ask a language model."""

MAX_OTHER_BYTES = 1 << 20


@dataclass(frozen=True)
class Detection:
    """How boundaries are found, and by which encoder, for the chunkers that read before they cut."""

    settings: SemanticSettings
    detector: Detector


def make_detection(
    settings: SemanticSettings,
    embedder: EncoderSettings,
    tell: Callable[[int], None] = lambda n_tokens: None,
    load: Callable[[EncoderSettings], Encoder] = load_encoder,
) -> Detection:
    """Detection as `settings` ask for it; `tell` and `load` are as for `Detector`.

    Loads nothing: that waits for the first text.
    """
    return Detection(settings, Detector(detection_encoder(settings, embedder), load, tell))


@dataclass(frozen=True)
class Questioning:
    """How a language model is asked where to cut, for the chunkers that ask one, and what it writes of what was cut."""

    asking: Asking
    pic: PicSettings = field(default_factory=PicSettings)
    boundaries: BoundarySettings = field(default_factory=BoundarySettings)
    rewriting: RewritingSettings = field(default_factory=RewritingSettings)


def window_and_context(name: str, settings: ChunkingSettings, room: int) -> tuple[int, int]:
    """Tokens that the text and the context of a unit of the cutter `name` may have, of the encoder's `room`.

    Raises SettingsError where they do not fit, the overlap does not leave a window room to advance, or a window cannot
    hold `min_tokens`.
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
    if settings.window_tokens is None:
        try:
            settings.check_minimum(window)
        except ValueError as error:
            raise SettingsError(str(error)) from error
    return window, reserved


def plain_chunker(
    name: str,
    settings: ChunkingSettings,
    tokenizer: Tokenizer,
    window: int,
    reserved: int,
    detection: Detection | None,
) -> Chunker:
    """The chunker `name` that asks nobody, with `window` tokens of text and `reserved` of context."""
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


def asking_chunker(
    name: str, settings: ChunkingSettings, window: int, detection: Detection | None, questioning: Questioning | None
) -> AskingChunker:
    """The chunker `name` of `ASKING`. Raises SettingsError where nobody is there to be asked, or a file is bad."""
    if questioning is None:
        raise SettingsError(
            f"chunker = {name!r} asks a language model, which is not to be had here; take another chunker"
        )
    overlap = settings.overlap_tokens
    if name == "llm":
        return llm.LlmChunker(questioning.asking, load_prompt("boundaries"), window, overlap)
    if detection is None:
        raise SettingsError("chunker = pic needs an encoder to find boundaries with; pass `detection`")
    chosen, prompt = questioning.pic, load_prompt("summary")
    questions: Questions = read_questions(chosen.query_log) if chosen.query_log is not None else {}
    other = _other_document(chosen.pic_other_document) if chosen.pic_other_document is not None else ""
    return pic.PicChunker(detection.detector, chosen, questioning.asking, prompt, window, overlap, questions, other)


def asks_nobody(chunker: str, settings: PicSettings) -> bool:
    """Whether the chunker `chunker` needs no language model: one of `ASKING` may, for evaluation."""
    return chunker not in ASKING or (chunker == "pic" and settings.pic_anchor in anchors.ASKING_NOBODY)


def _other_document(path: str) -> str:
    text, _ = normalise(read_text(Path(path), MAX_OTHER_BYTES, "name a shorter one"))
    if not text.strip():
        raise SettingsError(f"{path!a} is empty; pic_other_document must be a text to summarise")
    return text

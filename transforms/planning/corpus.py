"""The passes that a corpus asks for, from counts of its documents: exact for fixed windows, assumed for the rest."""

from collections.abc import Mapping

import msgspec

from models.facts import EncoderFacts
from models.prices import Assumptions
from transforms.planning.counts import units_of_size
from transforms.planning.figures import Mark
from transforms.planning.lengths import Lengths
from transforms.planning.work import EncoderPass, even_pass, fixed_pass
from transforms.settings import ChunkingSettings

CUTTERS = ("fixed", "recursive", "structural")
AUTO = "auto"
"""Structural cuts where a document has markup, recursive ones elsewhere: known of a sample only."""
LEVELS = ("sentence", "paragraph", "section")


class Windows(msgspec.Struct, frozen=True):
    """Content tokens that each cutter's units may have, and that neighbours share."""

    fixed: int
    recursive: int
    structural: int
    overlap_tokens: int = 0


def settings_of(name: str, settings: ChunkingSettings, room: int) -> ChunkingSettings:
    """The settings under which a plan cuts with the cutter `name`, for an encoder that leaves `room` tokens.

    One window is asked for and every cutter is planned: where it leaves no room for the contexts of structural units,
    their window or their contexts are made to fit, unless it was structural cutting that was asked for.
    """
    window, is_asked = settings.window_tokens, settings.chunker == name
    chosen = settings.model_copy(update={"chunker": name})
    if name != "structural" or is_asked or window is None or settings.budget_tokenizer != "encoder":
        return chosen
    if window > room or window + settings.max_context_tokens <= room:
        return chosen
    largest = room - min(settings.max_context_tokens, room // 3)
    fitting = {"window_tokens": None} if window > largest else {"max_context_tokens": room - window}
    return chosen.model_copy(update=fitting)


class CorpusPasses(msgspec.Struct, frozen=True):
    """A corpus as the planner knows it. `passes` holds one of each name in CUTTERS and LEVELS, and AUTO where known.

    `source` says in words where the counts are from; `mark` how documents and tokens are known.
    """

    n_documents: float
    n_tokens: float
    mark: Mark
    source: str
    passes: Mapping[str, EncoderPass]
    windows: Windows


def passes_from_lengths(
    lengths: Lengths, windows: Windows, facts: EncoderFacts, assumed: Assumptions, source: str
) -> CorpusPasses:
    """The passes over documents of which only the lengths are known."""
    n_documents, n_tokens = float(lengths.n_documents), float(lengths.n_tokens)
    n_filled = float(lengths.total((lengths.tokens > 0).astype(lengths.tokens.dtype)))
    known = n_filled, n_tokens, windows.overlap_tokens, facts, assumed.unit_unevenness
    recursive = _packed(*known, windows.recursive, assumed.recursive_fill)
    structural = _packed(*known, windows.structural, assumed.structural_fill, assumed.context_tokens_per_unit)
    return CorpusPasses(
        n_documents=n_documents,
        n_tokens=n_tokens,
        mark="formula",
        source=source,
        passes={
            "fixed": fixed_pass(lengths, windows.fixed, windows.overlap_tokens, facts.overhead_tokens),
            "recursive": recursive,
            "structural": structural,
            **{level: _level(level, n_filled, n_tokens, facts, assumed) for level in LEVELS},
        },
        windows=windows,
    )


def _packed(
    n_documents: float, n_tokens: float, overlap: int, facts: EncoderFacts, unevenness: float, window: int, fill: float,
    context_tokens: float = 0.0,
) -> EncoderPass:  # fmt: skip
    """Units filled to a share of their window. Overlap is whole sentences: the stated one is the most there is."""
    stride = max(1.0, fill * window - overlap)
    n_units = max(n_documents, (n_tokens - n_documents * overlap) / stride)
    content = n_tokens + (n_units - n_documents) * overlap
    basis = f"units assumed to fill {fill:.0%} of {window} tokens"
    return even_pass(
        n_units, content, window + context_tokens + facts.overhead_tokens, facts.overhead_tokens + context_tokens,
        basis, content_mark="assumed" if overlap else "formula", unevenness=unevenness,
    )  # fmt: skip


def _level(level: str, n_documents: float, n_tokens: float, facts: EncoderFacts, assumed: Assumptions) -> EncoderPass:
    size = min(float(getattr(assumed, f"tokens_per_{level}")), float(facts.room_tokens))
    n_units = max(n_documents, units_of_size(n_tokens, size))
    is_sentence = level == "sentence"
    slots = assumed.slots_per_sentence if is_sentence else size + facts.overhead_tokens
    unevenness = assumed.sentence_unevenness if is_sentence else assumed.unit_unevenness
    basis = f"{level}s assumed to have {size:g} tokens, each read once"
    return even_pass(
        n_units, n_tokens, slots, facts.overhead_tokens, basis, content_mark="formula", unevenness=unevenness
    )

"""Level 5: a language model names the sentences after which the subject changes."""

from dataclasses import dataclass

from transforms.chunkers.explaining import Explanation, Sentence
from transforms.chunkers.fitting import Fitter
from transforms.chunkers.measuring import MeasuredText
from transforms.chunkers.protocol import Piece, Source
from transforms.chunkers.runs import run_pieces
from transforms.chunkers.sentence_spans import own_sentences
from transforms.rewriting.asking import Asking
from transforms.rewriting.boundaries import Cuts, find_boundaries, structural_fallback
from transforms.rewriting.dialogues import Dialogue
from transforms.rewriting.prompts import Prompt

VERSION = 1

Spans = list[tuple[int, int]]


@dataclass(frozen=True)
class LlmChunker:
    """Cuts where the model says; a window whose answers are of no use is cut by the author's structure, counted."""

    asking: Asking
    prompt: Prompt
    window: int
    overlap: int = 0
    name = "llm"
    max_context_tokens = 0

    def cut_by_asking(self, source: Source, measured: MeasuredText, fitter: Fitter) -> Dialogue[list[Piece]]:
        spans, found = yield from self._ask(source, measured)
        indices = measured.clean_indices([spans[number][0] for number in found.before]).tolist()
        firsts = sorted({index for index in indices if 0 < index < measured.n_tokens})
        return list(run_pieces(source.snapshot, measured, fitter, firsts, self.window, self.overlap))

    def explain_by_asking(self, source: Source, measured: MeasuredText) -> Dialogue[Explanation]:
        """Every sentence, and whether a cut follows it."""
        spans, found = yield from self._ask(source, measured)
        before = set(found.before)
        rows = (
            Sentence(start, end, measured.count(start, end), None, number + 1 in before)
            for number, (start, end) in enumerate(spans)
        )
        return Explanation(self.name, "model", None, tuple(rows))

    def _ask(self, source: Source, measured: MeasuredText) -> Dialogue[tuple[Spans, Cuts]]:
        spans = own_sentences(source.snapshot)
        found = yield from find_boundaries(
            source.snapshot.text,
            spans,
            self.prompt,
            structural_fallback(source.snapshot, spans),
            context_tokens=self.asking.context_tokens,
            count_tokens=self.asking.count_tokens,
            owner=source.content_id,
        )
        measured.counts.update(found.counts)
        return spans, found

"""Level 4: cuts where the distance between neighbouring windows of sentences is above a threshold."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transforms.chunkers.explaining import Explanation, Sentence
from transforms.chunkers.fitting import Fitter
from transforms.chunkers.measuring import MeasuredText
from transforms.chunkers.protocol import Piece
from transforms.chunkers.runs import run_pieces
from transforms.chunkers.sentence_spans import Sentences
from transforms.elements import Snapshot
from transforms.semantic.detection import Detector
from transforms.semantic.distances import gap_distances, mean_distances, window_ranges, window_sides
from transforms.semantic.thresholds import Breakpoints, find_breakpoints
from transforms.settings import SemanticSettings

VERSION = 1


@dataclass(frozen=True)
class SemanticChunker:
    """Cuts the bare text where its subject changes; each piece carries the heading path that holds at its start.

    A run longer than the window is packed from its paragraphs, sentences, words. A text without a cut of its own is
    cut like that as a whole, which `no_separation` counts.
    """

    detector: Detector
    settings: SemanticSettings
    window: int
    overlap: int = 0
    name = "semantic"
    max_context_tokens = 0

    def cut(self, snapshot: Snapshot, measured: MeasuredText, fitter: Fitter) -> Iterator[Piece]:
        sentences, found = self._detect(snapshot, measured)
        firsts = sentences.firsts[1:][found.is_cut]
        if not len(firsts) and len(sentences) > 1:
            measured.counts["no_separation"] += 1
        yield from run_pieces(snapshot, measured, fitter, firsts.tolist(), self.window, self.overlap)

    def explain(self, snapshot: Snapshot, measured: MeasuredText) -> Explanation:
        """Every sentence with the distance behind it, and whether a cut was made there."""
        sentences, found = self._detect(snapshot, measured)
        signals = [*found.signal.tolist(), None]
        is_cut = [*found.is_cut.tolist(), False]
        rows = (
            Sentence(*sentences.span(row), int(sentences.n_tokens[row]), signals[row], is_cut[row])
            for row in range(len(sentences))
        )
        measure = "gradient" if self.settings.threshold == "gradient" else "distance"
        threshold = found.threshold if np.isfinite(found.threshold) else None
        return Explanation(self.name, measure, threshold, tuple(rows))

    def _detect(self, snapshot: Snapshot, measured: MeasuredText) -> tuple[Sentences, Breakpoints]:
        sentences = Sentences(snapshot, measured, self.detector.tokenizer, self.detector.room_tokens)
        distances = self._distances(sentences, measured) if len(sentences) > 1 else np.zeros(len(sentences) - 1)
        chosen = self.settings
        return sentences, find_breakpoints(
            distances, chosen.threshold, chosen.factor, chosen.min_distance, chosen.min_run_sentences
        )

    def _distances(self, sentences: Sentences, measured: MeasuredText) -> NDArray[np.float64]:
        chosen = self.settings
        if chosen.detection_windows == "text":
            return self._text_distances(sentences, measured)
        vectors = self._encode(sentences.texts, measured)
        return mean_distances(vectors, sentences.n_tokens, chosen.neighbour_sentences, chosen.compare_windows)

    def _text_distances(self, sentences: Sentences, measured: MeasuredText) -> NDArray[np.float64]:
        texts: list[str] = []
        for before, after in window_sides(self.settings.neighbour_sentences, self.settings.compare_windows):
            ranges = window_ranges(sentences.n_tokens, before, after, self.detector.room_tokens)
            texts += [sentences.text(first, last) for first, last in zip(*(r.tolist() for r in ranges), strict=True)]
        vectors = self._encode(texts, measured)
        return gap_distances(vectors[: len(sentences) - 1], vectors[len(sentences) + 1 :])

    def _encode(self, texts: list[str], measured: MeasuredText) -> NDArray[np.float16]:
        found = self.detector.encode(texts)
        measured.detection = found.cost
        measured.counts["detections_without_vector"] += int((~found.valid).sum())
        measured.counts["over_limit_detections"] += found.n_over_limit
        return found.vectors

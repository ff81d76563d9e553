"""Pseudo-instruction chunking: sentences are labelled by how near they are to a summary, and cut where labels change.

The summary's vector stands in for the questions to come. A label says on which side of the document's mean a sentence
lies; it is metadata, never a judgement of usefulness.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transforms.chunkers.anchors import CENTROID, Anchor, Anchors, centroid
from transforms.chunkers.explaining import Explanation, Sentence
from transforms.chunkers.fitting import Fitter
from transforms.chunkers.measuring import MeasuredText
from transforms.chunkers.protocol import Piece, Source
from transforms.chunkers.runs import run_pieces
from transforms.chunkers.sentence_spans import Sentences, own_sentences
from transforms.elements import DetectionCost
from transforms.rewriting.asking import Asking
from transforms.rewriting.dialogues import Dialogue
from transforms.rewriting.prompts import Prompt
from transforms.rewriting.queries import Questions
from transforms.rewriting.settings import PicSettings
from transforms.semantic.detection import Detector

VERSION = 3

# Vectors of equal texts differ in the last bits with the batch they were in; no cut may depend on that.
_DECIMALS = 4


def similarities(sentences: NDArray[np.floating], anchor: NDArray[np.floating]) -> NDArray[np.float64]:
    """Cosine of each sentence to the anchor, rounded to 1e-4.

    :param sentences: float (n, d). :param anchor: float (d,); a zero vector, of either, has similarity 0.
    :returns: float64 (n,).
    """
    rows, target = sentences.astype(np.float64), anchor.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(target)
    products = rows @ target
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return np.asarray(np.round(cosines, _DECIMALS))


def labels(similarity: NDArray[np.float64], min_spread: float = 0.0) -> NDArray[np.bool_]:
    """True where a sentence's similarity is at or above the mean of all, bool (n,).

    Where the similarities spread less than `min_spread`, or not at all, the document is one run: all True.

    >>> labels(np.array([0.9, 0.8, 0.1, 0.2, 0.7])).tolist()
    [True, True, False, False, True]
    >>> labels(np.array([0.51, 0.5]), min_spread=0.1).tolist()
    [True, True]
    """
    if not similarity.size or np.round(np.ptp(similarity), _DECIMALS) < max(min_spread, 10.0**-_DECIMALS / 2):
        return np.ones(len(similarity), np.bool_)
    # Rounded like the similarities, so that the sum's order cannot move a sentence that lies on the mean.
    return np.asarray(similarity >= np.round(similarity.mean(), 2 * _DECIMALS))


def cuts(is_near: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The numbers of the sentences before which a run of equal labels begins, without 0, ascending.

    >>> cuts(np.array([True, True, False, True])).tolist()
    [2, 3]
    """
    return np.flatnonzero(is_near[1:] != is_near[:-1]) + 1


def label(is_near: bool) -> str:
    """The name of a label, as units carry it."""
    return "near" if is_near else "far"


class Scored(NamedTuple):
    """Sentences with their similarity to `anchor`, float64 (n,), and their labels, bool (n,).

    Without an anchor the similarities are zeros, and all labels equal.
    """

    sentences: Sentences
    similarity: NDArray[np.float64]
    is_near: NDArray[np.bool_]
    anchor: str


@dataclass(frozen=True)
class PicChunker:
    """Cuts where sentences change sides of the document's mean similarity to its summary, or to its real questions.

    Small documents, those without an anchor and those whose sentences are all alike are one run, each of them counted.
    `other` is the text whose summary is the anchor where the settings ask for another document's.
    """

    detector: Detector
    settings: PicSettings
    asking: Asking
    prompt: Prompt
    window: int
    overlap: int = 0
    questions: Questions = field(default_factory=dict)
    other: str = ""
    name = "pic"
    max_context_tokens = 0

    def cut_by_asking(self, source: Source, measured: MeasuredText, fitter: Fitter) -> Dialogue[list[Piece]]:
        scored = yield from self._score(source, measured)
        begins = cuts(scored.is_near)
        firsts = scored.sentences.firsts[begins].tolist()
        measured.counts["no_separation"] += bool(scored.anchor) and not firsts
        names = [label(bool(scored.is_near[row])) for row in (0, *begins.tolist())] if firsts else ()
        return list(run_pieces(source.snapshot, measured, fitter, firsts, self.window, self.overlap, names))

    def explain_by_asking(self, source: Source, measured: MeasuredText) -> Dialogue[Explanation]:
        """Every sentence with its similarity and label; the threshold is the mean."""
        sentences, similarity, is_near, anchor = yield from self._score(source, measured)
        ends = set((cuts(is_near) - 1).tolist())
        rows = tuple(
            Sentence(
                *sentences.span(row),
                int(sentences.n_tokens[row]),
                float(similarity[row]) if anchor else None,
                row in ends,
                label(bool(is_near[row])) if anchor else "",
            )
            for row in range(len(sentences))
        )
        return Explanation(self.name, "similarity", float(similarity.mean()) if anchor else None, rows, anchor)

    def _score(self, source: Source, measured: MeasuredText) -> Dialogue[Scored]:
        sentences = Sentences(source.snapshot, measured, self.detector.tokenizer, self.detector.room_tokens)
        n = len(sentences)
        nothing = Scored(sentences, np.zeros(n), np.ones(n, np.bool_), "")
        spans = own_sentences(source.snapshot)
        if self._is_small(len(source.snapshot.text), len(spans)):
            measured.counts["below_pic_size"] += 1
            return nothing
        anchor = Anchor()
        if self.settings.pic_anchor != "centroid":
            anchor = yield from self._anchors.find(source, spans, sentences.texts, measured.counts)
            if not anchor.texts:
                return nothing
        vectors, target = self._encode(sentences.texts, anchor, measured)
        measured.counts["zero_anchors"] += not target.any()
        similarity = similarities(vectors, target)
        is_near = labels(similarity, self.settings.pic_min_spread)
        return Scored(sentences, similarity, is_near, " ".join(anchor.texts) or CENTROID)

    def _encode(
        self, sentences: list[str], anchor: Anchor, measured: MeasuredText
    ) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
        """Vectors of the sentences and of what they are compared with: the anchor, or their own mean without one."""
        n, asked = len(sentences), anchor.texts if anchor.are_questions else ()
        found = [self.detector.encode([*sentences, *(() if asked else anchor.texts)])]
        found += [self.detector.encode_questions(asked)] if asked else []
        measured.detection = sum((part.cost for part in found), DetectionCost())
        measured.counts["detections_without_vector"] += sum(int((~part.valid).sum()) for part in found)
        measured.counts["over_limit_detections"] += sum(part.n_over_limit for part in found)
        vectors = np.concatenate([part.vectors for part in found])
        return vectors[:n], vectors[n:].astype(np.float64).mean(axis=0) if anchor.texts else centroid(vectors)

    def _is_small(self, n_chars: int, n_sentences: int) -> bool:
        return n_chars < self.settings.pic_min_chars or n_sentences < self.settings.pic_min_sentences

    @property
    def _anchors(self) -> Anchors:
        return Anchors(self.settings, self.asking, self.prompt, self.questions, self.other)

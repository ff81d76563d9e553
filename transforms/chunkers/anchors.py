"""What stands for the questions to come: real questions or a summary, and three that only show what those are worth."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transforms.chunkers.protocol import Source
from transforms.chunkers.sentence_spans import own_sentences
from transforms.elements import Snapshot
from transforms.rewriting.asking import Asking
from transforms.rewriting.dialogues import Dialogue
from transforms.rewriting.prompts import Prompt
from transforms.rewriting.queries import Questions
from transforms.rewriting.settings import PicSettings
from transforms.rewriting.summaries import Span, summarise

VERSION = 2

ASKING_NOBODY = frozenset({"centroid", "sentence"})
"""Anchors that come from the document itself, so that no language model is needed."""

CENTROID = "the mean of the document's own sentences"


class Anchor(NamedTuple):
    """Texts whose mean vector is a document's anchor, and whether they are encoded as questions are."""

    texts: tuple[str, ...] = ()
    are_questions: bool = False


@dataclass(frozen=True)
class Anchors:
    """Finds a document's anchor. `other` is the text that anchor `other` summarises."""

    settings: PicSettings
    asking: Asking
    prompt: Prompt
    questions: Questions
    other: str = ""

    def find(
        self, source: Source, spans: Sequence[Span], sentences: Sequence[str], counts: Counter[str]
    ) -> Dialogue[Anchor]:
        """A dialogue that returns it; without texts where there is nothing to go by, which is counted.

        :param spans: the sentences as the model is shown them. :param sentences: those that the encoder reads.
        """
        match self.settings.pic_anchor:
            case "sentence":
                return Anchor((random_sentence(sentences),))
            case "other" if source.snapshot.text == self.other:
                counts["anchored_on_itself"] += 1
                return Anchor()
            case "other":
                other = Snapshot(self.other)
                return (yield from self._summary(Source(other), own_sentences(other), counts))
        if questions := self.questions.get(source.uri):
            counts["anchored_on_questions"] += 1
            return Anchor(questions, are_questions=True)
        return (yield from self._summary(source, spans, counts))

    def _summary(self, source: Source, spans: Sequence[Span], counts: Counter[str]) -> Dialogue[Anchor]:
        summary = yield from summarise(
            source.snapshot.text,
            spans,
            self.prompt,
            context_tokens=self.asking.context_tokens,
            count_tokens=self.asking.count_tokens,
            owner=source.content_id,
        )
        counts.update(summary.counts)
        return Anchor((summary.text,) if summary.text else ())


def random_sentence(sentences: Sequence[str]) -> str:
    """One of the sentences, drawn by a hash of them all: the same at every run, and any of them as likely.

    >>> random_sentence(["One.", "Two.", "Three."])
    'Three.'
    """
    digest = hashlib.sha256("\n".join(sentences).encode()).digest()
    return sentences[int.from_bytes(digest[:8]) % len(sentences)]


def centroid(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """The mean direction S/|S| of vectors, float (n, d), with S the sum of their directions; zeros where S is zero.

    The cosines of the vectors to it add up to |S|, which measures how alike they are, and no intent.

    >>> centroid(np.array([[2.0, 0.0], [0.0, 1.0]])).round(3).tolist()
    [0.707, 0.707]
    """
    rows = vectors.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    total = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0).sum(axis=0)
    length = np.linalg.norm(total)
    # What is left of vectors that cancel out is rounding, and no direction.
    return np.asarray(total / length) if length > 1e-6 * max(len(rows), 1) else np.zeros_like(total)

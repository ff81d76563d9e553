"""Why a chunker cut where it did: its sentences with the scores that decided."""

import msgspec


class Sentence(msgspec.Struct, frozen=True):
    """A sentence [start, end) with what the chunker measured at it; `is_cut` says that a cut follows it.

    `score` is None where there is nothing to measure, such as a distance behind the last sentence.
    """

    start: int
    end: int
    n_tokens: int
    score: float | None
    is_cut: bool


class Explanation(msgspec.Struct, frozen=True):
    """All sentences of one document. Cuts are where `measure` is above `threshold`, None where nothing was compared."""

    chunker: str
    measure: str
    threshold: float | None
    sentences: tuple[Sentence, ...]

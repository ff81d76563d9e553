"""Why a chunker cut where it did: its sentences with the scores that decided."""

import msgspec


class Sentence(msgspec.Struct, frozen=True):
    """A sentence [start, end) with what the chunker measured at it; `is_cut` says that a cut follows it.

    `score` is None where there is nothing to measure, such as a distance behind the last sentence. `label` is near or
    far where cuts are changes of the label, else empty.
    """

    start: int
    end: int
    n_tokens: int
    score: float | None
    is_cut: bool
    label: str = ""


class Explanation(msgspec.Struct, frozen=True):
    """All sentences of one document. `threshold` is None where nothing was compared.

    Cuts are where a `distance` or `gradient` is above the threshold, where a `similarity` (to `anchor`, a summary or
    the questions that stand for it) changes sides, or where a `model` named them.
    """

    chunker: str
    measure: str
    threshold: float | None
    sentences: tuple[Sentence, ...]
    anchor: str = ""

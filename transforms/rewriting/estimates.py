"""What propositions could gain, estimated on a sample of passages before anyone pays for them.

Sentences stand in for facts: where a sentence holds several, `m` and the headroom are larger than what is said here.
The headroom is that of an idealised geometry (`transforms.planning.geometry`): compare corpora with it, and expect no
gain of that size.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.errors import SettingsError
from transforms.chunkers.sentence_spans import own_sentences
from transforms.elements import SOURCE_LEVELS, CutDocument, Snapshot
from transforms.planning.geometry import distractor_wins_above, gold_score, headroom
from transforms.rewriting.checks import has_open_subject
from transforms.rewriting.languages import language_of
from transforms.rewriting.passages import sentences_within

Encode = Callable[[Sequence[str]], NDArray[np.float32]]


class Headroom(NamedTuple):
    """Means over `n_passages` passages.

    `m` is the number of facts of a passage and `rho` the mean cosine of two of them, over passages of two or more (None
    where there are none). `gold_score` is the mean cosine of a fact and its passage, `headroom` what is missing to 1,
    and `distractor_wins_above` the similarity from which a passage whose facts are all merely near beats the right one.
    """

    n_passages: int
    m: float
    rho: float | None
    gold_score: float
    headroom: float
    distractor_wins_above: float


class OpenSubjects(NamedTuple):
    """Sentences that only the text before them explains: those whose subject is a pronoun or a bare demonstrative.

    `share` is of the sentences that could be judged, None where there are none.
    """

    n_judged: int
    n_unjudged: int
    share: float | None


def sampled_passages(snapshot: Snapshot, document: CutDocument) -> list[list[str]]:
    """The sentences of each unit of a document, those at its edges cut to it; units without any are left out."""
    spans = own_sentences(snapshot)
    units = [unit for unit in document.units if unit.level in SOURCE_LEVELS]
    passages = [[snapshot.text[start:end] for start, end in sentences_within(unit, spans)] for unit in units]
    return [passage for passage in passages if passage]


def estimate(passages: Sequence[Sequence[str]], encode: Encode) -> Headroom:
    """The headroom of passages given as their facts or sentences, whose vectors, float32 (n, d), `encode` makes."""
    edges = np.cumsum([len(passage) for passage in passages])[:-1]
    vectors = encode([fact for passage in passages for fact in passage])
    return measure(np.split(vectors, edges) if passages else [])


def measure(passages: Sequence[NDArray[np.float32]]) -> Headroom:
    """The headroom of passages given as the vectors of their facts, float (m, d) each; lengths do not matter.

    rho = (|sum of the unit vectors|^2 - m) / (m (m - 1)); the rest as in `planning.geometry`, passage by passage.

    :raises SettingsError: there is no passage, one has no facts, or a vector has no direction.
    """
    if not passages or not all(len(vectors) for vectors in passages):
        raise SettingsError("a passage without facts, or none at all, has no headroom; take a sample with text in it")
    pairs = [(len(vectors), _mean_cosine(vectors)) for vectors in passages]
    shared = [rho for m, rho in pairs if m > 1]
    return Headroom(
        len(pairs),
        float(np.mean([m for m, _ in pairs])),
        float(np.mean(shared)) if shared else None,
        float(np.mean([gold_score(m, rho) for m, rho in pairs])),
        float(np.mean([headroom(m, rho) for m, rho in pairs])),
        float(np.mean([distractor_wins_above(m, rho) for m, rho in pairs])),
    )


def _mean_cosine(vectors: NDArray[np.float32]) -> float:
    """The mean cosine of two different rows; 1 for a single one."""
    rows = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise SettingsError("a fact's vector is zero or not finite; leave out facts that the encoder cannot read")
    m = len(rows)
    if m == 1:
        return 1.0
    squared = float(np.sum(np.square((rows / lengths).sum(axis=0))))
    return min(max((squared - m) / (m * (m - 1)), -1 / (m - 1)), 1.0)


def open_subjects(passages: Sequence[Sequence[str]]) -> OpenSubjects:
    """How anaphoric passages are, each given as its sentences. Sentences of unknown languages are not judged."""
    judged = [
        has_open_subject(sentence, language_of(" ".join(passage))) for passage in passages for sentence in passage
    ]
    known = [is_open for is_open in judged if is_open is not None]
    share = sum(known) / len(known) if known else None
    return OpenSubjects(len(known), len(judged) - len(known), share)

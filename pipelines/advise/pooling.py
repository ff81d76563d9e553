"""How near questions are to the sentence that answers them, and to the other sentences of its unit."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from models.encoder import load_encoder
from models.settings import EncoderSettings
from pipelines.advise.answers import Answers
from pipelines.evaluation.corpus import Corpus
from pipelines.evaluation.encoding import VectorMemo
from pipelines.evaluation.policy import CutCorpus
from transforms.chunkers.sentence_spans import own_sentences
from transforms.planning.advice import Pooling

MAX_ANSWERS = 300


def measure_pooling(answers: Answers, corpus: Corpus, cut: CutCorpus, settings: EncoderSettings) -> Pooling | None:
    """Means over an even sample of the answers that lie in a unit with other sentences; None where there are none."""
    encoder = load_encoder(settings)
    memo = VectorMemo(encoder, stage="encoding answers")
    found = list(_units(answers, corpus, cut))
    if not found:
        return None
    queries = encoder.encode_queries([question for question, _, _ in found]).vectors.astype(np.float64)
    memo.vectors([text for _, texts, _ in found for text in texts])
    near, far = [], []
    for query, (_, texts, answering) in zip(queries, found, strict=True):
        cosines = memo.vectors(texts)[0].astype(np.float64) @ query
        near.append(cosines[answering].max())
        far.append(cosines[~answering].mean())
    n_sentences = round(float(np.mean([len(texts) for _, texts, _ in found])))
    return Pooling(len(found), n_sentences, float(np.mean(near)), float(np.mean(far)))


def _units(answers: Answers, corpus: Corpus, cut: CutCorpus) -> Iterator[tuple[str, list[str], NDArray[np.bool_]]]:
    """For each answer its question, the sentences of the first unit that holds it, and which of them it lies in."""
    snapshots = list(corpus.snapshots.values())
    units = np.array(cut.rows, np.int64).reshape(-1, 5)
    n = len(answers.questions)
    for row in range(0, n, max(1, -(-n // MAX_ANSWERS))):
        document, start, end = (int(field[row]) for field in answers.spans[1:])
        holds = (units[:, 1] == document) & (units[:, 2] <= start) & (end <= units[:, 3])
        if not holds.any():
            continue
        first, last = units[np.argmax(holds), 2:4].tolist()
        spans = [(a, b) for a, b in own_sentences(snapshots[document]) if first <= a < last]
        answering = np.array([a < end and start < b for a, b in spans], np.bool_)
        if answering.any() and not answering.all():
            yield answers.questions[row], [snapshots[document].text[a:b] for a, b in spans], answering

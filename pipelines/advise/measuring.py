"""A sample measured: lengths and markup of all its documents, and sentences of as many as a bound lets be encoded."""

import random
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.encoder import load_encoder
from models.tokenizer import Tokenizer
from pipelines.config import Settings
from pipelines.evaluation.corpus import Corpus
from pipelines.evaluation.encoding import VectorMemo
from pipelines.progress import Progress, Watch
from transforms.chunking import has_markup, make_cutter
from transforms.elements import Snapshot
from transforms.planning.traits import FACT_WORDS, LabelledGaps, Similarity, edges_at_gaps
from transforms.rewriting.checks import has_open_subject
from transforms.rewriting.languages import language_of
from transforms.semantic.distances import mean_distances
from transforms.sentences import split_sentences
from transforms.settings import ChunkingSettings

MAX_SENTENCES = 5000


@dataclass(frozen=True)
class Documents:
    """Tokens int64 (n,) of n different texts, and whether each has markup, bool (n,)."""

    n_tokens: NDArray[np.int64]
    has_markup: NDArray[np.bool_]

    def share(self, chosen: NDArray[np.bool_]) -> float:
        """Share of all tokens in the chosen documents."""
        return float(self.n_tokens[chosen].sum() / max(1, self.n_tokens.sum()))


@dataclass
class SentenceTraits:
    """What sentences say. `n_facts` counts those of `FACT_WORDS` words or more, `n_open` those that lean on others."""

    n_documents: int
    lengths: NDArray[np.int64]
    similarity: Similarity
    by_section: LabelledGaps
    by_paragraph: LabelledGaps
    n_facts: int = 0
    n_open: int = 0
    n_judged: int = 0

    @property
    def anaphoric_share(self) -> float | None:
        """None where the language of no document is known."""
        return self.n_open / self.n_judged if self.n_judged else None


def measure_documents(corpus: Corpus, tokenizer: Tokenizer) -> Documents:
    """Lengths and markup of every different text."""
    snapshots = list(corpus.snapshots.values())
    counts = tokenizer.count([snapshot.text for snapshot in snapshots]).astype(np.int64)
    return Documents(counts, np.array([has_markup(snapshot) for snapshot in snapshots], np.bool_))


def drawn(corpus: Corpus, seed: int = 0) -> list[tuple[Snapshot, NDArray[np.int64]]]:
    """Documents with their sentences' spans, in a random order, until `MAX_SENTENCES` are reached; at least one."""
    snapshots = list(corpus.snapshots.values())
    random.Random(seed).shuffle(snapshots)
    found: list[tuple[Snapshot, NDArray[np.int64]]] = []
    n_sentences = 0
    for snapshot in snapshots:
        edges = [edge for block in snapshot.blocks if block.kind != "page" for edge in (block.start, block.end)]
        spans = split_sentences(snapshot.text, edges)[:MAX_SENTENCES]
        if found and n_sentences + len(spans) > MAX_SENTENCES:
            break
        found.append((snapshot, spans))
        n_sentences += len(spans)
    return found


def measure_sentences(corpus: Corpus, settings: Settings, tokenizer: Tokenizer, watch: Watch | None) -> SentenceTraits:
    """Similarity within the units that chunker auto makes, distances at gaps, and sentences that lean on others."""
    sample = drawn(corpus)
    memo = VectorMemo(load_encoder(settings.encoder), watch, stage="encoding sentences")
    memo.vectors([text for snapshot, spans in sample for text in _texts(snapshot, spans)])
    cutter = make_cutter(ChunkingSettings(), tokenizer)
    traits = SentenceTraits(len(sample), np.empty(0, np.int64), Similarity(), LabelledGaps(), LabelledGaps())
    lengths = []
    done = 0
    with (watch or (lambda poll: nullcontext()))(lambda: Progress("measuring", done, len(sample), "documents")):
        for snapshot, spans in sample:
            texts = _texts(snapshot, spans)
            vectors = memo.vectors(texts)[0].astype(np.float32)
            counts = tokenizer.count(texts).astype(np.int64)
            lengths.append(counts)
            units = np.array([unit.start for unit in cutter.cut(snapshot).units], np.int64)
            for rows in _by_unit(spans, units):
                traits.similarity.add(vectors[rows])
            _label(
                traits, snapshot, spans, mean_distances(vectors, counts, settings.semantic.neighbour_sentences, "apart")
            )
            _judge(traits, snapshot, texts)
            done += 1
    traits.lengths = np.concatenate(lengths)
    return traits


def _texts(snapshot: Snapshot, spans: NDArray[np.int64]) -> list[str]:
    return [snapshot.text[start:end] for start, end in spans.tolist()]


def _by_unit(spans: NDArray[np.int64], unit_starts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Rows of the sentences that begin in each unit."""
    owners = np.searchsorted(unit_starts, spans[:, 0], "right")
    for owner in np.unique(owners):
        yield np.flatnonzero(owners == owner)


def _label(
    traits: SentenceTraits, snapshot: Snapshot, spans: NDArray[np.int64], distances: NDArray[np.float64]
) -> None:
    starts = spans[:, 0]
    headings = [block.start for block in snapshot.blocks if block.kind == "heading"]
    blocks = [block.start for block in snapshot.blocks if block.kind not in ("page", "heading")]
    traits.by_paragraph.add(distances, edges_at_gaps(starts, sorted({*headings, *blocks})))
    if len(headings) > 1:
        traits.by_section.add(distances, edges_at_gaps(starts, headings))


def _judge(traits: SentenceTraits, snapshot: Snapshot, texts: Sequence[str]) -> None:
    language = language_of(snapshot.text)
    for text in texts:
        if len(text.split()) < FACT_WORDS:
            continue
        traits.n_facts += 1
        is_open = has_open_subject(text, language)
        if is_open is not None:
            traits.n_judged += 1
            traits.n_open += is_open

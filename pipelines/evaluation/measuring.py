"""Questions asked of an arm, a block at a time, and what came back measured against the references."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import ceil

import numpy as np
from numpy.typing import NDArray

from models.tokenizer import Tokenizer
from pipelines.evaluation.arms import Arm, Ranking
from pipelines.evaluation.gold import NumberedQuestion, QuestionsFile
from transforms.evaluation.extent import (
    NOTHING,
    Numbers,
    Ranked,
    Spans,
    documents_found,
    extents,
    spans_of,
    tokens_within,
    within_budget,
)
from transforms.evaluation.misses import count_misses
from transforms.evaluation.questions import read_questions

QUESTIONS_AT_ONCE = 512
SPARE_SHARE = 0.25
"""Units are asked for that fill the budget at their mean length, and so many more; where they do not, more still."""

METRICS = ("recall", "precision", "iou", "whole_answers", "documents_found", "prompt_tokens", "units")
"""Columns of a table of measures.

`whole_answers` and `documents_found` are 1 or 0 a question: all reference positions retrieved, and anything from a
document that answers. `prompt_tokens` counts repeated units as often as they come.
"""

AT_K, AT_MATCHED_K, WITHIN_BUDGET = "at_k", "at_matched_k", "within_budget"

Measures = NDArray[np.float64]


@dataclass(frozen=True)
class Cuts:
    """Where rankings are cut off: after `k` units, after `budget_tokens`, and where asked after `matched_k` units."""

    k: int
    budget_tokens: int
    matched_k: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tables of measures."""
        return (AT_K, WITHIN_BUDGET) if self.matched_k is None else (AT_K, AT_MATCHED_K, WITHIN_BUDGET)


@dataclass
class Measurer:
    """Asks `arm` and measures; `measures` has a table float64 (n, len(METRICS)) for each cut.

    `misses` counts what became of each reference at k: `retrieved` whole, `severed` or `outranked`.
    """

    arm: Arm
    cuts: Cuts
    counter: Tokenizer
    unit_tokens: float
    misses: Counter[str] = field(default_factory=Counter)
    _parts: dict[str, list[Measures]] = field(default_factory=dict)

    def measure(self, block: Sequence[NumberedQuestion], gold: Spans, contents: Collection[str]) -> None:
        """Ask every question of a block whose references are `gold`, each of which has some, in `contents`."""
        vectors = self.arm.encode([question.question for _, question in block])
        ranking = self._rank(vectors)
        ranked, n = ranking.ranked, len(block)
        for name, k in ((AT_K, self.cuts.k), (AT_MATCHED_K, self.cuts.matched_k)):
            if k is None:
                continue
            best = Ranked(*(values[:, :k] for values in self._ranked(ranked, vectors, k)))
            self._add(name, gold, spans_of(best), best.n_tokens, n)
            if name == AT_K:
                self.misses.update(count_misses(gold, spans_of(best), self.arm.unit_spans(contents))._asdict())
        kept = tokens_within(ranked.n_tokens, self.cuts.budget_tokens)
        ends = _cut_ends(ranking, kept, self.counter)
        self._add(WITHIN_BUDGET, gold, within_budget(ranked, kept, ends), kept, n)

    def _ranked(self, ranked: Ranked, vectors: NDArray[np.float32], k: int) -> Ranked:
        """What a search for `k` units gives: the start of a longer ranking only where search is exact."""
        return ranked if self.arm.is_exact else self.arm.rank(vectors, k, self.counter).ranked

    @property
    def measures(self) -> dict[str, Measures]:
        """The tables of all blocks, by cut."""
        nothing = np.empty((0, len(METRICS)))
        return {name: np.concatenate([nothing, *self._parts.get(name, [])]) for name in self.cuts.names}

    def _rank(self, vectors: NDArray[np.float32]) -> Ranking:
        """Units enough for every cut."""
        budget_tokens = self.cuts.budget_tokens
        n_units = units_enough(self.cuts, self.unit_tokens)
        while True:
            ranking = self.arm.rank(vectors, n_units, self.counter)
            is_all = (ranking.ranked.documents[:, -1] == NOTHING).all()
            if is_all or (ranking.ranked.n_tokens.sum(axis=1) >= budget_tokens).all():
                return ranking
            n_units *= 2

    def take(self, measures: Mapping[str, Measures], misses: Mapping[str, int]) -> None:
        """Add what another measurer of the same arm found of the questions that follow."""
        self.misses.update(misses)
        for name, table in measures.items():
            self._parts.setdefault(name, []).append(table)

    def _add(self, name: str, gold: Spans, retrieved: Spans, n_tokens: Numbers, n_questions: int) -> None:
        found = extents(gold, retrieved, n_questions)
        is_document_found = documents_found(gold, retrieved, n_questions)
        n_units = (n_tokens > 0).sum(axis=1)
        whole = found.shared == found.gold
        columns = (found.recall, found.precision, found.iou, whole, is_document_found, n_tokens.sum(axis=1), n_units)
        self._parts.setdefault(name, []).append(np.column_stack(columns).astype(np.float64))


def units_enough(cuts: Cuts, unit_tokens: float) -> int:
    """Units to ask for at first: enough for every cut, at their mean length `unit_tokens`."""
    at_mean_length = ceil((1 + SPARE_SHARE) * cuts.budget_tokens / max(1.0, unit_tokens))
    return max(cuts.k, cuts.matched_k or 0, at_mean_length)


def blocks_of(questions: QuestionsFile) -> Iterator[list[NumberedQuestion]]:
    """The questions, so many at once."""
    lines = read_questions(questions.path)
    while block := list(islice(lines, QUESTIONS_AT_ONCE)):
        yield block


def _cut_ends(ranking: Ranking, kept: Numbers, counter: Tokenizer) -> Numbers:
    """Where the unit that a budget cuts ends in its document, int64 (q,); 0 where none is cut."""
    ranked = ranking.ranked
    ends = np.zeros(len(kept), np.int64)
    for question, rank in np.argwhere((kept > 0) & (kept < ranked.n_tokens)).tolist():
        token_ends = counter.offsets(ranking.text(question, rank))[1]
        last = min(int(kept[question, rank]), len(token_ends)) - 1
        ends[question] = ranked.starts[question, rank] + int(token_ends[last])
    return ends

"""Retrieved extent: how much of the text that answers a question was brought back, and how much else with it.

For a question, `E` are the positions of its references and `T` those of what was retrieved, both keyed by document:
recall `|E & T| / |E|`, precision `|E & T| / |T|`, IoU `|E & T| / |E | T|`, F1 `2 |E & T| / (|E| + |T|)`. `E` and `T`
are unions, so a position counts once however many spans hold it. Positions are whatever the caller counts in (code
points, or the tokens of one tokenizer), the same for all spans.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.errors import SettingsError

NOTHING = -1
"""The document code of a place in a ranking that holds no unit."""

PRECISION_OF_NOTHING = 0.0
"""Precision where nothing was retrieved, by convention; recall and IoU are 0 there by their formulas."""

Numbers = NDArray[np.int64]
Shares = NDArray[np.float64]


class Spans(NamedTuple):
    """n spans of n_questions questions; all fields int64 (n,).

    `questions` are numbers from 0, `documents` codes from 0, `[starts, ends)` positions in the document.
    """

    questions: Numbers
    documents: Numbers
    starts: Numbers
    ends: Numbers


class Ranked(NamedTuple):
    """The units found for q questions, best first; all fields int64 (q, k).

    `documents` is `NOTHING` where there are no more units, and everything else is 0 there. `n_tokens` are the tokens
    that the unit takes of a prompt.
    """

    documents: Numbers
    starts: Numbers
    ends: Numbers
    n_tokens: Numbers


class Extents(NamedTuple):
    """Positions of the references, of what was retrieved, and of both; int64 (n_questions,) each."""

    gold: Numbers
    retrieved: Numbers
    shared: Numbers

    @property
    def recall(self) -> Shares:
        """`|E & T| / |E|`, float64 (n_questions,)."""
        return self.shared / self.gold

    @property
    def precision(self) -> Shares:
        """`|E & T| / |T|`, float64 (n_questions,); `PRECISION_OF_NOTHING` where `T` is empty."""
        return np.where(self.retrieved > 0, self.shared / np.maximum(self.retrieved, 1), PRECISION_OF_NOTHING)

    @property
    def iou(self) -> Shares:
        """`|E & T| / |E | T|`, float64 (n_questions,)."""
        return self.shared / (self.gold + self.retrieved - self.shared)

    @property
    def f1(self) -> Shares:
        """`2 |E & T| / (|E| + |T|)`, float64 (n_questions,); 0 where nothing is shared."""
        return 2 * self.shared / (self.gold + self.retrieved)


def extents(gold: Spans, retrieved: Spans, n_questions: int) -> Extents:
    """What was retrieved against what answers, for every question.

    :raises SettingsError: a question has no reference, or an empty one only; there is nothing to recall.
    """
    n_gold = union_lengths(gold, n_questions)
    if n_questions and not n_gold.all():
        raise SettingsError(f"question {int(np.argmin(n_gold))} (from 0) has no reference positions; leave it out")
    n_retrieved = union_lengths(retrieved, n_questions)
    both = Spans(*(np.concatenate(pair) for pair in zip(gold, retrieved, strict=True)))
    return Extents(n_gold, n_retrieved, n_gold + n_retrieved - union_lengths(both, n_questions))


def union_lengths(spans: Spans, n_questions: int) -> Numbers:
    """Positions that the spans of each question cover, each counted once, int64 (n_questions,). One sort, no loop."""
    if not len(spans.starts):
        return np.zeros(n_questions, np.int64)
    order = np.lexsort((spans.starts, spans.documents, spans.questions))
    questions, documents, starts, ends = (field[order] for field in spans)
    is_new = (np.diff(questions, prepend=questions[0]) != 0) | (np.diff(documents, prepend=documents[0]) != 0)
    first = int(starts.min())
    width = int(ends.max()) - first + 1
    group = np.cumsum(is_new)
    if width * (int(group[-1]) + 1) >= 2**62:
        raise SettingsError(f"positions from {first} to {first + width} are too far apart to be measured")
    # Documents laid end to end on one line, so that a running maximum never reaches from one into the next.
    starts, ends = starts - first + group * width, ends - first + group * width
    reached = np.maximum.accumulate(np.append(-1, ends[:-1]))
    covered = np.maximum(0, ends - np.maximum(starts, reached))
    return np.bincount(questions, covered, n_questions).astype(np.int64)


def top(ranked: Ranked, k: int) -> Spans:
    """The spans of the first `k` units of each question."""
    return spans_of(Ranked(*(field[:, :k] for field in ranked)))


def spans_of(ranked: Ranked) -> Spans:
    """The spans of all units of each question."""
    questions, ranks = np.nonzero(ranked.documents != NOTHING)
    documents, starts, ends = (field[questions, ranks] for field in ranked[:3])
    return Spans(questions, documents, starts, ends)


def tokens_within(n_tokens: Numbers, budget_tokens: int) -> Numbers:
    """Tokens of each unit, int64 (q, k), that a prompt has room for, taken in order of rank.

    A unit that does not fit whole is cut where the budget ends, and nothing comes after it. A unit that is there twice
    is paid for twice.

    >>> tokens_within(np.array([[4, 4, 4]]), 10)
    array([[4, 4, 2]])
    """
    before = np.cumsum(n_tokens, axis=1) - n_tokens
    return np.asarray(np.clip(budget_tokens - before, 0, n_tokens))


def within_budget(ranked: Ranked, kept_tokens: Numbers, cut_ends: Numbers) -> Spans:
    """The spans that a budget leaves.

    :param kept_tokens: as `tokens_within` gives them, int64 (q, k).
    :param cut_ends: int64 (q,), where the unit that was cut ends in its document; any number for questions without one.
    """
    is_cut = (kept_tokens > 0) & (kept_tokens < ranked.n_tokens)
    ends = np.where(is_cut, cut_ends[:, None], ranked.ends)
    documents = np.where(kept_tokens > 0, ranked.documents, NOTHING)
    return spans_of(Ranked(documents, ranked.starts, ends, kept_tokens))


def documents_found(gold: Spans, retrieved: Spans, n_questions: int) -> NDArray[np.bool_]:
    """Whether anything was retrieved from a document that answers, bool (n_questions,)."""
    n_documents = 1 + max(gold.documents.max(initial=0), retrieved.documents.max(initial=0))
    wanted = gold.questions * n_documents + gold.documents
    is_relevant = np.isin(retrieved.questions * n_documents + retrieved.documents, wanted)
    return np.bincount(retrieved.questions[is_relevant], minlength=n_questions) > 0

"""What became of answers among inputs of an encoder that may cut them off, and what reading them whole would change.

An answer is a reference's text. It is *retrieved* where one of the k best inputs holds it; otherwise *severed* where no
input holds it whole, *clipped* where none does in the part that is read, and *outranked* where one does. An answer that
the document has not is *lost*.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.encoder import Encoder
from models.errors import ModelError, RefusedError, SettingsError
from models.tokenizer import Tokenizer
from pipelines.evaluation.encoding import VectorMemo
from transforms.evaluation.locating import SearchedText
from transforms.evaluation.questions import Question, Reference, read_questions
from transforms.evaluation.statistics import Estimate, Flips, count_flips, estimate_means
from transforms.indexing.searching import NONE, exact_search

FATES = ("retrieved", "severed", "clipped", "outranked", "lost")
LEAST_MEASURED_SHARE = 0.5
"""Of the references. Where more are lost, the rest is another set of questions than the one that was written."""

Rows = NDArray[np.int64]
Ranker = Callable[[Sequence[str]], Rows]


@dataclass(frozen=True)
class Inputs:
    """n encoder inputs and the documents that they are of; `resolve` finds the document of a reference's uri."""

    texts: Sequence[str]
    documents: Sequence[str]
    resolve: Callable[[frozenset[str]], Mapping[str, str]]


@dataclass(frozen=True)
class Clipped:
    """References by fate, and the share of each question's that came, float64 (q,), as deployed and read whole.

    Questions with a lost reference are left out, with all their references. `whole` is None where it was not measured.
    """

    k: int
    fates: Mapping[str, int]
    n_references: int
    n_left_out: int
    deployed: NDArray[np.float64]
    whole: NDArray[np.float64] | None

    @property
    def n_measured(self) -> int:
        """References that the recall stands on: those of the questions that were asked."""
        return sum(self.fates.values()) - self.fates["lost"]

    @property
    def recall(self) -> Estimate:
        """As deployed, over questions."""
        return estimate_means(self.deployed[:, None])[0]

    @property
    def cost(self) -> tuple[Estimate, Flips] | None:
        """Recall read whole less recall as deployed, and the questions that change."""
        if self.whole is None:
            return None
        differences = self.whole - self.deployed
        return estimate_means(differences[:, None])[0], count_flips(differences)


@dataclass
class _Answers:
    """Looks up which inputs hold a reference, and in which of them it is read."""

    inputs: Inputs
    tokenizer: Tokenizer
    room_tokens: int
    _searched: dict[int, SearchedText] = field(default_factory=dict)
    _ends: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows: dict[str, list[int]] = {}
        for row, name in enumerate(self.inputs.documents):
            self.rows.setdefault(name, []).append(row)

    def holders(self, document: str, quote: str) -> dict[int, bool]:
        """The inputs that hold `quote`, and whether all of it is read."""
        found = {}
        for row in self.rows.get(document, ()):
            spans, _ = self._text(row).find(quote)
            if spans:
                found[row] = spans[0][1] <= self._read_end(row)
        return found

    def is_in_document(self, document: str, quote: str) -> bool:
        """Whether the inputs of a document, end to end, have it."""
        joined = "\n".join(self.inputs.texts[row] for row in self.rows.get(document, ()))
        return bool(SearchedText(joined).find(quote)[0])

    def quote_of(self, reference: Reference, document: str, place: str) -> str:
        """What answers. `SettingsError` for a span without a quote where a document is in pieces."""
        if reference.quote is not None:
            return reference.quote
        rows = self.rows.get(document, [])
        if len(rows) != 1:
            raise SettingsError(f"{place} has a span and no quote; chunks have no places, so quote what answers")
        return self.inputs.texts[rows[0]][reference.start : reference.end]

    def _text(self, row: int) -> SearchedText:
        if row not in self._searched:
            self._searched[row] = SearchedText(self.inputs.texts[row])
        return self._searched[row]

    def _read_end(self, row: int) -> int:
        if row not in self._ends:
            ends = self.tokenizer.offsets(self.inputs.texts[row])[1]
            n_read = self.room_tokens
            self._ends[row] = int(ends[n_read - 1]) if len(ends) > n_read else len(self.inputs.texts[row])
        return self._ends[row]


def measure_clipping(
    inputs: Inputs, questions: str | Path, tokenizer: Tokenizer, room_tokens: int, k: int, rank: Ranker,
    rank_whole: Ranker | None = None,
) -> Clipped:  # fmt: skip
    """What becomes of every reference at `k`. The rankers give the rows of the best inputs, int64 (q, k), `NONE` after.

    :raises SettingsError: a reference that no chunk can be held against, or no question.
    :raises RefusedError: fewer than `LEAST_MEASURED_SHARE` of the references can be measured. Nothing is encoded then.
    """
    asked = list(read_questions(questions))
    uris = frozenset(reference.uri for _, question in asked for reference in question.references)
    names, answers = inputs.resolve(uris), _Answers(inputs, tokenizer, room_tokens)
    held = [_holders(answers, names, question, f"{questions}, line {line}") for line, question in asked]
    kept = [number for number, of_question in enumerate(held) if all(found is not None for found in of_question)]
    _check_losses(questions, [line for line, _ in asked], held, kept)
    texts = [asked[number][1].question for number in kept]
    chosen = [[found for found in held[number] if found is not None] for number in kept]
    deployed = rank(texts)
    fates = Counter[str](lost=sum(found is None for of_question in held for found in of_question))
    fates.update(_fate(found, row) for of_question, row in zip(chosen, deployed, strict=True) for found in of_question)
    whole = _shares(chosen, rank_whole(texts)) if rank_whole is not None else None
    counts = {name: fates[name] for name in FATES}
    return Clipped(k, counts, sum(map(len, held)), len(asked) - len(kept), _shares(chosen, deployed), whole)


def _check_losses(
    questions: str | Path,
    lines: Sequence[int],
    held: Sequence[Sequence[Mapping[int, bool] | None]],
    kept: Sequence[int],
) -> None:
    n_references, n_measured = sum(map(len, held)), sum(len(held[number]) for number in kept)
    if not n_references:
        raise SettingsError(f"questions file {str(questions)!a} has no questions; write one JSON object a line")
    if n_measured < LEAST_MEASURED_SHARE * n_references:
        first = min(set(range(len(held))).difference(kept))
        raise RefusedError(
            f"{questions}: {n_measured} of {n_references} references can be measured, as {len(held) - len(kept)} of "
            f"{len(held)} questions have one that is not in the corpus (first in line {lines[first]}); correct them, "
            "or leave out --questions"
        )


def _holders(
    answers: _Answers, names: Mapping[str, str], question: Question, place: str
) -> list[dict[int, bool] | None]:
    """For each reference the inputs that hold it; None where its document has it not."""
    found: list[dict[int, bool] | None] = []
    for number, reference in enumerate(question.references, start=1):
        document = names.get(reference.uri)
        if document is None:
            found.append(None)
            continue
        quote = answers.quote_of(reference, document, f"{place}: reference {number}")
        holders = answers.holders(document, quote)
        found.append(holders if holders or answers.is_in_document(document, quote) else None)
    return found


def _fate(holders: Mapping[int, bool], ranked: Rows) -> str:
    if any(int(row) in holders for row in ranked):
        return "retrieved"
    return "severed" if not holders else "outranked" if any(holders.values()) else "clipped"


def _shares(chosen: Sequence[Sequence[Mapping[int, bool]]], ranked: Rows) -> NDArray[np.float64]:
    return np.array(
        [
            np.mean([any(int(row) in holders for row in rows) for holders in of_question])
            for of_question, rows in zip(chosen, ranked, strict=True)
        ]
    )


@dataclass
class MemoryRankers:
    """Exact search over inputs in memory: as deployed, cut off; and whole, by the best of their pieces."""

    inputs: Inputs
    encoder: Encoder
    memo: VectorMemo
    tokenizer: Tokenizer
    room_tokens: int
    k: int

    def deployed(self, questions: Sequence[str]) -> Rows:
        """The best inputs by the vectors that the encoder makes of them."""
        return self._search(questions, list(self.inputs.texts), np.arange(len(self.inputs.texts)), 1)

    def whole(self, questions: Sequence[str]) -> Rows:
        """The best inputs where each counts as the best of itself and of what it is in pieces that are read whole."""
        texts, owners = list(self.inputs.texts), list(range(len(self.inputs.texts)))
        most = 1
        for row, text in enumerate(self.inputs.texts):
            pieces = self._pieces(text)
            texts += pieces
            owners += [row] * len(pieces)
            most = max(most, 1 + len(pieces))
        return self._search(questions, texts, np.array(owners, np.int64), most)

    def _pieces(self, text: str) -> list[str]:
        starts, ends = self.tokenizer.offsets(text)
        if len(starts) <= self.room_tokens:
            return []
        firsts = range(0, len(starts), self.room_tokens)
        lasts = [min(first + self.room_tokens, len(starts)) - 1 for first in firsts]
        return [text[starts[first] : ends[last]] for first, last in zip(firsts, lasts, strict=True)]

    def _search(self, questions: Sequence[str], texts: Sequence[str], owners: Rows, most_each: int) -> Rows:
        vectors, valid = self.memo.vectors(texts)
        encoded = self.encoder.encode_queries(questions)
        if not encoded.valid.all():
            raise ModelError(f"question has no usable vector: {questions[int(np.argmin(encoded.valid))][:80]!a}")
        rows = np.flatnonzero(valid)
        found = exact_search(rows, vectors[valid], encoded.vectors.astype(np.float32), self.k * most_each).ids
        return np.array([_first_owners(owners, ids, self.k) for ids in found], np.int64).reshape(-1, self.k)


def _first_owners(owners: Rows, ids: Rows, k: int) -> list[int]:
    distinct = list(dict.fromkeys(owners[ids[ids != NONE]].tolist()))[:k]
    return distinct + [NONE] * (k - len(distinct))

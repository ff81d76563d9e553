"""How much of its input an encoder really reads, and what lies beyond that."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from transforms.evaluation.extent import Numbers

MAX_WORDS = 1 << 17
FIRST_WORDS = 16
LENGTH_STEPS = (1, 2, 4, 8, 16)
"""Documents are grouped by their length in multiples of what one input may hold."""


def effective_limit(encode: Callable[[str], NDArray[np.float16]], max_words: int = MAX_WORDS) -> str | None:
    """The shortest text whose vector stays the same however much is added, which is all that the encoder reads.

    The text grows by doubling until its vector stops changing, and is then narrowed down: `2 log2(words)` calls or so.
    Its words are single letters, which are one token each in almost any tokenizer: count them with the encoder's own.

    :param encode: the vector of one text on the path to be measured.
    :returns: None where the vector still changes at `max_words`.
    """
    letters = random.Random(0).choices("abcdefghijklmnopqrstuvwxyz", k=2 * max_words)
    too_many, whole = FIRST_WORDS, encode(_text(letters, FIRST_WORDS))
    while not np.array_equal(whole, longer := encode(_text(letters, 2 * too_many))):
        too_many, whole = 2 * too_many, longer
        if too_many >= max_words:
            return None
    enough, short = too_many, 0
    while enough - short > 1:
        middle = (enough + short) // 2
        enough, short = (middle, short) if np.array_equal(encode(_text(letters, middle)), whole) else (enough, middle)
    return _text(letters, enough)


@dataclass
class Tally:
    """Inputs to an encoder, counted by the document that they are of. `room_tokens` is what one input may hold.

    Grows by a few numbers a document, whatever the number of inputs.
    """

    room_tokens: int
    _numbers: dict[str, int] = field(default_factory=dict)
    _sources: list[str] = field(default_factory=list)
    _rows: list[list[int]] = field(default_factory=list)

    def add(self, document: str, source: str, n_tokens: int) -> None:
        """Count one input of `n_tokens` content tokens."""
        number = self._numbers.setdefault(document, len(self._rows))
        if number == len(self._rows):
            self._rows.append([0, 0, 0, 0])
            self._sources.append(source)
        row, unread = self._rows[number], max(0, n_tokens - self.room_tokens)
        for place, more in enumerate((1, unread > 0, n_tokens, unread)):
            row[place] += more

    def total(self) -> "Group":
        """Everything together."""
        return _group("all", self._table())

    def by_length(self) -> list["Group"]:
        """Groups by tokens of the document, shortest first; empty groups are left out."""
        table, edges = self._table(), [step * self.room_tokens for step in LENGTH_STEPS]
        numbers = np.digitize(table[:, 2], edges, right=True)
        lows, highs = [0, *(edge + 1 for edge in edges)], [*edges, None]
        names = [f"{low:,} - {high:,}" if high else f"{low:,} and more" for low, high in zip(lows, highs, strict=True)]
        return [_group(names[number], table[numbers == number]) for number in np.unique(numbers)]

    def by_source(self) -> list["Group"]:
        """Groups by source, those with the most tokens that are not read first."""
        names, numbers = np.unique(np.array(self._sources, object), return_inverse=True)
        table = self._table()
        order = np.argsort(numbers, kind="stable")
        parts = np.split(table[order], np.cumsum(np.bincount(numbers, minlength=len(names)))[:-1])
        groups = [_group(str(name), part) for name, part in zip(names, parts, strict=True)]
        return sorted(groups, key=lambda group: (-group.n_unread_tokens, group.name))

    def _table(self) -> Numbers:
        return np.array(self._rows, np.int64).reshape(-1, 4)


@dataclass(frozen=True)
class Group:
    """Documents of one kind: their inputs, those over the limit, and the tokens there are and that nothing reads."""

    name: str
    n_documents: int
    n_inputs: int
    n_over_limit: int
    n_tokens: int
    n_unread_tokens: int

    @property
    def over_limit_share(self) -> float:
        """Share of the inputs that are over the limit; 0 where there are none."""
        return self.n_over_limit / self.n_inputs if self.n_inputs else 0.0

    @property
    def unread_share(self) -> float:
        """Share of the tokens that the encoder does not read; 0 where there are none."""
        return self.n_unread_tokens / self.n_tokens if self.n_tokens else 0.0


def _group(name: str, table: Numbers) -> Group:
    return Group(name, len(table), *table.sum(axis=0).tolist())


def _text(letters: list[str], n_words: int) -> str:
    return " ".join(letters[:n_words])

"""How much of its input an encoder really reads, and what lies beyond that."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
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
        row = self._rows[number]
        for place, more in enumerate(input_counts(n_tokens, self.room_tokens)):
            row[place] += more

    def total(self) -> "Group":
        """Everything together."""
        return _group("all", self._table())

    def by_length(self) -> list["Group"]:
        """Groups by tokens of the document, shortest first; empty groups are left out."""
        table = self._table()
        numbers = length_numbers(table[:, 2], self.room_tokens)
        return [
            _group(_length_name(number, self.room_tokens), table[numbers == number])
            for number in np.unique(numbers).tolist()
        ]

    def by_source(self) -> list["Group"]:
        """Groups by source, those with the most tokens that are not read first."""
        names, numbers = np.unique(np.array(self._sources, object), return_inverse=True)
        table = self._table()
        order = np.argsort(numbers, kind="stable")
        parts = np.split(table[order], np.cumsum(np.bincount(numbers, minlength=len(names)))[:-1])
        return _most_unread_first(_group(str(name), part) for name, part in zip(names, parts, strict=True))

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


def input_counts(n_tokens: int, room_tokens: int) -> tuple[int, int, int, int]:
    """Inputs, those over the limit, their tokens, and the tokens that are not read: of one input."""
    unread = max(0, n_tokens - room_tokens)
    return 1, int(unread > 0), n_tokens, unread


def length_numbers(n_tokens: Numbers, room_tokens: int) -> Numbers:
    """The group by length of documents of so many tokens, int64 (n,): see `LENGTH_STEPS`."""
    return np.digitize(n_tokens, [step * room_tokens for step in LENGTH_STEPS], right=True).astype(np.int64)


def _length_name(number: int, room_tokens: int) -> str:
    edges = [step * room_tokens for step in LENGTH_STEPS]
    low = 0 if number == 0 else edges[number - 1] + 1
    return f"{low:,} - {edges[number]:,}" if number < len(edges) else f"{low:,} and more"


Sums = tuple[int, int, int, int, int]
"""Documents, inputs, inputs over the limit, tokens, and tokens that are not read."""


def groups_of_document(source: str, counts: Sequence[int], room_tokens: int) -> list[tuple[tuple[str, str], Sums]]:
    """The groups that a document is in, each with what it adds; `counts` are the sums of `input_counts`."""
    n_inputs, n_over, n_tokens, n_unread = counts
    sums = (1, n_inputs, n_over, n_tokens, n_unread)
    number = int(length_numbers(np.array([n_tokens]), room_tokens)[0])
    return [(("all", ""), sums), (("length", str(number)), sums), (("source", source), sums)]


def assembled(sums: Mapping[tuple[str, str], Sums], room_tokens: int) -> tuple["Group", list["Group"], list["Group"]]:
    """The groups of `Tally` from the sums of what `groups_of_document` says of every document."""
    lengths = sorted(int(name) for kind, name in sums if kind == "length")
    return (
        Group("all", *sums.get(("all", ""), (0, 0, 0, 0, 0))),
        [Group(_length_name(number, room_tokens), *sums["length", str(number)]) for number in lengths],
        _most_unread_first(Group(name, *row) for (kind, name), row in sums.items() if kind == "source"),
    )


def _most_unread_first(groups: Iterable["Group"]) -> list["Group"]:
    return sorted(groups, key=lambda group: (-group.n_unread_tokens, group.name))


def _text(letters: list[str], n_words: int) -> str:
    return " ".join(letters[:n_words])

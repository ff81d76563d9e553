"""Context prefixes: headings and table headers in front of an embedded text, trimmed to what they may take."""

from collections import Counter
from collections.abc import Sequence

from models.tokenizer import Tokenizer

VERSION = 1

SEPARATOR = " > "


class Contexts:
    """Makes the contexts of one document; equal ones are made once.

    Outer headings are dropped first; a table's header goes before all headings. What is still too long is cut at a
    word. Every unit whose context lost something is counted in `trimmed_contexts`.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int, counts: Counter[str]) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._counts = counts
        self._made: dict[tuple[tuple[str, ...], str], tuple[str, bool]] = {}

    def make(self, names: tuple[str, ...], table_header: str = "") -> str:
        """The context of one unit, of at most `max_tokens`; empty where there is nothing to say."""
        key = names, table_header
        if key not in self._made:
            context = self._trimmed(names, table_header)
            self._made[key] = context, context != _joined(names, table_header)
        context, is_trimmed = self._made[key]
        self._counts["trimmed_contexts"] += is_trimmed
        return context

    def _trimmed(self, names: tuple[str, ...], table_header: str) -> str:
        for first in range(len(names) + 1):
            context = _joined(names[first:], table_header)
            if self._fits(context):
                return context
        return self._cut_at_word(table_header) if table_header else self._cut_at_word(names[-1])

    def _cut_at_word(self, text: str) -> str:
        tokens = self._tokenizer.tokenize(text)
        words = [0, *(index for index in tokens.word_starts.nonzero()[0].tolist() if 0 < index <= self._max_tokens)]
        while words:
            context = text[: int(tokens.starts[words.pop()])].rstrip()
            if self._fits(context):
                return context
        return ""

    def _fits(self, context: str) -> bool:
        return int(self._tokenizer.count([context])[0]) <= self._max_tokens


def _joined(names: Sequence[str], table_header: str) -> str:
    path = SEPARATOR.join(names)
    return f"{path}\n{table_header}" if path and table_header else path or table_header

"""LLM boundaries: a model names the sentences after which to cut, window by window. No answer loses any text."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from models.llm.json_answers import whole_numbers
from models.llm.records import Answer, Request, Result
from transforms.elements import Snapshot
from transforms.rewriting.dialogues import Dialogue
from transforms.rewriting.numbered import NumberedLine, Span, asked_again, numbered_line, read_list
from transforms.rewriting.prompts import Prompt

# Raise when the same answers give other cuts.
VERSION = 2
STAGE = "boundaries"
KEY = "cut_after"
SCHEMA = {
    "type": "object",
    "properties": {KEY: {"type": "array", "items": {"type": "integer"}}},
    "required": [KEY],
    "additionalProperties": False,
}
_MAX_ANSWER_TOKENS = 400
_TOKENS_PER_CUT = 4
_MIN_SENTENCES_TO_ASK = 2
# From so many sentences on, a cut after each of them says nothing about the subject.
_MIN_SENTENCES_TO_SEPARATE = 4

_PARAGRAPH = re.compile(r"\n[^\S\n]*+\n\s*+")

CountTokens = Callable[[str], int]
FallbackCuts = Callable[[int, int], Sequence[int]]


class Cuts(NamedTuple):
    """The numbers of the sentences (from 0) before which to cut, ascending and without 0, with counted outcomes."""

    before: tuple[int, ...]
    counts: Counter[str]


def cut_spans(text_length: int, sentences: Sequence[Span], before: Sequence[int]) -> list[Span]:
    """The pieces of a text that tile it, cut at the starts of the given sentences.

    >>> cut_spans(20, [(0, 5), (6, 12), (13, 20)], [2])
    [(0, 13), (13, 20)]
    """
    edges = [0, *(sentences[number][0] for number in before), text_length]
    return [(start, end) for start, end in pairwise(edges) if start < end]


def find_boundaries(
    text: str,
    sentences: Sequence[Span],
    prompt: Prompt,
    fallback: FallbackCuts,
    *,
    context_tokens: int,
    count_tokens: CountTokens,
    owner: str = "",
    max_answer_tokens: int = _MAX_ANSWER_TOKENS,
) -> Dialogue[Cuts]:
    """A dialogue that returns where to cut `text`, whose sentences lie at the given spans.

    The last piece of a window is left open and shown again at the start of the next one, or its end where it alone
    fills half a window; so the edge of a window never cuts, each window goes on by half a window at least, and there
    are at most two questions for each. An answer that fails its checks is asked for once more; then
    `fallback(first, end)` names the sentences of the window before which to cut.

    Counts: `boundary_windows`, `boundary_retries`, `boundary_fallbacks` with `.reason`, `trimmed_sentences`,
    and the repairs of `parse_json`.
    """
    counts: Counter[str] = Counter()
    lines = _Lines(text, sentences, prompt, context_tokens, count_tokens, max_answer_tokens)
    before: list[int] = []
    first = 0
    while len(sentences) - first >= _MIN_SENTENCES_TO_ASK:
        end = lines.window_end(first)
        counts["boundary_windows"] += 1
        request = Request(
            prompt.fill(sentences=lines.shown(first, end, counts)),
            max_answer_tokens,
            SCHEMA,
            STAGE,
            owner,
            prompt.version,
        )
        found = yield from _ask_twice(request, end - first, counts)
        if found is None:
            found = [number - first for number in fallback(first, end) if first < number < end]
        before += [first + number for number in found]
        if end == len(sentences):
            break
        last_cut = before[-1] if before else 0
        first = max(last_cut, lines.half_back(first, end))
    return Cuts(tuple(before), +counts)


def structural_fallback(snapshot: Snapshot, sentences: Sequence[Span]) -> FallbackCuts:
    """The cuts of the author's own: before sentences that begin a heading or its section, or a paragraph elsewhere.

    A sentence counts as beginning what begins within it, so a splitter that keeps line breaks with either side will do.
    """
    headings = [block.start for block in snapshot.blocks if block.kind == "heading"]
    places = headings or [match.end() for match in _PARAGRAPH.finditer(snapshot.text)]
    ends = [end for _, end in sentences]
    numbers = {bisect_right(ends, place) for place in places}
    before = sorted(number for number in numbers if 0 < number < len(sentences))

    def cuts(first: int, end: int) -> Sequence[int]:
        return [number for number in before if first < number < end]

    return cuts


def _ask_twice(request: Request, n_sentences: int, counts: Counter[str]) -> Dialogue[list[int] | None]:
    """The sentences of a window before which to cut, from 1; None, counted, where two answers were of no use."""
    problem = ""
    for attempt in range(2):
        (result,) = yield [request]
        found, problem = _checked(result, n_sentences, counts)
        if found is not None:
            return found
        if not isinstance(result, Answer):
            break
        if attempt == 0:
            counts["boundary_retries"] += 1
            request = asked_again(request, result.text, _PROBLEMS[problem].format(last=n_sentences - 1))
    counts["boundary_fallbacks"] += 1
    counts[f"boundary_fallbacks.{problem}"] += 1
    return None


_PROBLEMS = {
    "no_json": "That is not the JSON that was asked for.",
    "not_numbers": "The list must hold whole numbers.",
    "out_of_range": "The numbers must lie between 1 and {last}.",
    "not_rising": "The numbers must rise, each given once.",
    "all_cut": "A cut after every sentence separates nothing.",
    "cut_answer": "The list was too long: name the most important cuts only.",
}


def _checked(result: Result, n_sentences: int, counts: Counter[str]) -> tuple[list[int] | None, str]:
    """The numbers in a result, or what is wrong with it."""
    if not isinstance(result, Answer):
        return None, result.reason
    parsed = read_list(result.text, KEY)
    counts.update(parsed.repairs)
    if parsed.value is None:
        return None, "no_json"
    numbers = whole_numbers(parsed.value, counts)
    return (None, problem) if (problem := _problem(numbers, len(parsed.value), n_sentences, result)) else (numbers, "")


def _problem(numbers: list[int], n_values: int, n_sentences: int, answer: Answer) -> str:
    if answer.is_cut:
        return "cut_answer"
    if len(numbers) < n_values:
        return "not_numbers"
    # A cut after the window's last sentence is for the next window to make.
    if numbers and numbers[-1] == n_sentences:
        numbers.pop()
    if any(number < 1 or number >= n_sentences for number in numbers):
        return "out_of_range"
    if any(after <= number for number, after in pairwise(numbers)):
        return "not_rising"
    return "all_cut" if len(numbers) >= max(n_sentences - 1, _MIN_SENTENCES_TO_SEPARATE) else ""


class _Lines:
    """The windows of one document: which sentences fit one, and how they are shown."""

    def __init__(
        self,
        text: str,
        sentences: Sequence[Span],
        prompt: Prompt,
        context_tokens: int,
        count_tokens: CountTokens,
        max_answer_tokens: int,
    ) -> None:
        self._text, self._sentences = text, sentences
        around = count_tokens("\n".join(turn.content for turn in prompt.turns)) + 16 * (len(prompt.turns) + 3)
        # A second attempt holds the first answer too.
        self._room = max(context_tokens - around - 2 * max_answer_tokens, 32)
        self._max_chars = min(600, self._room)
        self._count = count_tokens
        self._n_tokens: dict[int, int] = {}
        self._max_sentences = max(max_answer_tokens // _TOKENS_PER_CUT, 4)

    def window_end(self, first: int) -> int:
        """The sentence after the last one that fits a window that begins with `first`; two fit always."""
        n_tokens, end = 0, first
        while end < min(len(self._sentences), first + self._max_sentences):
            n_tokens += self._tokens(end)
            if n_tokens > self._room and end >= first + _MIN_SENTENCES_TO_ASK:
                break
            end += 1
        return end

    def half_back(self, first: int, end: int) -> int:
        """The first sentence of a window's second half, at least one further than `first`."""
        total = sum(self._tokens(number) for number in range(first, end))
        n_tokens, start = 0, end
        while start > first + 1 and 2 * (n_tokens + self._tokens(start - 1)) <= total:
            start -= 1
            n_tokens += self._tokens(start)
        return max(min(start, end - 1), first + 1)

    def shown(self, first: int, end: int, counts: Counter[str]) -> str:
        """Numbered lines of a window."""
        made = [self._line(number, number - first + 1) for number in range(first, end)]
        counts["trimmed_sentences"] += sum(line.is_trimmed for line in made)
        return "\n".join(line.text for line in made)

    def _line(self, number: int, shown_as: int) -> NumberedLine:
        start, end = self._sentences[number]
        return numbered_line(shown_as, self._text[start:end], self._max_chars)

    def _tokens(self, number: int) -> int:
        if number not in self._n_tokens:
            self._n_tokens[number] = self._count(self._line(number, 100).text) + 1
        return self._n_tokens[number]

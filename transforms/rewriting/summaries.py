"""Summaries of documents: at once where one fits the model, else window by window and then of the summaries."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from models.llm.records import Answer, Request, Result
from transforms.rewriting.answers_text import is_prose, prose_of, repeats_prompt
from transforms.rewriting.checks import invented_names, invented_numbers
from transforms.rewriting.dialogues import Dialogue
from transforms.rewriting.languages import language_of
from transforms.rewriting.prompts import Prompt

# Raise when the same answers give another summary.
VERSION = 2
STAGE = "summary"
MAX_ANSWER_TOKENS = 160
_MAX_LEVELS = 6
_MAX_SUMMARY_CHARS = 4000

CountTokens = Callable[[str], int]
Span = tuple[int, int]


class Summary(NamedTuple):
    """A document's summary, empty where the model gave none to use, with counted outcomes."""

    text: str
    counts: Counter[str]


def summarise(
    text: str,
    sentences: Sequence[Span],
    prompt: Prompt,
    *,
    context_tokens: int,
    count_tokens: CountTokens,
    owner: str = "",
    max_answer_tokens: int = MAX_ANSWER_TOKENS,
) -> Dialogue[Summary]:
    """A dialogue that returns the summary of `text`, whose sentences lie at the given spans.

    Where the text does not fit `context_tokens` beside prompt and answer, windows of whole sentences are summarised and
    then their summaries, as often as it takes. Counts: `summary_windows`, `empty_summaries`, `repeated_prompts`,
    `summaries_not_prose`, `cut_summaries`, `summaries_with_new_numbers`, `summaries_with_new_names` (which are kept),
    `unjudged_names`, `failed_summaries` and `failed_summaries.<reason>`, `unsummarised_documents`, and those of
    `prose_of`.
    """
    counts: Counter[str] = Counter()
    room = _room(prompt, context_tokens, max_answer_tokens, count_tokens)
    parts = _windows(text, sentences, room, count_tokens)
    kept: list[str] = []
    for _ in range(_MAX_LEVELS):
        requests = [
            Request(prompt.fill(text=part), max_answer_tokens, None, STAGE, owner, prompt.version) for part in parts
        ]
        counts["summary_windows"] += len(parts) if len(parts) > 1 else 0
        results = yield requests
        made = [_checked(result, request, counts) for result, request in zip(results, requests, strict=True)]
        kept = [summary for summary in made if summary]
        if len(kept) <= 1:
            break
        joined = "\n".join(kept)
        following = _windows(joined, _line_spans(joined), room, count_tokens)
        if len(following) >= len(parts):  # summaries as long as what they sum up would go on for ever
            break
        parts = following
    counts["unsummarised_documents"] += not kept
    return Summary(" ".join(kept)[:_MAX_SUMMARY_CHARS], +counts)


def _room(prompt: Prompt, context_tokens: int, max_answer_tokens: int, count_tokens: CountTokens) -> int:
    """Tokens that the text may take of the context; at least a few, where the guard will refuse the request."""
    around = count_tokens("\n".join(turn.content for turn in prompt.turns)) + 16 * (len(prompt.turns) + 1)
    return max(context_tokens - around - max_answer_tokens, 16)


def _checked(result: Result, request: Request, counts: Counter[str]) -> str:
    """The summary in a result; empty, and counted, where it is none."""
    if not isinstance(result, Answer):
        counts["failed_summaries"] += 1
        counts[f"failed_summaries.{result.reason}"] += 1
        return ""
    text = prose_of(result, _MAX_SUMMARY_CHARS, counts)
    counts["cut_summaries"] += result.is_cut or len(result.text) > _MAX_SUMMARY_CHARS
    if not any(mark.isalnum() for mark in text):
        counts["empty_summaries"] += 1
        return ""
    if repeats_prompt(text, request.messages):
        counts["repeated_prompts"] += 1
        return ""
    if not is_prose(text):
        counts["summaries_not_prose"] += 1
        return ""
    shown = request.messages[-1].content
    language = language_of(shown)
    names = invented_names(text, shown, language)
    counts["summaries_with_new_numbers"] += bool(invented_numbers(text, shown, language))
    counts["summaries_with_new_names"] += bool(names)
    counts["unjudged_names"] += names is None
    return text


def _windows(text: str, sentences: Sequence[Span], room: int, count_tokens: CountTokens) -> list[str]:
    """The text in windows of whole sentences of at most `room` tokens; a longer sentence is cut into equal parts."""
    if count_tokens(text) <= room:
        return [text]
    windows: list[str] = []
    start = filled = 0
    edges = [span[0] for span in sentences[1:]] + [len(text)]
    last = 0
    for edge in edges:
        n_tokens = count_tokens(text[last:edge])
        if filled and filled + n_tokens > room:
            windows.append(text[start:last])
            start, filled = last, 0
        if n_tokens > room:
            windows += _cut_evenly(text[start:edge], n_tokens, room)
            start, filled = edge, 0
        else:
            filled += n_tokens
        last = edge
    windows.append(text[start:])
    return [window for window in windows if window.strip()]


def _cut_evenly(text: str, n_tokens: int, room: int) -> list[str]:
    """Parts of equal length that hold about `room` tokens each."""
    n_parts = -(-n_tokens * 5 // (room * 4))
    size = -(-len(text) // n_parts)
    return [text[at : at + size] for at in range(0, len(text), size)]


def _line_spans(text: str) -> list[Span]:
    spans, start = [], 0
    for line in text.splitlines(keepends=True):
        spans.append((start, start + len(line)))
        start += len(line)
    return spans

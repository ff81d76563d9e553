"""Context prefixes: a sentence or two, written by the model, in front of what the encoder reads of a unit."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from models.llm.records import Answer, Request, Result
from transforms.rewriting.answers_text import fitting_sentences, is_prose, one_line, prose_of, repeats_prompt
from transforms.rewriting.around import shown_headings
from transforms.rewriting.checks import invented_names, invented_numbers
from transforms.rewriting.dialogues import Dialogue
from transforms.rewriting.languages import language_of, speaks_another
from transforms.rewriting.prompts import Prompt
from transforms.rewriting.scripts import writes_another

# Raise when the same answers give another prefix.
VERSION = 3
STAGE = "prefix"
MAX_ANSWER_TOKENS = 120
MAX_CHARS = 4000
"""What is looked at of an answer, in code points. An endpoint need not keep to the tokens that it was allowed."""

CountTokens = Callable[[str], int]


class Prefix(NamedTuple):
    """A prefix, empty where there is none to use, with counted outcomes."""

    text: str
    counts: Counter[str]


def place(
    passage: str,
    prompt: Prompt,
    *,
    heading_path: tuple[str, ...] = (),
    context: str = "",
    max_tokens: int,
    count_tokens: CountTokens,
    owner: str = "",
    max_answer_tokens: int = MAX_ANSWER_TOKENS,
) -> Dialogue[Prefix]:
    """A dialogue that returns the prefix of one passage, of at most `max_tokens` of the encoder's `count_tokens`.

    A longer one loses its last sentences; the passage is never shortened for it. Counts: `prefixes`,
    `trimmed_prefixes`, `rejected_prefixes` with `.reason`, `unjudged_names`, and those of `prose_of`.
    """
    filled = prompt.fill(context=context or "-", headings=shown_headings(heading_path) or "-", passage=passage)
    request = Request(filled, max_answer_tokens, None, STAGE, owner, prompt.version)
    (result,) = yield [request]
    shown = "\n".join([passage, context, shown_headings(heading_path)])
    counts: Counter[str] = Counter()
    text, reason = _checked(result, request, passage, counts)
    if not reason:
        fitting = fitting_sentences(text, max_tokens, count_tokens)
        counts["trimmed_prefixes"] += bool(fitting) and fitting != text
        text, reason = fitting, _unfounded(fitting, shown, counts) if fitting else "too_long"
    if reason:
        counts["rejected_prefixes"] += 1
        counts[f"rejected_prefixes.{reason}"] += 1
        return Prefix("", +counts)
    counts["prefixes"] += 1
    return Prefix(text, +counts)


def _checked(result: Result, request: Request, passage: str, counts: Counter[str]) -> tuple[str, str]:
    """The prefix in a result, and why it is none."""
    if not isinstance(result, Answer):
        return "", result.reason
    text = prose_of(result, MAX_CHARS, counts)
    if not any(mark.isalnum() for mark in text):
        return "", "empty"
    if not is_prose(text):
        return "", "not_prose"
    return text, "repeats_prompt" if repeats_prompt(text, request.messages) or text in one_line(passage) else ""


def _unfounded(text: str, shown: str, counts: Counter[str]) -> str:
    """What in a prefix the model was not shown; empty where there is nothing of that kind."""
    language = language_of(shown)
    if invented_numbers(text, shown, language):
        return "invented_number"
    if writes_another(text, shown) or speaks_another(text, language):
        return "other_language"
    names = invented_names(text, shown, language)
    counts["unjudged_names"] += names is None
    return "invented_name" if names else ""

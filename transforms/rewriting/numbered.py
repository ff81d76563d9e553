"""Sentences as a model is shown them: numbered lines, each bounded, however the text was broken or how long it is."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from models.llm.json_answers import Parsed, listed, parse_json
from models.llm.records import Message, Request
from transforms.rewriting.prompts import without_turn_marks

Span = tuple[int, int]

MAX_SENTENCE_CHARS = 600
_ELLIPSIS = " … "
_BLANKS = re.compile(r"\s+")


class NumberedLine(NamedTuple):
    """One sentence as it is shown; `is_trimmed` where its middle was left out."""

    text: str
    is_trimmed: bool


def numbered_line(number: int, text: str, max_chars: int = MAX_SENTENCE_CHARS) -> NumberedLine:
    """`[3] The sentence.` on one line; of an overlong one the beginning and the end.

    >>> numbered_line(3, "The   mill.").text
    '[3] The mill.'
    """
    half = max_chars // 2
    is_trimmed = len(text) > 4 * max_chars
    text = f"{text[: 2 * max_chars]}{_ELLIPSIS}{text[-2 * max_chars :]}" if is_trimmed else text
    line = _BLANKS.sub(" ", text).strip()
    if len(line) > max_chars:
        line, is_trimmed = f"{line[:half].rstrip()}{_ELLIPSIS}{line[-half:].lstrip()}", True
    return NumberedLine(f"[{number}] {line}", is_trimmed)


def numbered(text: str, sentences: Sequence[Span], max_chars: int = MAX_SENTENCE_CHARS) -> list[NumberedLine]:
    """The sentences at the given spans of `text`, numbered from 1."""
    return [numbered_line(i, text[start:end], max_chars) for i, (start, end) in enumerate(sentences, 1)]


def read_list(text: str, key: str) -> Parsed:
    """The list under `key` that a model answered with, or a bare list."""
    # A list that is named goes before a bare one, which may be a number in brackets in the prose before it.
    parsed = parse_json(text, lambda value: isinstance(value, dict) and listed(value, key) is not None)
    if parsed.value is None:
        parsed = parse_json(text, lambda value: isinstance(value, list))
    if parsed.value is None:
        return parsed
    return Parsed(listed(parsed.value, key), parsed.repairs)


def asked_again(request: Request, answer: str, problem: str) -> Request:
    """The request with its answer and what is wrong with it, so that another answer can be hoped for."""
    turns = (
        Message("assistant", without_turn_marks(answer[:2000])),
        Message("user", f"{problem} Answer again, with the JSON alone."),
    )
    return msgspec.structs.replace(request, messages=(*request.messages, *turns))

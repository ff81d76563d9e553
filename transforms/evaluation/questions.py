"""A file of questions: JSON lines, read one at a time, so that its size does not matter.

A line holds `question`, `references` and, if wanted, `id`. A reference is a piece of a document that answers: its
`uri` with a `quote`, or with `start` and `end` in code points of the document's text, or with both, of which the quote
is what counts once the document has been edited.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from models.errors import SettingsError

MAX_LINE_BYTES = 1024 * 1024
MAX_REFERENCES = 1000
MAX_ID_CHARS = 1000
"""Ids are held in memory and printed with the results."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Reference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A piece of a document that answers: a span, a quote, or both."""

    uri: str
    start: int | None = None
    end: int | None = None
    quote: str | None = None


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question with every piece that answers it."""

    question: str
    references: tuple[Reference, ...]
    id: str = ""


_DECODER = msgspec.json.Decoder(Question)


def read_questions(path: str | Path, offset: int = 0, first_line: int = 1) -> Iterator[tuple[int, Question]]:
    """The number of each line, from 1, with its question; blank lines are left out.

    :param offset: byte at which to begin, the start of line `first_line`.
    :raises SettingsError: names the file, the line and what is wrong with it.
    """
    for number, _, line in _lines(path, offset, first_line):
        yield number, parse_question(line, f"{path}, line {number}")


def question_places(path: str | Path) -> Iterator[tuple[int, int]]:
    """The number and the byte offset of each line that is not blank, as `read_questions` takes them."""
    for number, offset, _ in _lines(path, 0, 1):
        yield number, offset


def _lines(path: str | Path, offset: int, first_line: int) -> Iterator[tuple[int, int, bytes]]:
    try:
        with Path(path).open("rb") as stream:
            stream.seek(offset)
            number = first_line - 1
            while line := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                text = line.removeprefix(_BYTE_ORDER_MARK) if offset == 0 else line
                if text.strip():
                    yield number, offset, text
                offset += len(line)
    except OSError as error:
        raise SettingsError(f"questions file {str(path)!a} cannot be read: {error.strerror}; name a file") from error


def parse_question(line: bytes, place: str) -> Question:
    """The question in one line of JSON; `SettingsError` begins with `place`."""
    if len(line) > MAX_LINE_BYTES:
        raise SettingsError(f"{place}: over {MAX_LINE_BYTES} bytes; a line holds one question")
    try:
        question = _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise SettingsError(
            f"{place}: {reason}; a line is a JSON object with question, references (uri with quote, or start and end) "
            "and, if wanted, id"
        ) from error
    _check(question, place)
    return question


def _check(question: Question, place: str) -> None:
    if not question.question.strip():
        raise SettingsError(f"{place}: the question is empty; write one or remove the line")
    if len(question.id) > MAX_ID_CHARS:
        raise SettingsError(f"{place}: an id of {len(question.id)} characters; up to {MAX_ID_CHARS} are taken")
    if not question.references:
        raise SettingsError(f"{place}: no references; name what answers, or remove the line")
    if len(question.references) > MAX_REFERENCES:
        raise SettingsError(f"{place}: {len(question.references)} references; up to {MAX_REFERENCES} are taken")
    for number, reference in enumerate(question.references):
        problem = _problem(reference)
        if problem:
            raise SettingsError(f"{place}: reference {number + 1} {problem}")


def _problem(reference: Reference) -> str:
    if not reference.uri:
        return "has an empty uri; name its document"
    if (reference.start is None) != (reference.end is None):
        return "has only one of start and end; give both, or a quote"
    if reference.quote is not None and not reference.quote.strip():
        return "has an empty quote; quote what answers, or give start and end"
    if reference.start is None or reference.end is None:
        return "has neither a quote nor start and end; give one of them" if reference.quote is None else ""
    if not 0 <= reference.start < reference.end:
        return f"has the span [{reference.start}:{reference.end}], which holds nothing; start must be below end"
    return ""

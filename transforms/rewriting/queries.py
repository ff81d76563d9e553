"""Questions that people really asked, by the document that answered them: better anchors than any summary."""

import csv
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from models.errors import SettingsError

MAX_QUESTIONS = 64
MAX_QUESTION_CHARS = 2000
_PRUNED_FROM = 4 * MAX_QUESTIONS

Questions = Mapping[str, tuple[str, ...]]


def read_questions(path: str) -> Questions:
    """Distinct questions by address, sorted, the first `MAX_QUESTIONS` of each, from the file at `path`.

    The file is CSV without a header, an address and a question a line.

    :raises SettingsError: the file cannot be read, or a line is no such pair.
    """
    found: dict[str, set[str]] = {}
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as lines:
            for number, row in enumerate(csv.reader(lines), 1):
                if row:
                    uri, question = _pair(path, number, row)
                    asked = found.setdefault(uri, set())
                    asked.add(question)
                    if len(asked) > _PRUNED_FROM:  # a log may be long, and only the first are wanted
                        found[uri] = set(sorted(asked)[:MAX_QUESTIONS])
    except (OSError, ValueError, csv.Error) as error:
        raise SettingsError(f"{path} cannot be read as CSV: {error}; give a file of addresses and questions") from error
    return {uri: tuple(sorted(questions)[:MAX_QUESTIONS]) for uri, questions in found.items()}


def questions_sha256(questions: Questions) -> str:
    """One name for what was asked, as a recipe part."""
    return hashlib.sha256(json.dumps(dict(questions), sort_keys=True).encode()).hexdigest()


def _pair(path: str, number: int, row: list[str]) -> tuple[str, str]:
    if len(row) != 2 or not (row[0].strip() and row[1].strip()):
        raise SettingsError(f"{path}, line {number}: {','.join(row)[:100]!r} must be an address and a question")
    return row[0], " ".join(row[1].split())[:MAX_QUESTION_CHARS]

"""Numbered clauses in plain text: "4.2.1 Scope", "§ 12 Fees", "(a) a card".

A number at the start of a line is weak evidence: dates, versions, quantities and shopping lists have one too. So a
family of labels counts only where most of its labels follow one another as clauses do.
"""

import re
from itertools import pairwise
from typing import Literal, NamedTuple

Family = Literal["decimal", "section", "letter"]

_LABEL = re.compile(
    r"^[ \t]{0,8}(?:"
    r"(?P<section>§[ \t]?\d{1,4}[a-z]?)|"
    r"(?P<decimal>\d{1,3}(?:\.\d{1,3}){0,5})\.?|"
    r"\((?P<letter>[a-z])\)"
    r")(?=[ \t]+\S)",
    re.MULTILINE,
)
_CONTENTS_ENTRY = re.compile(r"(?:\.{3,}|…)[ \t]*\d+$")
_TITLE_CHARS = 80
_MIN_LABELS = 3
_MIN_FOLLOWING_SHARE = 0.8


class Clause(NamedTuple):
    """A clause's heading: its title line, or its label alone where the clause's text stands on the same line."""

    start: int
    end: int
    level: int


class _Label(NamedTuple):
    family: Family
    numbers: tuple[int, ...]
    start: int
    label_end: int
    line_end: int


def find_clauses(text: str) -> list[Clause]:
    """The clauses in order, with levels from 1; empty where the text is not one of numbered clauses."""
    labels = _labels(text)
    accepted = {family for family in ("section", "decimal") if _is_numbered(labels, family)}
    if not accepted:
        return []
    if _letters_start_at_a(labels):
        accepted.add("letter")
    return _with_levels(text, [label for label in labels if label.family in accepted])


def _labels(text: str) -> list[_Label]:
    labels = []
    for match in _LABEL.finditer(text):
        line_end = text.find("\n", match.end())
        line_end = len(text) if line_end < 0 else line_end
        family: Family = match.lastgroup  # type: ignore[assignment]
        if not _CONTENTS_ENTRY.search(text, max(match.end(), line_end - 40), line_end):
            label = match[family]
            labels.append(_Label(family, _numbers(family, label), match.start(family), match.end(), line_end))
    return [label._replace(start=label.start - 1) if label.family == "letter" else label for label in labels]


def _numbers(family: Family, label: str) -> tuple[int, ...]:
    if family == "letter":
        return (ord(label) - ord("a") + 1,)
    return tuple(int(number) for number in re.findall(r"\d+", label))


def _is_numbered(labels: list[_Label], family: Family) -> bool:
    """Whether labels of this family follow one another; single numbers alone ("1.", "2.") are a list, not clauses."""
    numbers = [label.numbers for label in labels if label.family == family]
    if len(numbers) < _MIN_LABELS or (family == "decimal" and max(map(len, numbers)) < 2):
        return False
    n_following = sum(_follows(first, second) for first, second in pairwise(numbers))
    return n_following >= _MIN_FOLLOWING_SHARE * (len(numbers) - 1)


def _follows(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Whether `second` is the next sibling, the first child, or the next of an ancestor (§ 12 after § 11 or § 11a)."""
    if len(second) == len(first) + 1:
        return second[:-1] == first and second[-1] <= 1
    if len(second) > len(first):
        return False
    parent = len(second) - 1
    return second[:parent] == first[:parent] and 0 <= second[parent] - first[parent] <= 1 and second != first


def _letters_start_at_a(labels: list[_Label]) -> bool:
    numbers = [label.numbers[0] for label in labels if label.family == "letter"]
    n_following = sum(b in (1, a + 1) for a, b in zip([0, *numbers], numbers, strict=False))
    return len(numbers) >= 2 and n_following >= _MIN_FOLLOWING_SHARE * len(numbers)


def _with_levels(text: str, labels: list[_Label]) -> list[Clause]:
    has_sections = any(label.family == "section" for label in labels)
    outer, clauses = 0, []
    for label in labels:
        if label.family == "letter":
            level = outer + 1
        else:
            level = outer = len(label.numbers) + (1 if has_sections and label.family == "decimal" else 0)
        clauses.append(Clause(label.start, _heading_end(text, label), level))
    return clauses


def _heading_end(text: str, label: _Label) -> int:
    """The end of a title line, or of the label where a sentence follows it."""
    if label.line_end - label.start > _TITLE_CHARS:
        return label.label_end
    line = text[label.start : label.line_end].rstrip()
    return label.label_end if line.endswith((".", ";", ":", ",")) else label.start + len(line)

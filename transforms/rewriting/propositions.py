"""Propositions: a passage as facts that stand alone, each checked, each with the span of the sentences it comes from.

A proposition is what a question is matched with; its passage is what is served, so that no qualifier is lost there.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from models.llm.json_answers import whole_numbers
from models.llm.records import Answer, Request, Result
from transforms.rewriting import checks
from transforms.rewriting.answers_text import one_line
from transforms.rewriting.dialogues import Dialogue
from transforms.rewriting.languages import language_of, script_of
from transforms.rewriting.numbered import Span, numbered, read_list
from transforms.rewriting.prompts import Prompt

# Raise when the same answers give other propositions.
VERSION = 1
STAGE = "propositions"
KEY = "propositions"
MAX_ANSWER_TOKENS = 1500
MAX_CHARS = 600
"""Longest proposition, in code points. One fact with everything written out is far below it."""
_PER_SENTENCE, _AT_LEAST = 6, 8
_ITEM = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "sentences": {"type": "array", "items": {"type": "integer"}}},
    "required": ["text", "sentences"],
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "properties": {KEY: {"type": "array", "items": _ITEM}},
    "required": [KEY],
    "additionalProperties": False,
}


class Passage(NamedTuple):
    """What is rewritten: a span of `text` in sentences, given as spans of the whole text, and what stands around it."""

    text: str
    sentences: Sequence[Span]
    heading_path: tuple[str, ...] = ()
    context: str = ""
    owner: str = ""

    @property
    def shown(self) -> str:
        """All that the model may take names and numbers from."""
        return "\n".join([*self.heading_path, self.context, *self.sources])

    @property
    def sources(self) -> list[str]:
        return [self.text[start:end] for start, end in self.sentences]


class Proposition(NamedTuple):
    """A fact, and the span of the sentences it comes from, in code points of the whole text."""

    text: str
    start: int
    end: int


class Propositions(NamedTuple):
    """A passage's propositions, none where it is to be indexed as itself, with counted outcomes."""

    items: tuple[Proposition, ...]
    counts: Counter[str]


def rewrite(passage: Passage, prompt: Prompt, max_answer_tokens: int = MAX_ANSWER_TOKENS) -> Dialogue[Propositions]:
    """A dialogue that returns the propositions of one passage.

    Counts: `propositions`, `rejected_propositions` with `.reason`, `located_sources`, `unjudged_names`,
    `unjudged_subjects`, `unjudged_conditions`, `propositions_over_limit`, `passages_as_themselves` with `.reason`, and
    the repairs of `parse_json`.
    """
    request = Request(
        prompt.fill(
            headings=" > ".join(passage.heading_path) or "-",
            context=passage.context or "-",
            sentences="\n".join(line.text for line in numbered(passage.text, passage.sentences, max_chars=4000)),
        ),
        max_answer_tokens,
        SCHEMA,
        STAGE,
        passage.owner,
        prompt.version,
    )
    (result,) = yield [request]
    return read_propositions(result, passage)


def read_propositions(result: Result, passage: Passage) -> Propositions:
    """The propositions in a result that pass every check."""
    counts: Counter[str] = Counter()
    if not isinstance(result, Answer):
        return _as_itself(counts, result.reason)
    parsed = read_list(result.text, KEY)
    counts.update(parsed.repairs)
    counts["cut_answers"] += result.is_cut
    if parsed.value is None:
        return _as_itself(counts, "no_json")
    limit = max(_PER_SENTENCE * len(passage.sentences), _AT_LEAST)
    counts["propositions_over_limit"] += max(len(parsed.value) - limit, 0)
    judge = _Judge(passage, counts)
    items = [item for value in parsed.value[:limit] if (item := judge.checked(value)) is not None]
    if not items:
        return _as_itself(counts, "none_left" if parsed.value else "empty_list")
    counts["propositions"] += len(items)
    return Propositions(tuple(items), +counts)


def _as_itself(counts: Counter[str], reason: str) -> Propositions:
    counts["passages_as_themselves"] += 1
    counts[f"passages_as_themselves.{reason}"] += 1
    return Propositions((), +counts)


class _Judge:
    """Checks the propositions of one passage, one after the other."""

    def __init__(self, passage: Passage, counts: Counter[str]) -> None:
        self._passage, self._counts = passage, counts
        self._shown, self._sources = passage.shown, passage.sources
        own = "\n".join(self._sources)
        # Of a passage too short to tell, the context tells.
        self._language = language_of(own) or (language_of(self._shown) if script_of(own) == "LATIN" else "")
        self._script = script_of(own)
        self._said: set[str] = set()

    def checked(self, value: Any) -> Proposition | None:
        """The proposition that the model meant, None, and counted by reason, where a check fails."""
        text, numbers = self._read(value)
        sources = self._sources_of(text, numbers)
        reason = self._fault(text, [self._sources[number] for number in sources])
        if reason:
            self._counts["rejected_propositions"] += 1
            self._counts[f"rejected_propositions.{reason}"] += 1
            return None
        self._said.add(_key(text))
        spans = [self._passage.sentences[number] for number in sources]
        return Proposition(text, min(start for start, _ in spans), max(end for _, end in spans))

    def _read(self, value: Any) -> tuple[str, list[int]]:
        """Text and sentence numbers from 0 of one item, which may be a bare text."""
        if isinstance(value, dict):
            text, numbers = value.get("text"), value.get("sentences")
            listed = numbers if isinstance(numbers, list) else [] if numbers is None else [numbers]
            found = [number - 1 for number in whole_numbers(listed, self._counts)]
            return one_line(text) if isinstance(text, str) else "", found
        return one_line(value) if isinstance(value, str) else "", []

    def _sources_of(self, text: str, numbers: list[int]) -> list[int]:
        """The sentences that it names, if they exist and share a word with it; else the one that shares most."""
        known = [number for number in numbers if 0 <= number < len(self._sources)]
        if known and any(checks.overlap(text, self._sources[number]) for number in known):
            return sorted(set(known))
        shared = [checks.overlap(text, source) for source in self._sources]
        if not any(shared):
            return sorted(set(known)) if known and self._script not in ("LATIN", "") else []
        self._counts["located_sources"] += 1
        return [shared.index(max(shared))]

    def _fault(self, text: str, sources: list[str]) -> str:
        """Why a proposition is refused; empty where nothing speaks against it."""
        if not any(mark.isalnum() for mark in text):
            return "empty"
        if len(text) > MAX_CHARS:
            return "too_long"
        if _key(text) in self._said:
            return "duplicate"
        if script_of(text) != self._script or self._speaks_another(text):
            return "other_language"
        return self._invented(text) or self._unfounded(text, sources)

    def _speaks_another(self, text: str) -> bool:
        other = language_of(text)
        return bool(other and self._language and other != self._language)

    def _invented(self, text: str) -> str:
        if checks.invented_numbers(text, self._shown):
            return "invented_number"
        names = checks.invented_names(text, self._shown, self._language)
        self._counts["unjudged_names"] += names is None
        return "invented_name" if names else ""

    def _unfounded(self, text: str, sources: list[str]) -> str:
        is_open = checks.has_open_subject(text, self._language)
        self._counts["unjudged_subjects"] += is_open is None
        if is_open:
            return "pronoun_subject"
        if not checks.names_a_subject(text, self._language):
            return "no_subject"
        if not sources:
            return "no_source"
        lost = checks.lost_bounds(text, sources, self._language)
        self._counts["unjudged_conditions"] += lost is None
        return "lost_condition" if lost else ""


def _key(text: str) -> str:
    """Equal for texts that say the same in the same words."""
    return " ".join("".join(mark if mark.isalnum() else " " for mark in text.lower()).split())

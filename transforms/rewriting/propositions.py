"""Propositions: a passage as facts that stand alone, each checked, each with the span of the sentences it comes from.

A proposition is what a question is matched with; its passage is what is served, so that no qualifier is lost there.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from models.llm.json_answers import whole_numbers
from models.llm.records import Answer, Message, Request, Result
from transforms.rewriting import checks
from transforms.rewriting.answers_text import n_unprintable, one_line, repeats_prompt
from transforms.rewriting.around import shown_headings
from transforms.rewriting.dialogues import Dialogue
from transforms.rewriting.languages import language_of, speaks_another
from transforms.rewriting.numbered import Span, numbered, read_list
from transforms.rewriting.prompts import Prompt
from transforms.rewriting.quantities import known_numbers, unknown_numbers
from transforms.rewriting.scripts import script_of, writes_another

# Raise when the same answers give other propositions.
VERSION = 2
STAGE = "propositions"
KEY = "propositions"
MAX_ANSWER_TOKENS = 1500
MAX_CHARS = 600
"""Longest proposition, in code points. One fact with everything written out is far below it."""
_MAX_SHOWN_CHARS = 4000
_PER_SENTENCE, _AT_LEAST = 6, 8
_MIN_FOUNDED_SHARE = 0.5
"""Of the words of a proposition that are no small words, how many must be among those that the model was shown."""
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
        return "\n".join([shown_headings(self.heading_path), self.context, *self.sources])

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
    `unjudged_subjects`, `unjudged_conditions`, `propositions_over_limit`, `passages_as_themselves` with `.reason`,
    `trimmed_sentences` (shown without their middle), `unprintable_marks`, and the repairs of `parse_json`.
    """
    lines = numbered(passage.text, passage.sentences, max_chars=_MAX_SHOWN_CHARS)
    request = Request(
        prompt.fill(
            headings=shown_headings(passage.heading_path) or "-",
            context=passage.context or "-",
            sentences="\n".join(line.text for line in lines),
        ),
        max_answer_tokens,
        SCHEMA,
        STAGE,
        passage.owner,
        prompt.version,
    )
    (result,) = yield [request]
    found = read_propositions(result, passage, prompt)
    found.counts.update(trimmed_sentences=sum(line.is_trimmed for line in lines))
    return found._replace(counts=+found.counts)


def read_propositions(result: Result, passage: Passage, prompt: Prompt) -> Propositions:
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
    judge = _Judge(passage, prompt, counts)
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

    def __init__(self, passage: Passage, prompt: Prompt, counts: Counter[str]) -> None:
        self._passage, self._counts = passage, counts
        self._instructions = [turn for turn in prompt.turns if turn.role == "system"]
        self._shown, self._sources = passage.shown, passage.sources
        own = "\n".join(self._sources)
        # Of a passage too short to tell, the context tells.
        self._language = language_of(own) or (language_of(self._shown) if script_of(own) == "LATIN" else "")
        self._own = own
        self._numbers = known_numbers(self._shown, self._language)
        self._shown_terms = checks.terms_of(self._shown, self._language)
        self._terms = [checks.terms_of(source, self._language) for source in self._sources]
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
            return self._line(text), [number - 1 for number in whole_numbers(listed, self._counts)]
        return self._line(value), []

    def _line(self, text: Any) -> str:
        if not isinstance(text, str):
            return ""
        self._counts["unprintable_marks"] += n_unprintable(text)
        return one_line(text)

    def _sources_of(self, text: str, numbers: list[int]) -> list[int]:
        """The sentences that it names and shares a word with, unless another shares three times as many: then that."""
        terms = checks.terms_of(text, self._language)
        shared = [len(terms & source) for source in self._terms]
        known = sorted({number for number in numbers if 0 <= number < len(shared) and shared[number]})
        best = max(range(len(shared)), key=lambda number: shared[number], default=0)
        if known and shared[best] < 3 * len(terms & set().union(*(self._terms[number] for number in known))):
            return known
        if not shared or not shared[best]:
            return []
        self._counts["located_sources"] += 1
        return [best]

    def _fault(self, text: str, sources: list[str]) -> str:
        """Why a proposition is refused; empty where nothing speaks against it."""
        if not any(mark.isalnum() for mark in text):
            return "empty"
        if len(text) > MAX_CHARS:
            return "too_long"
        if _key(text) in self._said:
            return "duplicate"
        if writes_another(text, self._own) or speaks_another(text, self._language):
            return "other_language"
        if repeats_prompt(text, (*self._instructions, Message("user", ""))):
            return "repeats_prompt"
        return self._unfounded(text, sources) or self._invented(text) or self._changed(text, sources)

    def _unfounded(self, text: str, sources: list[str]) -> str:
        is_open = checks.has_open_subject(text, self._language)
        self._counts["unjudged_subjects"] += is_open is None
        if is_open:
            return "pronoun_subject"
        if not checks.names_a_subject(text, self._language):
            return "no_subject"
        terms = checks.terms_of(text, self._language)
        is_founded = len(terms & self._shown_terms) >= _MIN_FOUNDED_SHARE * len(terms)
        return "" if sources and is_founded else "no_source"

    def _invented(self, text: str) -> str:
        if unknown_numbers(text, self._numbers, self._language):
            return "invented_number"
        names = checks.invented_names(text, self._shown, self._language, judges_first=True)
        self._counts["unjudged_names"] += names is None
        return "invented_name" if names else ""

    def _changed(self, text: str, sources: list[str]) -> str:
        lost = checks.lost_bounds(text, sources, self._language)
        self._counts["unjudged_conditions"] += lost is None
        if lost:
            return "lost_condition"
        return "added_negation" if checks.adds_negation(text, sources, self._language) else ""


def _key(text: str) -> str:
    """Equal for texts that say the same in the same words."""
    return " ".join("".join(mark if mark.isalnum() else " " for mark in text.lower()).split())

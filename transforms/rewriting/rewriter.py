"""What a language model adds to the units of a cut document: propositions, prefixes, or a summary.

No answer loses a unit: what fails its checks leaves the unit as it was cut, and is counted.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from models.tokenizer import Tokenizer
from transforms.chunkers.sentence_spans import own_sentences
from transforms.elements import PASSAGE, PROPOSITION, SUMMARY, CutDocument, Snapshot, Unit
from transforms.rewriting import (
    around,
    bounds,
    checks,
    languages,
    prefixes,
    propositions,
    quantities,
    scripts,
    summaries,
)
from transforms.rewriting.answers_text import fitting_sentences
from transforms.rewriting.dialogues import Dialogue, T, together
from transforms.rewriting.passages import Span, sentences_within
from transforms.rewriting.prompts import Prompt, load_prompt
from transforms.rewriting.settings import RewritingSettings
from transforms.sentences import VERSION as SENTENCES_VERSION

# Raise when the same answers give other units.
VERSION = 2
MIN_PREFIX_TOKENS = 8
"""Room below which no prefix is asked for: hardly a sentence fits."""
UNITS_AT_ONCE = 256

_PROMPTS = {"propositions": "propositions", "context": "prefix", "summary": "summary"}
_CHECKS = (bounds, checks, languages, quantities, scripts)
_MODULES = {
    "propositions": (around, *_CHECKS, propositions),
    "context": (around, *_CHECKS, prefixes),
    "summary": (checks, summaries),
}
_DECISIVE = {
    "propositions": {"max_rewritten_units", "shown_chars", "max_propositions_tokens"},
    "context": {"max_rewritten_units", "shown_chars", "max_prefix_tokens"},
    "summary": set[str](),
}


@dataclass(frozen=True)
class Rewriter:
    """Rewrites documents as `settings` say.

    :param tokenizer: the encoder's.
    :param room_tokens: tokens that context and text of a unit may take together.
    :param context_tokens: what the language model reads and answers with at most.
    :param count_tokens: counts the language model's tokens.
    """

    settings: RewritingSettings
    tokenizer: Tokenizer
    room_tokens: int
    context_tokens: int
    count_tokens: Callable[[str], int]

    @property
    def identity(self) -> dict[str, Any]:
        """What decides what is written, beside the language model: prompt, versions and settings."""
        kind = self.settings.rewrite
        if kind == "none":
            return {"rewrite": kind}
        versions = {module.__name__.rpartition(".")[2]: module.VERSION for module in _MODULES[kind]}
        return {
            "rewrite": kind,
            "prompt": self._prompt.version,
            "versions": {"rewriter": VERSION, "splitting": SENTENCES_VERSION, **versions},
            "tokenizer": self.tokenizer.identity,
            "room_tokens": self.room_tokens,
            **self.settings.model_dump(include=_DECISIVE[kind]),
        }

    def reserved_tokens(self, window_tokens: int | None) -> int:
        """Tokens that units are to be cut shorter for, to leave room for a prefix: a third of the room at most.

        There are none where a window was chosen: then prefixes take what it leaves.
        """
        if self.settings.rewrite != "context" or window_tokens is not None:
            return 0
        return min(self.settings.max_prefix_tokens, self.room_tokens // 3)

    def dialogue(self, snapshot: Snapshot, document: CutDocument, owner: str = "") -> Dialogue[CutDocument]:
        """A dialogue that returns the document with what was written for it. `owner` is named in the bill.

        Counts are added to the document's: those of `propositions.rewrite`, `prefixes.place` or `summaries.summarise`,
        `units_over_rewriting_limit`, `shared_propositions` (one of an overlapping passage says the same of the same
        sentences), `propositions_over_room`, `prefixes_without_room`, `trimmed_summaries`, `summaries_over_room`.
        """
        if self.settings.rewrite == "none" or not document.units:
            return document
        writers = {"propositions": self._propositions, "context": self._prefixes, "summary": self._summary}
        counts: Counter[str] = Counter()
        units = yield from writers[self.settings.rewrite](snapshot, document.units, owner, counts)
        added = +(Counter(document.counts) + counts)
        return msgspec.structs.replace(document, units=tuple(units), counts=dict(sorted(added.items())))

    def _propositions(
        self, snapshot: Snapshot, units: Sequence[Unit], owner: str, counts: Counter[str]
    ) -> Dialogue[list[Unit]]:
        rewritten, others = self._within_limit(units, counts)
        sentences = own_sentences(snapshot)
        answer_tokens = self.settings.max_propositions_tokens
        found = yield from _in_turns(
            propositions.rewrite(self._passage(snapshot, unit, sentences, owner), self._prompt, answer_tokens)
            for unit in rewritten
        )
        said: set[tuple[int, int, str]] = set()
        made: list[Unit] = []
        for unit, (items, outcomes) in zip(rewritten, found, strict=True):
            counts.update(outcomes)
            kept = self._kept(unit, items, len(made), said, counts)
            if items and not kept:
                counts.update({"passages_as_themselves": 1, "passages_as_themselves.none_kept": 1})
            made += [msgspec.structs.replace(unit, level=PASSAGE), *kept] if kept else [unit]
        return [*made, *others]

    def _kept(
        self,
        unit: Unit,
        items: Iterable[propositions.Proposition],
        parent: int,
        said: set[tuple[int, int, str]],
        counts: Counter[str],
    ) -> list[Unit]:
        """The propositions of a unit that the encoder can read whole, and that no passage before it has."""
        kept: list[Unit] = []
        for item in items:
            n_tokens = self._count(item.text)
            key = (item.start, item.end, item.text)
            if not 0 < n_tokens <= self.room_tokens:
                counts["propositions_over_room"] += 1
            elif key in said:
                counts["shared_propositions"] += 1
            else:
                said.add(key)
                kept.append(Unit(*key, n_tokens, "", unit.heading_path, PROPOSITION, parent, unit.label))
        return kept

    def _passage(self, snapshot: Snapshot, unit: Unit, sentences: Sequence[Span], owner: str) -> propositions.Passage:
        shown = around.shown_around(snapshot.text, unit.start, self.settings.shown_chars)
        return propositions.Passage(snapshot.text, sentences_within(unit, sentences), unit.heading_path, shown, owner)

    def _prefixes(
        self, snapshot: Snapshot, units: Sequence[Unit], owner: str, counts: Counter[str]
    ) -> Dialogue[list[Unit]]:
        rewritten, others = self._within_limit(units, counts)
        room = [self._prefix_room(unit) for unit in rewritten]
        has_room = [tokens >= MIN_PREFIX_TOKENS for tokens in room]
        counts["prefixes_without_room"] += len(room) - sum(has_room)
        found = yield from _in_turns(
            self._prefix(snapshot, unit, tokens, owner)
            for unit, tokens in zip(rewritten, room, strict=True)
            if tokens >= MIN_PREFIX_TOKENS
        )
        written = iter(found)
        made: list[Unit] = []
        for unit, may_have_one in zip(rewritten, has_room, strict=True):
            prefix, outcomes = next(written) if may_have_one else ("", Counter[str]())
            counts.update(outcomes)
            made.append(_with_prefix(unit, prefix) if prefix else unit)
        return [*made, *others]

    def _prefix_room(self, unit: Unit) -> int:
        return min(self.settings.max_prefix_tokens, self.room_tokens - self._count(unit.embedded_text))

    def _prefix(self, snapshot: Snapshot, unit: Unit, max_tokens: int, owner: str) -> Dialogue[prefixes.Prefix]:
        alone = self._count(unit.embedded_text)
        return prefixes.place(
            unit.text,
            self._prompt,
            heading_path=unit.heading_path,
            context=around.shown_around(snapshot.text, unit.start, self.settings.shown_chars),
            max_tokens=max_tokens,
            # What counts is what it adds: tokens of a part are not always those of the part alone.
            count_tokens=lambda prefix: self._count(_with_prefix(unit, prefix).embedded_text) - alone,
            owner=owner,
        )

    def _summary(
        self, snapshot: Snapshot, units: Sequence[Unit], owner: str, counts: Counter[str]
    ) -> Dialogue[list[Unit]]:
        text, outcomes = yield from summaries.summarise(
            snapshot.text,
            own_sentences(snapshot),
            self._prompt,
            context_tokens=self.context_tokens,
            count_tokens=self.count_tokens,
            owner=owner,
        )
        counts.update(outcomes)
        fitting = fitting_sentences(text, self.room_tokens, self._count)
        n_tokens = self._count(fitting)
        if not n_tokens:
            counts["summaries_over_room"] += bool(text)
            return list(units)
        counts["trimmed_summaries"] += fitting != text
        return [*units, Unit(0, len(snapshot.text), fitting, n_tokens, level=SUMMARY)]

    def _within_limit(self, units: Sequence[Unit], counts: Counter[str]) -> tuple[list[Unit], list[Unit]]:
        limit = self.settings.max_rewritten_units
        counts["units_over_rewriting_limit"] += max(len(units) - limit, 0)
        return list(units[:limit]), list(units[limit:])

    @property
    def _prompt(self) -> Prompt:
        return load_prompt(_PROMPTS[self.settings.rewrite])

    def _count(self, text: str) -> int:
        return int(self.tokenizer.count([text])[0])


def _in_turns(dialogues: Iterable[Dialogue[T]]) -> Dialogue[list[T]]:
    """What each dialogue returns; `UNITS_AT_ONCE` of them share their rounds, so that a long document waits in turn."""
    waiting = list(dialogues)
    done: list[T] = []
    for start in range(0, len(waiting), UNITS_AT_ONCE):
        done += yield from together(waiting[start : start + UNITS_AT_ONCE])
    return done


def _with_prefix(unit: Unit, prefix: str) -> Unit:
    return msgspec.structs.replace(unit, context=f"{unit.context}\n{prefix}" if unit.context else prefix)

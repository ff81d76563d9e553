"""A dry run of `ingest`: reads, joins and cuts what a run would, encodes nothing, and leaves no trace under the root.

It takes the run's own functions one after the other in this process, over a store whose writes go to a scratch folder.
"""

import dataclasses
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from models.errors import SettingsError
from models.facts import EncoderFacts, encoder_facts
from models.prices import Assumptions, Prices, load_prices
from models.tokenizer import load_tokenizer
from pipelines.config import Settings
from pipelines.ingest import current_version, list_input, local_root
from pipelines.plan import policy_json, turnover_of
from pipelines.run_context import make_context
from pipelines.run_plan import check_recipes, find_changes, touched_shards
from transforms.addresses import with_addresses
from transforms.changes import Changes, read_items
from transforms.contents import document_counts, load_contents, plan_shard, read_content_changes, write_content_changes
from transforms.context import RunContext, open_store
from transforms.cutters import cutter_for
from transforms.documents import load_documents, merged, resolve
from transforms.guards import add_up, count_documents, refusal
from transforms.planning.costs import PolicyFigures, Pricing
from transforms.reading import read_gone, read_item
from transforms.records import GuardCount, LeftoverVectors, Record, TouchShard, WorkItem
from transforms.rewriting.tried import TriedAsking
from transforms.stages.joining import shards_of_leftover
from transforms.stages.reading import home_uri
from transforms.store.dry import dry_root
from transforms.store.manifest import Manifest
from transforms.store.pointer import check_publishable
from transforms.trial import DryTally, price_run
from transforms.unanswered import Unanswered
from transforms.work import CHARS_PER_TOKEN, WorkPacker

DOCUMENTS = ("listed", "indexed", "unchanged", "empty", "failed", "deleted")
Grouped = dict[int, list[Record]]


class DryRun(msgspec.Struct, frozen=True):
    """What a run would do and cost. `refusal` says in one line what would stop it, empty where nothing would."""

    documents: dict[str, int]
    units: dict[str, int]
    outcomes: dict[str, int]
    refusal: str
    facts: EncoderFacts
    prices: Prices
    turnover: float
    policies: tuple[PolicyFigures, ...]

    def to_json(self) -> dict[str, Any]:
        """The documented keys of `corpusmill ingest --dry-run --json`."""
        return {
            "dry_run": True,
            "documents": self.documents,
            "units": self.units,
            "outcomes": self.outcomes,
            "refusal": self.refusal,
            "encoder": msgspec.to_builtins(self.facts),
            "prices": self.prices.model_dump(mode="json"),
            "turnover": self.turnover,
            "policies": [policy_json(policy) for policy in self.policies],
        }


def dry_run(settings: Settings, root: str, prices_file: str | None = None, turnover: float | None = None) -> DryRun:
    """What `run_ingest` with these settings would do now, with what is stored taken off. Writes nothing under `root`.

    Raises as `run_ingest`, except that a guard which would stop the run is told, not raised.
    """
    prices = load_prices(prices_file)
    facts = _facts(settings, prices)
    with tempfile.TemporaryDirectory(prefix="corpusmill-dry-run-") as scratch:
        trial = _tried(settings, root, scratch, facts, prices)
    share, mark = turnover_of(turnover)
    policies = price_run(trial.tally, Pricing(facts, _llm_prices(prices, settings), settings.index, share, mark))
    return DryRun(
        trial.documents(), trial.tally.units(), trial.outcomes(), trial.refusal, facts, prices, share, tuple(policies)
    )


def _facts(settings: Settings, prices: Prices) -> EncoderFacts:
    facts = encoder_facts(settings.encoder, prices.encoder)
    if facts.is_stated:
        raise SettingsError("a run reads its encoder from its files; leave its sizes out of --prices")
    return facts


def _llm_prices(prices: Prices, settings: Settings) -> Prices:
    """The prices with what the run's own settings say of its language model, where the file says nothing of one."""
    budget, llm = settings.llm_budget, settings.llm
    if "llm" in prices.model_fields_set:
        return prices
    known = {
        "usd_per_million_input_tokens": budget.usd_per_million_prompt_tokens,
        "usd_per_million_output_tokens": budget.usd_per_million_answer_tokens,
        "parameters": llm.llm_parameters,
    }
    stated = prices.llm.model_copy(update={name: value for name, value in known.items() if value})
    return prices.model_copy(update={"llm": stated})


def _tried(settings: Settings, root: str, scratch: str, facts: EncoderFacts, prices: Prices) -> "_Trial":
    """The run up to its cutting, over a store that reads `root` and writes `scratch`."""
    store = open_store(local_root(root))
    check_publishable(store)
    base, sha256 = current_version(store)
    listing = list_input(settings, store.root, base)
    context = make_context(settings, open_store(dry_root(scratch, store.root)), base, sha256, listing)
    stopped = _recipe_refusal(context, base)
    touched = touched_shards(context, base)
    changes = find_changes(context, base, listing, has_other_work=any(touched))
    trial = _Trial(dataclasses.replace(context, n_unchanged=changes.n_unchanged), facts, prices.assumptions)
    trial.run(changes, touched)
    trial.refusal = stopped or trial.refusal
    return trial


def _recipe_refusal(context: RunContext, base: Manifest | None) -> str:
    try:
        check_recipes(context, base)
    except SettingsError as error:
        return str(error)
    return ""


class _Trial:
    """The stages of one run, in this process, and what they come to."""

    def __init__(self, context: RunContext, facts: EncoderFacts, assumed: Assumptions) -> None:
        self._context = context
        self._counts: list[GuardCount] = []
        self._outcomes: Counter[str] = Counter(listed=context.n_unchanged, unchanged=context.n_unchanged)
        self._tokenizer = load_tokenizer(context.encoder)
        tried = TriedAsking(context.asking, context.store) if context.asking is not None else None
        unanswered = Unanswered(context, tried, facts, assumed)
        self._cutter = cutter_for(context, self._tokenizer, tried.asking if tried else None, unanswered.load)
        self.tally = DryTally(context, self._tokenizer, facts, unanswered)
        self.refusal = ""

    def run(self, changes: Changes, touched: tuple[list[int], list[int]]) -> None:
        """Read, join, plan, judge and cut."""
        by_content = self._join(_grouped(self._read(changes), touched[0]))
        for path in _leftovers(self._context):
            for index in shards_of_leftover(self._context, path):
                by_content[index].append(LeftoverVectors(path))
        for index in touched[1]:
            by_content[index].append(TouchShard())
        items = list(self._plan(by_content))
        self.refusal = refusal(self._context, add_up(self._counts))
        for item in items:
            entries = with_addresses(self._context, item.entries, self._cutter.addresses)
            self.tally.cut(self._cutter, WorkItem(tuple(entries)))

    def documents(self) -> dict[str, int]:
        """The documents by outcome; those that only cutting found bad are taken off the indexed ones."""
        counts = {name: self._outcomes[name] for name in DOCUMENTS}
        failed = min(self.tally.n_failed_documents, counts["indexed"])
        return counts | {"indexed": counts["indexed"] - failed, "failed": counts["failed"] + failed}

    def outcomes(self) -> dict[str, int]:
        """Everything else that was counted."""
        totals = self._outcomes + self.tally.outcomes
        if asked := self.tally.unanswered:
            totals["llm_requests"] = asked.n_requests
            totals["stored_llm_answers"] = asked.n_stored
        return {name: n for name, n in sorted(totals.items()) if n and name not in DOCUMENTS}

    def _read(self, changes: Changes) -> Iterator[tuple[int, Record]]:
        for item in read_items(changes.read, self._context.limits.read_item_bytes):
            for record in read_item(self._context, item):
                yield self._context.document_shard(home_uri(record)), record
        for gone in changes.gone:
            for record in read_gone(self._context, gone):
                yield self._context.document_shard(home_uri(record)), record

    def _join(self, by_document: Grouped) -> Grouped:
        by_content: Grouped = defaultdict(list)
        for index in sorted(by_document):
            known = load_documents(self._context.store, self._context.document_shards[index])
            resolved = resolve(known, by_document.pop(index))
            self._outcomes.update(resolved.outcomes)
            self._counts.append(count_documents(resolved))
            for shard, place in write_content_changes(self._context, index, merged(resolved.changes)):
                by_content[shard].append(place)
        return by_content

    def _plan(self, by_content: Grouped) -> Iterator[WorkItem]:
        packer = WorkPacker(self._context.encoder.work_item_tokens * CHARS_PER_TOKEN)
        for index, shard in enumerate(self._context.shards):
            known = load_contents(self._context.store, shard)
            records = by_content.get(index, [])
            entries, count = plan_shard(self._context, index, records) if records else ([], GuardCount())
            self._counts.append(count)
            after = document_counts(known, read_content_changes(self._context, records))
            self.tally.keep(known, after, {entry.content_id for entry in entries})
            yield from packer.add(entries)
        yield from packer.flush()


def _grouped(records: Iterable[tuple[int, Record]], touched: Iterable[int]) -> Grouped:
    groups: Grouped = defaultdict(list)
    for index, record in records:
        groups[index].append(record)
    for index in touched:
        groups[index].append(TouchShard())
    return groups


def _leftovers(context: RunContext) -> list[str]:
    """Files of vectors that other runs finished, as a run takes them up."""
    files = (file.path for file in context.store.list("runs"))
    return [path for path in files if path.endswith(".arrow") and "/vectors/" in path]

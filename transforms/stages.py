"""The mill as Beam transforms: thin, typed dataclasses over the pure functions beside them.

Each takes a `RunContext`; what flows between them are `Record`s. Tagged outputs are named after what they carry.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Tuple  # noqa: UP035 - Beam's type hints

import apache_beam as beam
from apache_beam.pvalue import AsList, AsSingleton, PCollection, TaggedOutput
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.shared import Shared
from apache_beam.utils.timestamp import MIN_TIMESTAMP
from apache_beam.utils.windowed_value import WindowedValue

from transforms.changes import read_changes
from transforms.columns import strings
from transforms.contents import plan_shard, write_content_changes
from transforms.context import RunContext
from transforms.cutters import CuttingTools
from transforms.cutting import cut_item
from transforms.documents import load_documents, merged, resolve
from transforms.documents_writing import write_documents
from transforms.filling import fill_shard, plan_fills
from transforms.guards import add_up, count_documents, failed_contents, refusal
from transforms.hints import cutting_hints, resource_hints
from transforms.publishing import publish
from transforms.reading import read_gone, read_item
from transforms.records import (
    DocumentGone,
    DocumentRead,
    EncodeItem,
    Failure,
    FileGone,
    FileSeen,
    LeftoverVectors,
    Note,
    ReadItem,
    Record,
    ShardWritten,
    TouchShard,
    one_by_one,
    taken_together,
)
from transforms.shards import write_shard
from transforms.work import CHARS_PER_TOKEN, WorkAhead, WorkPacker, write_work_ahead
from transforms.work_vectors import is_of_recipe, read_leftover

Keyed = Tuple[int, Record]  # noqa: UP006
KeyedGroup = Tuple[int, Iterable[Record]]  # noqa: UP006
NOTES, FAILURES, ITEMS, COUNTS = "notes", "failures", "items", "counts"


def _count(stage: str, name: str, n: int = 1) -> None:
    """Add to a Beam counter. Counters are for watching a run; what is true is computed from rows."""
    beam.metrics.Metrics.counter(f"corpusmill_{stage}", name).inc(n)


@dataclass
class ReadDocuments(beam.PTransform):
    """Paths of change files in; (document shard, record) out."""

    context: RunContext

    def expand(self, paths: PCollection[str]) -> PCollection[Any]:
        return (
            paths
            | "LoadChanges" >> beam.FlatMap(_load_changes, self.context).with_output_types(Record)
            | "SpreadFiles" >> beam.Reshuffle()
            | "Read" >> beam.FlatMap(_read, self.context).with_output_types(Keyed)
        )


def _load_changes(path: str, context: RunContext) -> Iterator[Record]:
    return read_changes(context, path)


def _read(item: Record, context: RunContext) -> Iterator[tuple[int, Record]]:
    if isinstance(item, FileGone):
        records: Iterable[Record] = read_gone(context, item)
    else:
        assert isinstance(item, ReadItem)
        records = read_item(context, item)
    by_shard: dict[int, list[Record]] = {}
    for record in records:
        _count("read", type(record).__name__)
        by_shard.setdefault(context.document_shard(home_uri(record)), []).append(record)
    for shard, together in by_shard.items():
        yield from ((shard, several) for several in taken_together(together))


def home_uri(record: Record) -> str:
    """The uri whose document shard a record belongs to."""
    match record:
        case FileSeen() | Note():
            return record.file
        case DocumentRead() | DocumentGone() | Failure():
            return record.uri
        case _:
            return ""


@dataclass
class JoinDocuments(beam.PTransform):
    """Records grouped by document shard in; places of content changes by content shard, and guard counts, out."""

    context: RunContext

    def expand(self, groups: PCollection[Any]) -> Any:
        joined = groups | "Join" >> beam.FlatMap(_join_documents, self.context).with_outputs(COUNTS, main=ITEMS)
        changes = joined[ITEMS] | "Changes" >> beam.Map(_same).with_output_types(Keyed)
        return changes, joined[COUNTS] | "Counts" >> beam.Map(_same).with_output_types(Record)


def _same(element: Any) -> Any:
    return element


def _join_documents(group: KeyedGroup, context: RunContext) -> Iterator[Any]:
    index, records = group
    known = load_documents(context.store, context.document_shards[index])
    resolved = resolve(known, list(one_by_one(records)))
    yield TaggedOutput(COUNTS, count_documents(resolved))
    yield from write_content_changes(context, index, merged(resolved.changes))


@dataclass
class FindLeftovers(beam.PTransform):
    """Paths of vectors that interrupted runs finished in; (content shard, path) pairs and notes out."""

    context: RunContext

    def expand(self, paths: PCollection[str]) -> Any:
        found = paths | "Find" >> beam.FlatMap(_find_leftovers, self.context).with_outputs(NOTES, main=ITEMS)
        places = found[ITEMS] | "Places" >> beam.Map(_same).with_output_types(Keyed)
        return places, found[NOTES] | "Notes" >> beam.Map(_same).with_output_types(Record)


def _find_leftovers(path: str, context: RunContext) -> Iterator[Any]:
    if read_leftover(context.root, path) is None:
        if context.store.exists(path):  # else its run was cleared away meanwhile
            yield TaggedOutput(NOTES, Note("damaged_leftovers", 1))
        return
    for shard in shards_of_leftover(context, path):
        yield shard, LeftoverVectors(path)


def shards_of_leftover(context: RunContext, path: str) -> list[int]:
    """The content shards that vectors left at `path` belong to; none where they are of no use to this run."""
    table = read_leftover(context.root, path)
    if table is None or not is_of_recipe(table, context.encode_recipe):
        return []
    return sorted({context.content_shard(name) for name in set(strings(table, "content_id"))})


@dataclass
class PlanWork(beam.PTransform):
    """Records grouped by content shard in; work items and guard counts out."""

    context: RunContext

    def expand(self, groups: PCollection[Any]) -> Any:
        planned = groups | "Plan" >> beam.ParDo(_PlanWork(self.context)).with_outputs(COUNTS, main=ITEMS)
        items = planned[ITEMS] | "Items" >> beam.Map(_same).with_output_types(Record)
        return items, planned[COUNTS] | "Counts" >> beam.Map(_same).with_output_types(Record)


class _PlanWork(beam.DoFn):
    """Packs the work of all shards of a bundle together, so that few changes in many shards make few items."""

    def __init__(self, context: RunContext) -> None:
        self._context = context

    def start_bundle(self) -> None:
        self._packer = WorkPacker(self._context.encoder.work_item_tokens * CHARS_PER_TOKEN)

    def process(self, group: KeyedGroup) -> Iterator[Any]:
        index, records = group
        entries, count = plan_shard(self._context, index, list(records))
        yield TaggedOutput(COUNTS, count)
        yield from self._packer.add(entries)

    def finish_bundle(self) -> Iterator[Any]:
        for item in self._packer.flush():
            yield WindowedValue(item, MIN_TIMESTAMP, [GlobalWindow()])


@dataclass
class Admit(beam.PTransform):
    """Guard counts in; their verdict out, an empty string where the run may go on."""

    context: RunContext

    def expand(self, counts: PCollection[Any]) -> PCollection[str]:
        return (
            counts
            | "Add" >> beam.CombineGlobally(_add_up).with_output_types(Record)
            | "Judge" >> beam.Map(_judge, self.context).with_output_types(str)
        )


def _add_up(counts: Iterable[Any]) -> Any:
    return add_up(counts)


def _judge(total: Any, context: RunContext) -> str:
    verdict = refusal(context, total)
    write_work_ahead(context, WorkAhead(total.work_chars, total.work_contents))
    return verdict


@dataclass
class CutUnits(beam.PTransform):
    """Work items in; encode items, (content shard, place) pairs, dead letters and notes out."""

    context: RunContext
    verdict: PCollection[str]

    def expand(self, items: PCollection[Any]) -> Any:
        admitted = (
            items
            | "IfAdmitted" >> beam.Filter(_admitted, AsSingleton(self.verdict)).with_output_types(Record)
            | "SpreadWork" >> beam.Reshuffle()
        )
        cutting = _by_asking(self.context) if self.context.asking else beam.ParDo(_CutUnits(self.context))
        cut = (
            admitted
            | "Cut" >> cutting.with_resource_hints(**cutting_hints(self.context))
            | "Sort" >> beam.FlatMap(_sort_cut).with_outputs(NOTES, FAILURES, ITEMS, main="places")
        )
        places = cut["places"] | "Places" >> beam.Map(_same).with_output_types(Keyed)
        return (
            cut[ITEMS] | "Items" >> beam.Map(_same).with_output_types(Record),
            places,
            cut[FAILURES] | "Failures" >> beam.Map(_same).with_output_types(Record),
            cut[NOTES] | "Notes" >> beam.Map(_same).with_output_types(Record),
        )


def _admitted(element: Any, verdict: str) -> bool:
    return not verdict


class _CutUnits(beam.DoFn):
    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._shared = Shared()

    def setup(self) -> None:
        self._tools = self._shared.acquire(lambda: CuttingTools(self._context))

    def process(self, item: Any) -> Iterator[Any]:
        yield list(cut_item(self._context, self._tools.cutter, self._tools.tokenizer, item))


def _by_asking(context: RunContext) -> beam.PTransform[Any, Any]:
    from transforms.cutting_by_asking import LlmHandler
    from transforms.inference import RunInference

    return RunInference(LlmHandler(context))


def _sort_cut(results: Iterable[Any]) -> Iterator[Any]:
    for result in results:
        match result:
            case Note():
                _count("cut", result.outcome, result.count)
                yield TaggedOutput(NOTES, result)
            case Failure():
                yield TaggedOutput(FAILURES, result)
            case EncodeItem():
                _count("cut", "tokens", result.n_tokens)
                yield TaggedOutput(ITEMS, result)
            case _:
                yield result


@dataclass
class EncodeUnits(beam.PTransform):
    """Encode items in; (content shard, place) pairs, dead letters and notes out."""

    context: RunContext

    def expand(self, items: PCollection[Any]) -> Any:
        from transforms.embedding import EncoderHandler
        from transforms.inference import RunInference

        chosen = self.context.encoder
        hints = resource_hints(chosen.encoder_accelerator, chosen.encoder_min_ram_gb)
        encoded = (
            items
            | "SpreadItems" >> beam.Reshuffle()
            | "Encode" >> RunInference(EncoderHandler(self.context)).with_resource_hints(**hints)
            | "Sort" >> beam.FlatMap(_sort_encoded).with_outputs(NOTES, FAILURES, main="places")
        )
        return (
            encoded["places"] | "Places" >> beam.Map(_same).with_output_types(Keyed),
            encoded[FAILURES] | "Failures" >> beam.Map(_same).with_output_types(Record),
            encoded[NOTES] | "Notes" >> beam.Map(_same).with_output_types(Record),
        )


def _sort_encoded(item: Any) -> Iterator[Any]:
    yield from (TaggedOutput(NOTES, note) for note in item.notes)
    yield from (TaggedOutput(FAILURES, failure) for failure in item.failures)
    yield from item.places


@dataclass
class WriteDocuments(beam.PTransform):
    """Records grouped by document shard in; the shards as written out."""

    context: RunContext
    verdict: PCollection[str]
    failures: PCollection[Any]

    def expand(self, groups: PCollection[Any]) -> PCollection[Any]:
        sides = (AsSingleton(self.verdict), AsList(self.failures))
        return groups | "Write" >> beam.FlatMap(_write_documents, self.context, *sides).with_output_types(Record)


def _write_documents(group: KeyedGroup, context: RunContext, verdict: str, failures: list[Any]) -> Iterator[Record]:
    index, records = group
    if not verdict:
        yield write_documents(context, index, list(one_by_one(records)), failed_contents(failures))


@dataclass
class WriteShards(beam.PTransform):
    """Records grouped by content shard in; the shards with their segments written out."""

    context: RunContext
    verdict: PCollection[str]
    failures: PCollection[Any]

    def expand(self, groups: PCollection[Any]) -> PCollection[Any]:
        sides = (AsSingleton(self.verdict), AsList(self.failures))
        return groups | "Write" >> beam.FlatMap(_write_shard, self.context, *sides).with_output_types(Record)


def _write_shard(group: KeyedGroup, context: RunContext, verdict: str, failures: list[Any]) -> Iterator[Record]:
    index, records = group
    if not verdict:
        yield write_shard(context, index, list(records), failed_contents(failures))


@dataclass
class FillIndexes(beam.PTransform):
    """Written shards in; filled shards out. One node decides and trains, then shards are filled in parallel."""

    context: RunContext

    def expand(self, written: PCollection[Any]) -> PCollection[Any]:
        return (
            written
            | "One" >> beam.Map(_keyed_zero).with_output_types(Keyed)
            | "Gather" >> beam.GroupByKey()
            | "Train" >> beam.FlatMap(_plan_fills, self.context).with_output_types(Record)
            | "SpreadShards" >> beam.Reshuffle()
            | "Fill" >> beam.Map(_fill, self.context).with_output_types(Record)
        )


def _keyed_zero(record: Record) -> tuple[int, Record]:
    return 0, record


def _plan_fills(group: KeyedGroup, context: RunContext) -> Iterator[Record]:
    written = sorted((r for r in group[1] if isinstance(r, ShardWritten)), key=lambda record: record.index)
    yield from plan_fills(context, written)


def _fill(item: Any, context: RunContext) -> Record:
    return fill_shard(context, item)


@dataclass
class Publish(beam.PTransform):
    """Every record of the new version in, and the verdict; the outcome is written to the store."""

    context: RunContext
    verdict: PCollection[str]

    def expand(self, records: PCollection[Any]) -> PCollection[str]:
        seed = records.pipeline | "Seed" >> beam.Create([(0, TouchShard())]).with_output_types(Keyed)
        keyed = records | "One" >> beam.Map(_keyed_zero).with_output_types(Keyed)
        return (
            (keyed, seed)
            | "Together" >> beam.Flatten()
            | "Gather" >> beam.GroupByKey()
            | "Swap" >> beam.Map(_publish, self.context, AsSingleton(self.verdict)).with_output_types(str)
        )


def _publish(group: KeyedGroup, context: RunContext, verdict: str) -> str:
    return publish(context, (r for r in group[1] if not isinstance(r, TouchShard)), verdict).version

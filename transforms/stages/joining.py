"""What was read meets what is known: gains and losses of contents, the work ahead, and the verdict on it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.timestamp import MIN_TIMESTAMP
from apache_beam.utils.windowed_value import WindowedValue

from transforms.columns import strings
from transforms.contents import plan_shard, write_content_changes
from transforms.context import RunContext
from transforms.documents import load_documents, merged, resolve
from transforms.guards import add_up, count_documents, refusal
from transforms.records import (
    LeftoverVectors,
    Note,
    Record,
)
from transforms.stages.common import COUNTS, ITEMS, NOTES, Keyed, KeyedGroup, same
from transforms.together import all_records
from transforms.work import CHARS_PER_TOKEN, WorkAhead, WorkPacker, write_work_ahead
from transforms.work_vectors import is_of_recipe, read_leftover


@dataclass
class JoinDocuments(beam.PTransform):
    """Records grouped by document shard in; places of content changes by content shard, and guard counts, out."""

    context: RunContext

    def expand(self, groups: PCollection[Any]) -> Any:
        joined = groups | "Join" >> beam.FlatMap(_join_documents, self.context).with_outputs(COUNTS, main=ITEMS)
        changes = joined[ITEMS] | "Changes" >> beam.Map(same).with_output_types(Keyed)
        return changes, joined[COUNTS] | "Counts" >> beam.Map(same).with_output_types(Record)


def _join_documents(group: KeyedGroup, context: RunContext) -> Iterator[Any]:
    index, records = group
    known = load_documents(context.store, context.document_shards[index])
    resolved = resolve(known, list(all_records(context, records)))
    yield TaggedOutput(COUNTS, count_documents(resolved))
    yield from write_content_changes(context, index, merged(resolved.changes))


@dataclass
class FindLeftovers(beam.PTransform):
    """Paths of vectors that interrupted runs finished in; (content shard, path) pairs and notes out."""

    context: RunContext

    def expand(self, paths: PCollection[str]) -> Any:
        found = paths | "Find" >> beam.FlatMap(_find_leftovers, self.context).with_outputs(NOTES, main=ITEMS)
        places = found[ITEMS] | "Places" >> beam.Map(same).with_output_types(Keyed)
        return places, found[NOTES] | "Notes" >> beam.Map(same).with_output_types(Record)


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
        items = planned[ITEMS] | "Items" >> beam.Map(same).with_output_types(Record)
        return items, planned[COUNTS] | "Counts" >> beam.Map(same).with_output_types(Record)


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
    parts = total.parts, total.parts_chars, total.parts_contents
    write_work_ahead(context, WorkAhead(total.work_chars, total.work_contents, *parts))
    return verdict

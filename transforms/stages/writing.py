"""A version is written: documents, shards and their indexes, the pointer last."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsList, AsSingleton, PCollection

from transforms.context import RunContext
from transforms.documents_writing import write_documents
from transforms.filling import fill_shard, plan_fills
from transforms.guards import failed_contents, unfinished_contents
from transforms.publishing import publish
from transforms.records import (
    Failure,
    Record,
    ShardWritten,
    TouchShard,
)
from transforms.shards import write_shard
from transforms.stages.common import Keyed, KeyedGroup
from transforms.together import all_records


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
        failed = failed_contents(all_failures(context, failures))
        yield write_documents(context, index, list(all_records(context, records)), failed)


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
        found = all_failures(context, failures)
        yield write_shard(context, index, list(records), failed_contents(found), unfinished_contents(found))


def all_failures(context: RunContext, failures: list[Any]) -> list[Failure]:
    """The dead letters that a side input stands for."""
    return [failure for failure in all_records(context, failures) if isinstance(failure, Failure)]


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
    records = all_records(context, group[1])
    return publish(context, (r for r in records if not isinstance(r, TouchShard)), verdict).version

"""The graph of one run, read top to bottom: files in, a published version out."""

from typing import Any, Tuple  # noqa: UP035 - Beam's type hints

import apache_beam as beam
from apache_beam.pvalue import PCollection

from transforms.context import RunContext
from transforms.records import Record, TouchShard
from transforms.stages import (
    Admit,
    CutUnits,
    EncodeUnits,
    FillIndexes,
    FindLeftovers,
    JoinDocuments,
    PlanWork,
    Publish,
    ReadDocuments,
    WriteDocuments,
    WriteShards,
)

Keyed = Tuple[int, Record]  # noqa: UP006


def build(
    pipeline: beam.Pipeline,
    context: RunContext,
    change_paths: list[str],
    leftover_paths: list[str],
    touched_document_shards: list[int],
    touched_shards: list[int],
) -> PCollection[str]:
    """Add the whole mill to `pipeline`. The last node publishes, so no driver has to be alive by then.

    Touched shards are looked at even if none of their documents changed: their recipe or their range did.
    """
    read = pipeline | "Changes" >> _paths(change_paths) | "ReadDocuments" >> ReadDocuments(context)
    touched_documents = pipeline | "TouchDocuments" >> _touch(touched_document_shards)
    by_document_shard = (read, touched_documents) | "AllRead" >> beam.Flatten() | "ByDocumentShard" >> beam.GroupByKey()
    changes, read_counts = by_document_shard | "JoinDocuments" >> JoinDocuments(context)

    leftovers, leftover_notes = (
        pipeline | "Leftovers" >> _paths(leftover_paths) | "FindLeftovers" >> FindLeftovers(context)
    )
    touched = pipeline | "TouchShards" >> _touch(touched_shards)
    to_plan = (changes, leftovers, touched) | "AllChanges" >> beam.Flatten() | "ByShard" >> beam.GroupByKey()
    work, work_counts = to_plan | "PlanWork" >> PlanWork(context)
    verdict = (read_counts, work_counts) | "AllCounts" >> beam.Flatten() | "Admit" >> Admit(context)

    items, cut_places, cut_failures, cut_notes = work | "CutUnits" >> CutUnits(context, verdict)
    encoded_places, encode_failures, encode_notes = items | "EncodeUnits" >> EncodeUnits(context)
    failures = (cut_failures, encode_failures) | "AllFailures" >> beam.Flatten()

    documents = by_document_shard | "WriteDocuments" >> WriteDocuments(context, verdict, failures)
    places = (changes, touched, cut_places, encoded_places)
    to_write = places | "AllPlaces" >> beam.Flatten() | "PlacesByShard" >> beam.GroupByKey()
    written = to_write | "WriteShards" >> WriteShards(context, verdict, failures)
    filled = written | "FillIndexes" >> FillIndexes(context)

    parts = (documents, written, filled, failures, leftover_notes, cut_notes, encode_notes)
    published: PCollection[str] = parts | "AllParts" >> beam.Flatten() | "Publish" >> Publish(context, verdict)
    return published


def _paths(paths: list[str]) -> beam.PTransform[Any, Any]:
    return beam.Create(paths, reshuffle=False).with_output_types(str)


def _touch(indexes: list[int]) -> beam.PTransform[Any, Any]:
    return beam.Create([(index, TouchShard()) for index in indexes], reshuffle=False).with_output_types(Keyed)

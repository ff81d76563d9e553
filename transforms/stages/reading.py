"""Objects that changed are read: texts go to files, what became of them goes on."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import PCollection

from transforms.changes import read_changes
from transforms.context import RunContext
from transforms.reading import read_gone, read_item
from transforms.records import (
    DocumentGone,
    DocumentRead,
    Failure,
    FileGone,
    FileSeen,
    Note,
    ReadItem,
    Record,
)
from transforms.stages.common import Keyed, count
from transforms.together import passed_on


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
        count("read", type(record).__name__)
        by_shard.setdefault(context.document_shard(home_uri(record)), []).append(record)
    yield from passed_on(context, by_shard)


def home_uri(record: Record) -> str:
    """The uri whose document shard a record belongs to."""
    match record:
        case FileSeen() | Note():
            return record.file
        case DocumentRead() | DocumentGone() | Failure():
            return record.uri
        case _:
            return ""

"""An audit as a Beam pipeline: files, or shards of an index, are read and counted one by one, and the counts added up.

    files or shards ─> Count ─> document ─ sum ─> groups ─ sum ─> one file

Every input is a few numbers from where it is read on; what is kept for a report is a row a source.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Tuple  # noqa: UP035 - Beam's type hints

import apache_beam as beam
import msgspec
import numpy as np

from models.errors import RefusedError, SettingsError
from models.settings import EncoderSettings
from models.tokenizer import load_tokenizer
from pipelines.beam_options import beam_arguments
from pipelines.evaluation.audit import TEXTS_AT_ONCE, Auditor, AuditReport, as_input
from pipelines.evaluation.audit_root import input_of, source_of
from pipelines.evaluation.corpus import documents_of, nothing_to_read
from pipelines.evaluation.passing import passing_folder
from pipelines.ingest import local_root
from pipelines.run_graph import run_pipeline
from pipelines.search import open_index
from pipelines.search.index import may_have_propositions
from pipelines.search.shard import SearchedShard
from transforms.columns import strings
from transforms.evaluation.truncation import Sums, assembled, groups_of_document, input_counts
from transforms.listing import list_files
from transforms.settings import ReadingSettings
from transforms.store.files import Store
from transforms.store.manifest import Manifest
from transforms.store.segments import read_table
from transforms.store.versions import load_manifest

_RESULT = "audit.msgpack"
_REMEDY = "nothing was written; run it again"
_OUTCOME = "outcome"

Counted = tuple[str, tuple[int, ...]]
"""The source of a document, or its uri, and sums over its inputs."""
Keyed = Tuple[str, Any]  # noqa: UP006
Grouped = Tuple[Tuple[str, str], Any]  # noqa: UP006


@dataclass(frozen=True)
class Job:
    """What travels to every worker. A job is of a root's version, or of what `reading` reads."""

    encoder: EncoderSettings
    room_tokens: int
    folder: str
    reading: ReadingSettings
    document_column: str | None = None
    root: str = ""
    version: str = ""


class Item(NamedTuple):
    """A `file` to read, or the `units` or the `documents` of a shard by its number."""

    kind: str
    name: str


def audit_scattered(
    reading: ReadingSettings, encoder: EncoderSettings, document_column: str | None, beam_args: Sequence[str]
) -> AuditReport:
    """What `audit` says of a corpus that no questions are asked of."""
    if not reading.input:
        raise SettingsError("no corpus: name file patterns after --input, or as input in section reading of --config")
    items = [Item("file", listed.file) for listed in list_files(reading.input)]
    auditor = Auditor(encoder)
    sums = _run(items, Job(encoder, auditor.room_tokens, "", reading, document_column), beam_args)
    outcomes = Counter({name: row[0] for (kind, name), row in sums.items() if kind == _OUTCOME})
    groups = assembled(sums, auditor.room_tokens)
    if not groups[0].n_inputs:
        raise SettingsError(nothing_to_read(reading, outcomes))
    return auditor.report(" ".join(reading.input), outcomes, None, None, groups)


def audit_root_scattered(
    root: str, version: str | None, encoder: EncoderSettings | None, beam_args: Sequence[str]
) -> AuditReport:
    """What `audit_root` says of a version that no questions are asked of."""
    index = open_index(root, version, encoder)
    chosen = encoder or EncoderSettings.model_validate(index.manifest.encoder["settings"])
    auditor, manifest = Auditor(chosen), index.manifest
    items = [Item("units", str(number)) for number, shard in enumerate(manifest.shards) if shard.index]
    items += [
        Item("documents", str(number)) for number, shard in enumerate(manifest.document_shards) if shard.documents
    ]
    job = Job(chosen, auditor.room_tokens, "", ReadingSettings(), None, local_root(root), manifest.version)
    groups = assembled(_run(items, job, beam_args), auditor.room_tokens)
    if not groups[0].n_inputs:
        raise SettingsError(f"version {manifest.version} in {root} holds no units; there is nothing to audit")
    return auditor.report(root, Counter(), None, None, groups)


def _run(items: list[Item], job: Job, beam_args: Sequence[str]) -> Mapping[tuple[str, str], Sums]:
    chosen = beam_arguments(beam_args)
    with passing_folder(chosen) as folder:
        placed = replace(job, folder=folder)
        run_pipeline(lambda pipeline: _build(pipeline, items, placed), chosen, _REMEDY)
        data = Store(folder).find_named(_RESULT)
    if data is None:
        raise RefusedError(f"the pipeline left no result; {_REMEDY}")
    rows = msgspec.msgpack.decode(data, type=list[tuple[str, str, Sums]])
    return {(kind, name): sums for kind, name, sums in rows}


def _build(pipeline: beam.Pipeline, items: list[Item], job: Job) -> None:
    read = (
        pipeline
        | "Items" >> beam.Create([tuple(item) for item in items])
        | "Spread" >> beam.Reshuffle()
        | "Count" >> beam.ParDo(_Count(job)).with_outputs(_OUTCOME, main="inputs")
    )
    groups = (
        read["inputs"]
        | "Inputs" >> beam.Map(_same).with_output_types(Keyed)
        | "ByDocument" >> beam.CombinePerKey(_sum_inputs)
        | "Groups" >> beam.FlatMap(_groups, job).with_output_types(Grouped)
    )
    outcomes = read[_OUTCOME] | "Outcomes" >> beam.Map(_same).with_output_types(Grouped)
    (
        (groups, outcomes)
        | "Together" >> beam.Flatten()
        | "ByGroup" >> beam.CombinePerKey(_sum_rows)
        | "All" >> beam.combiners.ToList()
        | "Write" >> beam.Map(_write, job.folder)
    )


def _same(element: Any) -> Any:
    return element


def _sum_inputs(counted: Iterable[Any]) -> Any:
    """The first source that there is, by name, and the sums."""
    parts = list(counted)
    return min((name for name, _ in parts if name), default=""), _sum_rows(row for _, row in parts)


def _sum_rows(rows: Iterable[Any]) -> Any:
    return tuple(map(sum, zip(*rows, strict=True)))


def _groups(document: Keyed, job: Job) -> Iterator[Grouped]:
    name, counts = document[1]
    if counts and counts[0]:
        yield from groups_of_document(source_of(name) if job.root else name, counts, job.room_tokens)


def _write(rows: list[Any], folder: str) -> None:
    plain = [(kind, name, sums) for (kind, name), sums in rows]
    Store(folder).write_named(_RESULT, msgspec.msgpack.encode(plain))


class _Count(beam.DoFn):
    """Items in; (document, counts of an input) out, and outcomes apart."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def setup(self) -> None:
        self._tokenizer = load_tokenizer(self._job.encoder)

    def process(self, item: Tuple[str, str]) -> Iterator[Any]:  # noqa: UP006
        kind, name = item
        if kind == "file":
            yield from self._file(name)
        elif kind == "units":
            yield from self._units(int(name))
        else:
            yield from self._documents(int(name))

    def _file(self, file: str) -> Iterator[Any]:
        job, outcomes = self._job, Counter[str]()
        inputs: list[tuple[str, str, str]] = []
        for uri, extracted in documents_of(file, job.reading, outcomes):
            inputs.append(as_input(file, uri, extracted, job.document_column))
            if len(inputs) == TEXTS_AT_ONCE:
                yield from self._counted(inputs)
                inputs = []
        yield from self._counted(inputs)
        for name, count in outcomes.items():
            yield beam.pvalue.TaggedOutput(_OUTCOME, ((_OUTCOME, name), (count, 0, 0, 0, 0)))

    def _units(self, number: int) -> Iterator[Any]:
        manifest = self._manifest()
        plain = None if may_have_propositions(manifest) else manifest.recipes.get("cut", {}).get("id")
        shard = SearchedShard(Store(self._job.root), manifest.shards[number], plain)
        ids = np.setdiff1d(shard.live.ids, shard.levels.children, assume_unique=True)
        for start in range(0, len(ids), TEXTS_AT_ONCE):
            rows = shard.units(ids[start : start + TEXTS_AT_ONCE]).values()
            yield from self._counted([(str(row["content_id"]), "", input_of(row)) for row in rows])

    def _documents(self, number: int) -> Iterator[Any]:
        """The uris of contents, which name their sources; they count nothing."""
        entry = self._manifest().document_shards[number].documents
        assert entry is not None
        table = read_table(Store(self._job.root), entry, ["uri", "content_id"])
        for uri, content_id in zip(strings(table, "uri"), table["content_id"].to_pylist(), strict=True):
            if content_id is not None:
                yield content_id, (uri, (0, 0, 0, 0))

    def _counted(self, inputs: list[tuple[str, str, str]]) -> Iterator[Any]:
        counts = self._tokenizer.count([text for _, _, text in inputs]).tolist() if inputs else []
        for (document, source, _), n_tokens in zip(inputs, counts, strict=True):
            yield document, (source, input_counts(int(n_tokens), self._job.room_tokens))

    def _manifest(self) -> Manifest:
        manifest = load_manifest(Store(self._job.root), self._job.version)
        assert manifest is not None
        return manifest

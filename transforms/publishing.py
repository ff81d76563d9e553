"""The last node: check what was made, write the manifest, and swap the pointer, or say why not."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import pyarrow as pa

from models.errors import ConflictError
from transforms.answers import merge_segments
from transforms.attempts import dead_runs, spent_by, unsettled
from transforms.context import RunContext
from transforms.dead_letters import failure_row
from transforms.filling import merged_shards
from transforms.gates import measure_gates
from transforms.guards import failed_contents, failure_reasons, is_conserved, too_many_failures
from transforms.ledger import stage_row
from transforms.llm_bill import LlmBill, bill_table, llm_bill
from transforms.outcome import Outcome, write_outcome
from transforms.records import DocumentShardWritten, Failure, Note, Record, ShardFilled, ShardWritten
from transforms.sameness import UNIT_FAILURES, is_as_before, recipes_of, settings_of
from transforms.spending import DETECTED, spent_in
from transforms.store.manifest import DocumentShard, FileEntry, Manifest, Shard, Training
from transforms.store.pointer import Pointer, read_pointer, swap_pointer
from transforms.store.schemas import FAILURES
from transforms.store.segments import write_table
from transforms.store.versions import check_present, discard_version, write_manifest


class Parts(msgspec.Struct):
    """The records of a whole run, sorted out by type."""

    documents: list[DocumentShardWritten]
    written: list[ShardWritten]
    filled: list[ShardFilled]
    failures: list[Failure]
    notes: list[Note]


def publish(context: RunContext, records: Iterable[Record], refused: str) -> Outcome:
    """Publish the version that `records` describe, unless a guard or a gate forbids it. Done twice it is done once."""
    outcome = _publish(context, _sorted_out(records), refused)
    write_outcome(context, outcome)
    if outcome.published and context.asking is not None:
        merge_segments(context.store)
    return outcome


def _publish(context: RunContext, parts: Parts, refused: str) -> Outcome:
    outcomes = _outcomes(context, parts)
    bill = _llm_bill(context, parts)
    draft = _summary(context, parts, outcomes, bill)
    refused = refused or _does_not_add_up(parts, outcomes)
    refused = refused or too_many_failures(context, outcomes["failed"], outcomes["listed"], failure_reasons(outcomes))
    if refused:
        return msgspec.structs.replace(draft, refused=refused)
    base, failures = context.base_manifest(), _failures(context, parts)
    if base is not None and is_as_before(context, base, parts.documents, _shards(context, parts), failures):
        return msgspec.structs.replace(draft, version=base.version)
    manifest = _manifest(context, parts, draft, bill, failures)
    floor = context.index.min_recall_at_10
    recall = manifest.gates.recall_at_10
    if recall is not None and recall < floor:
        line = (
            f"recall@10 is {recall:.3f}, below min_recall_at_10 = {floor}; nothing was published. "
            "Raise nprobe, rerank_factor or pq_bytes, or take index = flat"
        )
        return msgspec.structs.replace(draft, refused=line)
    return _swap(context, manifest, draft)


def _does_not_add_up(parts: Parts, outcomes: Mapping[str, int]) -> str:
    """Why the version must be wrong: a document without an outcome, or a unit that got lost; empty where it is not."""
    if not is_conserved(outcomes):
        return f"documents do not add up: {dict(outcomes)}; nothing was published. Please report this"
    n_missing = sum(int(record.totals.get("units_bad", 0)) for record in parts.written)
    failed = failed_contents(parts.failures)
    explained = {f.vector_id for f in parts.failures if not f.is_served and f.content_id not in failed}
    if n_missing > len(explained):
        found = f"{n_missing} units have no vector and {len(explained)} have a dead letter"
        return f"units do not add up: {found}; nothing was published. Please report this"
    return ""


def _swap(context: RunContext, manifest: Manifest, draft: Outcome) -> Outcome:
    base = context.base_manifest()
    old = {entry.path for entry in base.files()} if base else set()
    check_present(context.store, [entry for entry in manifest.files() if entry.path not in old])
    done = msgspec.structs.replace(draft, version=manifest.version, published=True)
    if _is_current(context, manifest.version):
        return done
    discard_version(context.store, manifest.version)  # of a try that ended here: it took another number of seconds
    try:
        swap_pointer(context.store, _base_pointer(context), write_manifest(context.store, manifest))
    except ConflictError as error:
        if _is_current(context, manifest.version):
            return done
        discard_version(context.store, manifest.version)
        return msgspec.structs.replace(draft, refused=str(error), is_conflict=True)
    return done


def _is_current(context: RunContext, version: str) -> bool:
    current = read_pointer(context.store)
    return current is not None and current.version == version


def _base_pointer(context: RunContext) -> Pointer | None:
    return Pointer(context.base, context.base_sha256) if context.base else None


def _sorted_out(records: Iterable[Record]) -> Parts:
    parts = Parts([], [], [], [], [])
    for record in records:
        match record:
            case DocumentShardWritten():
                parts.documents.append(record)
            case ShardWritten():
                parts.written.append(record)
            case ShardFilled():
                parts.filled.append(record)
            case Failure():
                parts.failures.append(record)
            case Note():
                parts.notes.append(record)
            case _:
                raise TypeError(f"{type(record).__name__} has no place in a version")
    parts.documents.sort(key=lambda record: record.index)
    parts.written.sort(key=lambda record: record.index)
    parts.filled.sort(key=lambda record: record.index)
    return parts


def _outcomes(context: RunContext, parts: Parts) -> dict[str, int]:
    totals: Counter[str] = Counter(
        listed=context.n_unchanged, unchanged=context.n_unchanged, indexed=0, empty=0, failed=0, deleted=0
    )
    for outcomes in [record.outcomes for record in parts.documents] + [record.outcomes for record in parts.written]:
        totals.update(outcomes)
    for note in parts.notes:
        totals[note.outcome] += note.count
    failed = failed_contents(parts.failures)
    for failure in parts.failures:
        if failure.content_id not in failed and not failure.is_served:
            totals[f"unit_failed:{failure.stage}:{failure.reason}"] += 1
    _leave_out_unlisted(totals)
    return dict(sorted(totals.items()))


def _leave_out_unlisted(totals: Counter[str]) -> None:
    """Rows of an unreadable table are not listed, so one that failed meanwhile was never counted as unchanged."""
    if totals["unchanged"] < 0:
        totals["failed"] += totals["unchanged"]
        totals["unchanged"] = 0


def _llm_bill(context: RunContext, parts: Parts) -> LlmBill:
    dead = unsettled(dead_runs(context.store, context.run), context.base_manifest())
    return llm_bill(context, dead, [entry for record in parts.documents for entry in record.ledger])


def _summary(context: RunContext, parts: Parts, outcomes: Mapping[str, int], bill: LlmBill) -> Outcome:
    totals: Counter[str] = Counter()
    for record in parts.written:
        totals.update(record.totals)
    n_units = sum(shard.n_units for shard in merged_shards(context, parts.written))
    names = ("listed", "indexed", "unchanged", "empty", "failed", "deleted", "stale")
    dead = dead_runs(context.store, context.run)
    payers = [context.run, *unsettled(dead, context.base_manifest())]
    spent = spent_by(context.store, payers)
    wasted = max(0.0, spent - totals["tokens_encoded"] - totals["leftover_tokens"])
    wasted_detection = max(0, spent_in(context.store, payers)[DETECTED] - int(totals["tokens_detected"]))
    return Outcome(
        documents={name: outcomes.get(name, 0) for name in names},
        units={
            "total": n_units,
            "encoded": int(totals["units_encoded"]),
            "reused": int(totals["units_reused"]),
            "removed": int(totals["units_removed"]),
        },
        tokens={
            "cut": int(totals["tokens_cut"]),
            "detected": int(totals["tokens_detected"]),
            "encoded": int(totals["tokens_encoded"]),
            "padded_slots": int(totals["padded_slots"]),
            "wasted": int(wasted) + wasted_detection,
            **bill.tokens,
        },
        flops=totals["flops"],
        detection_flops=totals["flops_detect"],
        wasted_detection=wasted_detection,
        seconds={
            "read": sum(record.seconds for record in parts.documents),
            "detect": totals["seconds_detect"],
            "cut": totals["seconds_cut"],
            "encode": totals["seconds_encode"],
            "index": sum(record.seconds for record in parts.filled),
        },
        outcomes=dict(outcomes),
        settled_runs=dead,
        llm=dict(bill.totals),
        llm_flops=bill.flops,
    )


def _shards(context: RunContext, parts: Parts) -> list[Shard]:
    """All content shards of the new version, those that were filled with their indexes."""
    shards = merged_shards(context, parts.written)
    for record in parts.filled:
        shards[record.index] = record.shard
    return shards


def _manifest(
    context: RunContext, parts: Parts, draft: Outcome, bill: LlmBill, failures: tuple[FileEntry, ...]
) -> Manifest:
    shards = _shards(context, parts)
    documents = list(context.document_shards)
    for written in parts.documents:
        documents[written.index] = written.shard
    training = next((record.training for record in parts.filled if record.training), _stored_training(context, shards))
    drift = next((record.drift for record in parts.filled if record.drift is not None), None)
    gates = msgspec.structs.replace(measure_gates(context, shards, training), drift=drift)
    return Manifest(
        version=_version(context, documents, shards),
        base=context.base or None,
        run=context.run,
        created_at=context.started_at,
        recipes=recipes_of(context),
        encoder={"settings": context.encoder.model_dump(), "identity": context.encoder_identity},
        settings=settings_of(context),
        document_shards=tuple(documents),
        shards=tuple(shards),
        training=training,
        gates=gates,
        documents=draft.documents,
        units=draft.units,
        tokens=draft.tokens,
        flops={"encode": draft.flops, "detect": draft.detection_flops, "llm": draft.llm_flops},
        seconds=draft.seconds,
        outcomes=draft.outcomes,
        ledger=_ledger(context, parts, draft, bill),
        failures=failures,
        libraries=context.libraries,
        settled_runs=draft.settled_runs,
        llm=draft.llm,
    )


def _stored_training(context: RunContext, shards: Sequence[Shard]) -> Training | None:
    base = context.base_manifest()
    stored = base.training if base else None
    return stored if stored and any(shard.training == stored.id for shard in shards) else None


def _version(context: RunContext, documents: Sequence[DocumentShard], shards: Sequence[Shard]) -> str:
    """A number one above the base's, and a hash of what the version holds and which run made it."""
    number = int(context.base.split("-")[0]) + 1 if context.base else 1
    ids = {stage: recipe.id for stage, recipe in context.recipes.items()}
    digest = hashlib.sha256(msgspec.json.encode([documents, shards, ids, context.run], order="sorted")).hexdigest()
    return f"{number:06d}-{digest[:12]}"


def _ledger(context: RunContext, parts: Parts, draft: Outcome, bill: LlmBill) -> tuple[FileEntry, ...]:
    entries = [entry for record in parts.documents for entry in record.ledger]
    entries += [entry for record in parts.written for entry in record.ledger]
    index = stage_row("index", n_units=draft.units["total"], seconds=draft.seconds["index"])
    waste = [stage_row("encode", wasted_tokens=draft.tokens["wasted"] - draft.wasted_detection)]
    waste += [stage_row("detect", wasted_tokens=draft.wasted_detection)] if draft.wasted_detection else []
    entries.append(write_table(context.store, "ledger/run", pa.concat_tables([index, *waste, bill_table(bill)])))
    return tuple(entries)


def _failures(context: RunContext, parts: Parts) -> tuple[FileEntry, ...]:
    """The dead letters of documents, and those of single units and requests that contents are served without."""
    entries = [entry for record in parts.documents for entry in record.failures]
    entries += [entry for record in parts.written for entry in record.failures]
    failed = failed_contents(parts.failures)
    ordered = sorted(parts.failures, key=lambda failure: (failure.content_id, failure.stage, failure.reason))
    rows = [failure_row(failure, False) for failure in ordered if failure.content_id not in failed]
    if rows:
        entries.append(write_table(context.store, UNIT_FAILURES, pa.Table.from_pylist(rows, FAILURES)))
    return tuple(entries)

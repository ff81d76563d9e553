"""What looks after an index. Every command takes parsed arguments and returns an `Outcome`; none prints."""

import argparse
import heapq
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from models.errors import DamagedFileError
from pipelines import views
from pipelines.commands.common import manifest_of, no_index, store_at
from pipelines.output import Outcome

if TYPE_CHECKING:
    from transforms.store.files import Store


def status(arguments: argparse.Namespace) -> Outcome:
    """Show the current version, what it holds, and the runs that are going on."""
    from transforms.store.status import status as look_at

    store = store_at(arguments.root)
    manifest, store_status = manifest_of(store), look_at(store)
    files = manifest.files()
    payload = {
        "version": manifest.version,
        "base": manifest.base,
        "created_at": manifest.created_at,
        "documents": manifest.documents,
        "units": manifest.units,
        "tokens": manifest.tokens,
        "flops": manifest.flops,
        "llm": manifest.llm,
        "seconds": manifest.seconds,
        "outcomes": manifest.outcomes,
        "encoder": manifest.encoder,
        "index_kinds": sorted({shard.index_kind for shard in manifest.shards if shard.index_kind}),
        "recall_at_10": manifest.gates.recall_at_10,
        "drift": manifest.gates.drift,
        "n_shards": len(manifest.shards),
        "n_files": len(files),
        "n_bytes": sum(file.n_bytes for file in files),
        "settings": manifest.settings,
        "failures": [file.path for file in manifest.failures],
        "n_failures": sum(file.n_rows for file in manifest.failures),
        "ledger": [file.path for file in manifest.ledger],
        "n_versions": store_status.n_versions,
        "n_stored_files": store_status.n_files,
        "n_stored_bytes": store_status.n_bytes,
        "live_runs": [lease.run for lease in store_status.live_runs],
        "interrupted_runs": list(store_status.interrupted_runs),
    }
    return Outcome(payload, partial(views.show_status, payload, arguments.root))


def failures(arguments: argparse.Namespace) -> Outcome:
    """List the dead letters of a version, by document."""
    from transforms.store.segments import read_table

    store = store_at(arguments.root)
    manifest = manifest_of(store, arguments.version)
    columns = ("uri", "file", "stage", "reason", "detail", "stale")
    rows: list[dict[str, Any]] = []
    for entry in manifest.failures:
        rows += read_table(store, entry, columns).to_pylist()
        rows = heapq.nsmallest(arguments.show, rows, key=lambda row: (row["uri"], row["stage"], row["reason"]))
    n_failures = sum(entry.n_rows for entry in manifest.failures)
    payload = {"version": manifest.version, "n_failures": n_failures, "failures": rows}
    return Outcome(payload, partial(views.show_failures, payload))


def verify(arguments: argparse.Namespace) -> Outcome:
    """Recompute what a version promises; exit code 1 where anything is not so."""
    from transforms.store.verify import verify as find_faults

    store = store_at(arguments.root)
    faults = [msgspec.to_builtins(fault) for fault in find_faults(store, arguments.version)]
    version = arguments.version or _current_version(store)
    if version is None and not faults:
        raise no_index(store)
    payload = {"version": version, "sound": not faults, "faults": faults}
    return Outcome(payload, partial(views.show_faults, payload), exit_code=1 if faults else 0)


def versions(arguments: argparse.Namespace) -> Outcome:
    """List the versions of an index."""
    from transforms.store.versions import list_versions

    store = store_at(arguments.root)
    rows = [msgspec.to_builtins(info) for info in list_versions(store)]
    if not rows:
        raise no_index(store)
    return Outcome({"versions": rows}, partial(views.show_versions, rows))


def rollback(arguments: argparse.Namespace) -> Outcome:
    """Make an earlier version current again."""
    from transforms.store.versions import rollback as roll_back

    store = store_at(arguments.root)
    if not store.list("versions"):
        raise no_index(store)
    was = _current_version(store)
    now = roll_back(store, arguments.version).version
    before = f"it was {was}" if was else "none was before, or its pointer was damaged"
    return Outcome({"version": now, "was": was}, lambda console: console.print(f"{now} is current; {before}"))


def _current_version(store: "Store") -> str | None:
    """None where nothing was published, or CURRENT is damaged, which a rollback puts right."""
    from transforms.store.pointer import read_pointer

    try:
        pointer = read_pointer(store)
    except DamagedFileError:
        return None
    return pointer.version if pointer else None


def gc(arguments: argparse.Namespace) -> Outcome:
    """Remove old versions and files that nothing refers to."""
    from transforms.answers_garbage import collect_answers
    from transforms.store.garbage import collect

    store = store_at(arguments.root)
    done = collect(store, arguments.keep, arguments.grace)
    answers = collect_answers(store, done.kept_versions, max(arguments.grace, arguments.answer_grace))
    removed = {**msgspec.to_builtins(done), **msgspec.to_builtins(answers)}
    return Outcome(removed, partial(views.show_removed, removed))

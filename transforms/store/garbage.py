"""Removing versions that nobody keeps, and then every file that no version names.

What may be needed by a run that is going on stays: whatever it wrote, whatever it found written (the store marks that
as new), and the version it started from. Files that this program did not write are left alone.
"""

import time
from collections.abc import Iterable, Sequence

import msgspec

from models.errors import SettingsError, StoreError
from transforms.store.files import Store, StoredFile
from transforms.store.lease import RUNS, LeaseRecord, all_runs, live_runs
from transforms.store.manifest import Manifest
from transforms.store.pointer import VERSIONS, locked, manifest_path, read_pointer
from transforms.store.versions import paths_of, stored_manifest, version_names, was_published

GRACE_HOURS = 24.0
CLOCK_SLACK_SECONDS = 300.0
"""How far the clocks of a run and of the file system may be apart."""

ANSWERS = "answers"
"""Files that no manifest names and that stay all the same: `transforms.answers_garbage` knows which are needed."""

FOLDERS = (
    "documents", "files", "rows", "contents", "snapshots", "units", "vectors", "indexes", "training", "ledger",
    "failures", VERSIONS, RUNS,
)  # fmt: skip


class Collected(msgspec.Struct, frozen=True):
    """What one collection did."""

    removed_versions: tuple[str, ...]
    kept_versions: tuple[str, ...]
    n_removed_files: int
    n_removed_bytes: int
    live_runs: tuple[str, ...]


def collect(store: Store, keep: int, grace_hours: float = GRACE_HOURS, now: float | None = None) -> Collected:
    """Keeps the newest `keep` versions, the current one, those that live runs started from, and all they name.

    Versions that never were current do not count: they are what a killed run left.

    :param grace_hours: nothing that was written or found needed within so many hours is removed.
    :raises SettingsError: `keep` is below 1, or `grace_hours` below 0.
    :raises DamagedFileError: CURRENT or a manifest is damaged or missing, so that nobody knows what it names; nothing
        was removed then.
    """
    _check_settings(keep, grace_hours)
    if not store.list(""):
        raise StoreError(f"no index in {store.root}; `corpusmill ingest --output` makes one")
    now = time.time() if now is None else now
    with locked(store):
        current = read_pointer(store)
        if current is not None:
            stored_manifest(store, current.version)
        live = live_runs(store, now)
        cutoff = _cutoff(live, now - grace_hours * 3600)
        manifests = [stored_manifest(store, name) for name in version_names(store)]
        needed = _needed_versions(store, manifests, keep, live)
        dropped = [manifest.version for manifest in manifests if _is_dropped(store, manifest, needed, cutoff)]
        for version in dropped:
            store.delete_folder(f"{VERSIONS}/{version}")
    kept = [manifest for manifest in manifests if manifest.version not in dropped]
    removed = _sweep(store, kept, live, cutoff)
    return Collected(
        removed_versions=tuple(dropped),
        kept_versions=tuple(manifest.version for manifest in kept),
        n_removed_files=len(removed),
        n_removed_bytes=sum(file.size for file in removed),
        live_runs=tuple(lease.run for lease in live),
    )


def _check_settings(keep: int, grace_hours: float) -> None:
    if keep < 1:
        raise SettingsError(f"keep = {keep} would remove every version; keep at least 1")
    if not grace_hours >= 0:
        raise SettingsError(f"grace_hours = {grace_hours} is below 0; give the hours for which nothing is removed")


def _cutoff(live: Sequence[LeaseRecord], aged_before: float) -> float:
    """The time before which a file must have been written to be removed."""
    return min([aged_before, *(lease.started_at - CLOCK_SLACK_SECONDS for lease in live)])


def _needed_versions(store: Store, manifests: Iterable[Manifest], keep: int, live: Iterable[LeaseRecord]) -> set[str]:
    current = read_pointer(store)
    published = [manifest for manifest in manifests if was_published(store, manifest.version, current)]
    newest = sorted(published, key=lambda manifest: (manifest.created_at, manifest.version), reverse=True)[:keep]
    bases = {lease.base for lease in live}
    return {manifest.version for manifest in newest} | bases | ({current.version} if current else set())


def _is_dropped(store: Store, manifest: Manifest, needed: set[str], cutoff: float) -> bool:
    if manifest.version in needed:
        return False
    file = store.stat(manifest_path(manifest.version))
    return file is not None and file.modified_at < cutoff


def _sweep(store: Store, kept: Sequence[Manifest], live: Iterable[LeaseRecord], cutoff: float) -> list[StoredFile]:
    """Removes what no kept version names, and returns it."""
    named = {path for manifest in kept for path in paths_of(manifest)}
    guarded = (*(f"{RUNS}/{lease.run}/" for lease in live), *(f"{VERSIONS}/{manifest.version}/" for manifest in kept))
    removed = []
    for file in _candidates(store):
        is_free = file.path not in named and not file.path.startswith(guarded)
        if is_free and file.modified_at < cutoff and store.stat(file.path) == file:  # it may be needed again by now
            store.delete([file.path])
            removed.append(file)
    _remove_empty_runs(store, removed)
    return removed


def _candidates(store: Store) -> list[StoredFile]:
    named = [file for folder in FOLDERS for half in (False, True) for file in store.list(folder, temporary=half)]
    return named + store.list(ANSWERS, temporary=True)


def _remove_empty_runs(store: Store, removed: Iterable[StoredFile]) -> None:
    touched = {file.path.split("/")[1] for file in removed if file.path.startswith(f"{RUNS}/")}
    for run in touched - {lease.run for lease in all_runs(store)}:
        store.delete_folder(f"{RUNS}/{run}")

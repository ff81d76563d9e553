"""A store at a glance."""

import msgspec

from transforms.store.files import Store
from transforms.store.lease import LeaseRecord, all_runs, live_runs
from transforms.store.versions import VersionInfo, list_versions


class Status(msgspec.Struct, frozen=True):
    """What lies under a root. `n_bytes` counts every file, whether a version names it or not."""

    current: VersionInfo | None
    n_versions: int
    n_files: int
    n_bytes: int
    live_runs: tuple[LeaseRecord, ...]
    interrupted_runs: tuple[str, ...]


def status(store: Store) -> Status:
    """The summary that `corpusmill status` shows."""
    versions, live, files = list_versions(store), live_runs(store), store.list("")
    live_names = {lease.run for lease in live}
    return Status(
        current=next((info for info in versions if info.is_current), None),
        n_versions=len(versions),
        n_files=len(files),
        n_bytes=sum(file.size for file in files),
        live_runs=tuple(live),
        interrupted_runs=tuple(lease.run for lease in all_runs(store) if lease.run not in live_names),
    )

"""Removing answers of the language model that no kept version can ask for again.

An answer is needed by a version that has the content it was given for and that cuts or rewrites by the same model and
prompt: cutting that content again asks for it. One that an interrupted run paid for is needed by the run that settles
it. Whatever is young stays too, since the next run may go back to an earlier model, prompt or text.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from models.errors import SettingsError, StoreError
from models.llm.service import identity_sha256
from transforms.answers import FOLDER, segment_entry
from transforms.columns import strings
from transforms.store.files import Store
from transforms.store.lease import all_runs, live_runs
from transforms.store.manifest import FileEntry, Manifest
from transforms.store.schemas import CONTENTS
from transforms.store.segments import read_table, write_table
from transforms.store.versions import stored_manifest

ANSWER_GRACE_HOURS = 30 * 24.0

_NO_CONTENTS = pa.schema([CONTENTS.field("content_id")]).empty_table()


class CollectedAnswers(msgspec.Struct, frozen=True):
    """Answers that were removed and kept, and the bytes that were freed. Files that cannot be read stay uncounted."""

    n_removed_answers: int
    n_kept_answers: int
    n_removed_answer_bytes: int


def collect_answers(
    store: Store, versions: Iterable[str], grace_hours: float = ANSWER_GRACE_HOURS, now: float | None = None
) -> CollectedAnswers:
    """Removes the answers that none of `versions` can ask for. Removes nothing while a run is going on.

    :param grace_hours: answers written or found useful to another content within so many hours stay.
    :raises SettingsError: `grace_hours` is below 0.
    """
    if not grace_hours >= 0:
        raise SettingsError(f"grace_hours = {grace_hours} is below 0; give the hours for which nothing is removed")
    now = time.time() if now is None else now
    manifests = [stored_manifest(store, version) for version in versions]
    needs = _Needs(store, manifests, now - grace_hours * 3600)
    is_free = not live_runs(store, now)
    n_removed = n_kept = n_bytes = 0
    for entry in _segments(store):
        try:
            table = read_table(store, entry)
        except (StoreError, pa.ArrowException, OSError):  # damaged, or merged by a run that has just begun
            continue
        is_kept = needs.mask(table) if is_free else np.ones(table.num_rows, np.bool_)
        n_kept += int(is_kept.sum())
        if not is_kept.all():
            n_removed += int((~is_kept).sum())
            n_bytes += entry.n_bytes - _replace(store, entry, table.filter(pa.array(is_kept)))
    return CollectedAnswers(n_removed, n_kept, n_bytes)


class _Needs:
    """What is known to be needed: contents with the models and prompts of their versions, and unsettled runs."""

    def __init__(self, store: Store, manifests: Sequence[Manifest], written_after: float) -> None:
        self._written_after = written_after
        self._runs = {record.run for record in all_runs(store)}
        self._askers = {asker for one in manifests for asker in askers(one)}
        shards = {shard.contents.path: shard.contents for one in manifests for shard in one.shards if shard.contents}
        parts = [read_table(store, entry, ["content_id"]) for _, entry in sorted(shards.items())]
        self._contents = pc.unique(pa.concat_tables([_NO_CONTENTS, *parts]).column(0))

    def mask(self, table: pa.Table) -> NDArray[np.bool_]:
        """Which answers stay, bool (n,)."""
        models, prompts, runs = (strings(table, name) for name in ("model", "prompt", "run"))
        is_young = table.column("written_at").to_numpy() >= self._written_after
        is_unsettled = np.array([run in self._runs for run in runs], np.bool_)
        is_asked = np.array([asker in self._askers for asker in zip(models, prompts, strict=True)], np.bool_)
        is_there = pc.is_in(table.column("owner"), value_set=self._contents).to_numpy()
        return np.asarray(is_young | is_unsettled | (is_there & is_asked), np.bool_)


def askers(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yields the model and the prompt of whatever a version's recipe of cutting asks a language model."""
    parts: dict[str, Any] = manifest.recipes.get("cut", {}).get("parts", {})
    for part in (parts, parts.get("rewriting", {})):
        if "llm" in part and "prompt" in part:
            yield identity_sha256(part["llm"]), part["prompt"]


def _segments(store: Store) -> Iterator[FileEntry]:
    for file in store.list(FOLDER):
        entry = segment_entry(file.path, file.size)
        if entry is not None:
            yield entry


def _replace(store: Store, entry: FileEntry, kept: pa.Table) -> int:
    """Puts what is kept in place of a segment, and returns its bytes. It is there before the old one goes."""
    new = write_table(store, FOLDER, kept) if kept.num_rows else None
    store.delete([entry.path])
    return new.n_bytes if new else 0

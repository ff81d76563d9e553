"""Whether a run found everything as it was, so that there is nothing to publish."""

from collections.abc import Iterable, Sequence
from typing import Any

from transforms.context import RunContext
from transforms.records import DocumentShardWritten
from transforms.store.manifest import DocumentShard, FileEntry, Manifest, Shard

RESTAMPED_FILES = 256
RESTAMPED_BYTES = 16 * 1024 * 1024
"""Work that every later run would do again without them makes stamps worth a version, from so many objects or bytes."""

UNIT_FAILURES = "failures/units"
"""Where the dead letters of single units lie. They are those of units that the run encoded."""


def recipes_of(context: RunContext) -> dict[str, dict[str, Any]]:
    """The run's recipes as a manifest holds them."""
    return {stage: {"id": recipe.id, "parts": recipe.parts} for stage, recipe in context.recipes.items()}


def settings_of(context: RunContext) -> dict[str, dict[str, Any]]:
    """The run's settings as a manifest holds them, by section."""
    return {name: section.model_dump(mode="json") for name, section in context.sections().items()}


def is_as_before(
    context: RunContext,
    base: Manifest,
    written: Sequence[DocumentShardWritten],
    shards: Sequence[Shard],
    failures: Iterable[FileEntry],
) -> bool:
    """Whether a version made of `written`, `shards` and `failures` would tell nothing that `base` does not tell.

    An object that was read because its stamp was young, or new, costs the next run the same again where no version
    stores its stamp. That is let be until it is many objects or bytes.
    """
    if any(record.restamped is None for record in written) or tuple(shards) != base.shards:
        return False
    if not _same_ranges(context.document_shards, base.document_shards) or _asked(context) != _asked_for(base):
        return False
    if _of_documents(failures) != _of_documents(base.failures):
        return False
    restamped = [record.restamped for record in written if record.restamped is not None]
    n_files, n_bytes = sum(n for n, _ in restamped), sum(n for _, n in restamped)
    return n_files < RESTAMPED_FILES and n_bytes < RESTAMPED_BYTES


def _same_ranges(now: Iterable[DocumentShard], before: Iterable[DocumentShard]) -> bool:
    return [(shard.first, shard.last) for shard in now] == [(shard.first, shard.last) for shard in before]


def _asked(context: RunContext) -> list[Any]:
    return _lasting(recipes_of(context), settings_of(context), context.encoder.model_dump(mode="json"))


def _asked_for(base: Manifest) -> list[Any]:
    return _lasting(base.recipes, base.settings, base.encoder.get("settings"))


def _lasting(recipes: dict[str, Any], settings: dict[str, Any], encoder: Any) -> list[Any]:
    """What a version remembers, without what holds for one run alone: its guards, its budget and its patterns."""
    ids = {stage: recipe["id"] for stage, recipe in recipes.items()}
    kept = {name: section for name, section in settings.items() if name not in ("run", "llm_budget")}
    kept["reading"] = {name: value for name, value in kept.get("reading", {}).items() if name != "input"}
    return [ids, kept, encoder]


def _of_documents(failures: Iterable[FileEntry]) -> set[str]:
    return {entry.path for entry in failures if not entry.path.startswith(UNIT_FAILURES)}

"""What a run has to do: whether its recipes are accepted, which files it reads, and which shards it must look at."""

import pyarrow as pa

from models.errors import SettingsError
from pipelines.config import in_words
from transforms.changes import Changes, compare, contents_to_retry, documents_to_retry, known_files
from transforms.context import RunContext
from transforms.listing import ListedFile
from transforms.recipes import changed_parts, changed_stages
from transforms.sameness import settings_of
from transforms.store.manifest import Manifest
from transforms.store.segments import read_table

_SECTIONS = {
    "encode": ("encoder",),
    "cut": ("chunking", "semantic", "pic", "boundaries", "rewriting", "llm", "encoder"),
}
_CHUNKERS = {"semantic": {"semantic", "pic"}, "pic": {"pic"}, "boundaries": {"llm"}}
_IN_NO_RECIPE = frozenset((
    "llm_url", "llm_key_variable", "llm_tokenizer", "llm_parameters", "llm_requests_in_flight", "llm_timeout_seconds",
    "llm_attempts", "llm_outage_seconds", "query_prompt", "device", "dtype", "batch_tokens", "work_item_tokens",
    "encoder_accelerator", "encoder_min_ram_gb",
))  # fmt: skip
_SHOWN_SETTINGS = 4


def check_recipes(context: RunContext, base: Manifest | None) -> None:
    """`SettingsError` where a changed recipe would encode more of what is stored again than was accepted."""
    if base is None or context.limits.accept_recipe_change:
        return
    changed = [stage for stage in changed_stages(context.recipes, base.recipes) if stage in ("cut", "encode")]
    n_units = sum(shard.n_units for shard in base.shards)
    if not changed or not n_units or context.limits.max_reencode_share >= 1:
        return
    causes = "; ".join(_cause(context, stage, base) for stage in changed)
    raise SettingsError(
        f"{causes}: up to {n_units} of {n_units} stored units would be encoded again, over max_reencode_share = "
        f"{context.limits.max_reencode_share:.0%}. Put the setting back, or run again with --accept-recipe-change"
    )


def _cause(context: RunContext, stage: str, base: Manifest) -> str:
    """The settings that are other ones now, since people know those; the recipe's own parts where none is."""
    parts = _changed_settings(context, stage, base)
    parts = parts or changed_parts(context.recipes[stage], base.recipes.get(stage, {}))
    return f"the {stage} recipe changed ({', '.join(parts) or 'unknown parts'})"


def _changed_settings(context: RunContext, stage: str, base: Manifest) -> list[str]:
    now = {**settings_of(context), "encoder": context.encoder.model_dump(mode="json")}
    then = {**base.settings, "encoder": base.encoder.get("settings", {})}
    chunkers = {sections.get("chunking", {}).get("chunker") for sections in (now, then)}
    changed = [
        f"{name} was {in_words(then[section][name])}, is {in_words(value)}"
        for section in _SECTIONS[stage]
        if chunkers & _CHUNKERS.get(section, chunkers)
        for name, value in now.get(section, {}).items()
        if name not in _IN_NO_RECIPE and then.get(section, {}).get(name, value) != value
    ]
    n_more = len(changed) - _SHOWN_SETTINGS
    return [*changed[:_SHOWN_SETTINGS], *([f"and {n_more} more"] if n_more > 0 else [])]


def find_changes(
    context: RunContext, base: Manifest | None, listing: list[ListedFile], has_other_work: bool
) -> Changes:
    """The first skip: what of `listing` must be read, because it changed, failed before, or is read differently now."""
    if base is None:
        return compare(listing, {})
    known = known_files(context.store, base.document_shards)
    retry = documents_to_retry(_failures(context, base))
    recipe_changed = base.recipes["extract"]["id"] != context.recipes["extract"].id
    everything = context.limits.full or recipe_changed or _reading_changed(context, base)
    return compare(listing, known, retry, everything, has_other_work)


def _failures(context: RunContext, base: Manifest) -> list[pa.Table]:
    return [read_table(context.store, entry) for entry in base.failures]


def _reading_changed(context: RunContext, base: Manifest) -> bool:
    """Whether a setting that decides what a table's rows are is another one."""
    stored = base.settings.get("reading", {})
    now = context.reading.model_dump(mode="json")
    return any(now[name] != stored.get(name) for name in now if name != "input")


def touched_shards(context: RunContext, base: Manifest | None) -> tuple[list[int], list[int]]:
    """The document shards and content shards that must be looked at whatever their documents did."""
    if base is None:
        return [], []
    changed = set(changed_stages(context.recipes, base.recipes)) - {"extract"}
    document_ranges = {(shard.first, shard.last) for shard in base.document_shards}
    documents = [i for i, s in enumerate(context.document_shards) if (s.first, s.last) not in document_ranges]
    ranges = {(shard.first, shard.last) for shard in base.shards}
    retry = {context.content_shard(name) for name in contents_to_retry(_failures(context, base))}
    shards = [i for i, s in enumerate(context.shards) if changed or i in retry or (s.first, s.last) not in ranges]
    return documents, shards

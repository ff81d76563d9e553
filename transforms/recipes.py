"""Recipe fingerprints: what a stage's output depends on, computed from what it really is.

The chain runs through the data: a content's id hashes the text and blocks that the extractor made, and a unit's
`embed_hash` names the text that the encoder reads. So a new extractor cuts again only what it reads differently, and
a new cutter encodes again only texts that are new. Only the index stands on the encoder's recipe itself, since vectors
of two encoders must never meet.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

STAGES = ("extract", "cut", "encode", "index")


class Recipe(msgspec.Struct, frozen=True):
    """What one stage's output depends on: its own parts, and through `id` everything above it."""

    id: str
    parts: dict[str, Any]


def fingerprint(value: object) -> str:
    """The first 16 hex digits of the sha256 of `value` as canonical JSON.

    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()[:16]


def make_recipes(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Recipe]:
    """The recipes of all `STAGES` from their parts."""
    ids = {stage: fingerprint(parts[stage]) for stage in STAGES}
    ids["index"] = fingerprint([parts["index"], ids["encode"]])
    return {stage: Recipe(ids[stage], dict(parts[stage])) for stage in STAGES}


def changed_stages(recipes: Mapping[str, Recipe], stored: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """The stages whose recipe id differs from the stored one, in order; all of them where nothing is stored."""
    return tuple(stage for stage in STAGES if stored.get(stage, {}).get("id") != recipes[stage].id)


def changed_parts(recipe: Recipe, stored: Mapping[str, Any]) -> list[str]:
    """The names of a stage's own parts that differ, for the message that a person reads.

    >>> changed_parts(Recipe("x", {"a": 1, "b": 2}), {"id": "y", "parts": {"a": 1, "b": 3}})
    ['b']
    """
    old = stored.get("parts", {})
    return sorted(name for name in recipe.parts.keys() | old.keys() if recipe.parts.get(name) != old.get(name))

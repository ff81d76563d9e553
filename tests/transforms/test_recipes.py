"""Fingerprints: equal parts give equal ids, and a change shows where it should."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.recipes import STAGES, changed_parts, changed_stages, fingerprint, make_recipes

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), values, max_size=5), st.randoms())
def test_order_of_keys_does_not_show_and_values_do(parts, random):
    keys = list(parts)
    random.shuffle(keys)
    assert fingerprint({key: parts[key] for key in keys}) == fingerprint(parts)
    assert fingerprint(parts | {"new key": 1}) != fingerprint(parts | {"new key": 2})


def stored(recipes):
    return {stage: {"id": recipe.id, "parts": recipe.parts} for stage, recipe in recipes.items()}


BELOW = {"extract": ("extract",), "cut": ("cut",), "encode": ("encode", "index"), "index": ("index",)}


@pytest.mark.parametrize("stage", STAGES)
def test_a_changed_part_changes_its_stage_and_an_encoder_its_index(stage):
    parts = {name: {"version": 1, "setting": "a"} for name in STAGES}
    before = make_recipes(parts)
    after = make_recipes(parts | {stage: {"version": 1, "setting": "b"}})
    assert changed_stages(after, stored(before)) == BELOW[stage]
    assert changed_parts(after[stage], stored(before)[stage]) == ["setting"]
    assert changed_stages(before, stored(before)) == ()


def test_where_nothing_is_stored_everything_changed():
    recipes = make_recipes({name: {"version": 1} for name in STAGES})
    assert changed_stages(recipes, {}) == STAGES
    assert changed_parts(recipes["cut"], {}) == ["version"]


def test_ids_stay_what_they_are():
    """Raise the version of what you changed: other ids would have every index made anew."""
    assert fingerprint({"b": [1, None, "é"], "a": {"y": True}}) == "dc751fa461c92176"
    recipes = make_recipes({name: {"version": 1} for name in STAGES})
    assert {stage: recipe.id for stage, recipe in recipes.items()} == {
        "extract": "2430f1a2ad2982d0",
        "cut": "2430f1a2ad2982d0",
        "encode": "2430f1a2ad2982d0",
        "index": "5633bb7ff9143395",
    }

"""Sound JSON comes back as it is, damaged JSON as what was whole in it, with each kind of repair; nothing raises."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.fake_llm import in_prose, unescaped_quotes
from models.llm.json_answers import Parsed, listed, parse_json, whole_numbers

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    st.lists(scalars) | st.dictionaries(st.text(), scalars),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
plain_texts = st.text(st.characters(categories=["L", "N"], include_characters=" .'-"), min_size=1)


@given(values, st.sampled_from([None, 1]), st.booleans())
def test_sound_json_is_read_as_it_is(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert parse_json(text) == Parsed(value)
    assert parse_json(f"\n {text}\n") == Parsed(value)


@given(st.text())
def test_nothing_raises(text):
    parse_json(text)
    parse_json("[" + text)
    parse_json('{"a": "' + text)


@given(st.lists(plain_texts, min_size=1, max_size=6))
def test_json_in_prose_is_found(texts):
    assert parse_json(in_prose(json.dumps({"list": texts}))) == Parsed({"list": texts}, ("json_in_prose",))


@given(st.lists(plain_texts, min_size=1, max_size=6), st.integers(0, 200))
def test_of_a_cut_list_the_whole_items_are_kept(texts, n_chars):
    whole = json.dumps({"list": texts})
    cut = whole[: min(n_chars, len(whole) - 2)]
    got = parse_json(cut, lambda value: listed(value, "list") is not None)
    if got.value is not None:
        assert got.value["list"] == texts[: len(got.value["list"])] and got.repairs == ("json_cut",)


@given(st.lists(plain_texts.map(str.strip).filter(len), min_size=1, max_size=5))
def test_quotes_that_nobody_escaped_stay_in_the_text(words):
    broken = "[" + ", ".join(f'"they say "{word}" turns"' for word in words) + "]"
    assert parse_json(broken) == Parsed([f'they say "{word}" turns' for word in words], ("json_unescaped_quotes",))


@pytest.mark.parametrize(
    ("text", "value", "repairs"),
    [
        ('["the "mill", they say, turns", "b"]', ['the "mill", they say, turns', "b"], {"json_unescaped_quotes"}),
        (unescaped_quotes('{"a": "the mill"}', "mill"), {"a": 'the "mill"'}, {"json_unescaped_quotes"}),
        ("[1, 2,]", [1, 2], {"json_punctuation"}),
        ("[1,, 2]", [1, 2], {"json_punctuation"}),
        ('[{"a": 1} {"a": 2}]', [{"a": 1}, {"a": 2}], {"json_punctuation"}),
        ('[1, 2', [1, 2], {"json_cut"}),
        ("[" + " \n" * 5000, [], {"json_cut"}),
        ('{"a": [1, 2], "b": "x', {"a": [1, 2]}, {"json_cut"}),
        ('[NaNsense]', [], {"json_cut"}),
        ("[" * 5000, None, set()),
        ('["\\ud83d", "x" "y"]', ["\ufffd", 'x" "y'], {"json_unescaped_quotes"}),
        ("no json at all", None, set()),
        ("", None, set()),
    ],
)  # fmt: skip
def test_kinds_of_damage(text, value, repairs):
    parsed = parse_json(text)
    assert parsed.value == value and set(parsed.repairs) == repairs


def test_what_is_wanted_is_looked_for():
    text = 'As asked in [1], {"note": "see [2]"}: {"cut_after": [3]}'
    assert parse_json(text, lambda value: isinstance(value, dict) and "cut_after" in value).value == {"cut_after": [3]}


def test_numbers_in_every_spelling():
    counts = Counter()
    spelled = [1, "2", 3.0, "4.", "sentence 5", 6.5, None, True, "six", "-7", 10**30, [8], "²"]
    assert whole_numbers(spelled, counts) == [1, 2, 3, 4, 5, -7, 10**30]
    assert counts == {"json_wrong_type": 11}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"cut_after": [007, -010, 0]}', {"cut_after": [7, -10, 0]}),
        ('{"cut_after": [3, \u0665]}', {"cut_after": [3]}),
        ("[2, " + "1" * 5000 + "]", [2]),
    ],
)
def test_numbers_that_are_no_json_cost_no_document(text, value):
    assert parse_json(text).value == value


@given(st.lists(st.sampled_from(["\\ud800", "\\uDC00", "\\\\", "\\n", "\\ud83d\\ude00", "a", "u"])), st.booleans())
def test_what_is_read_can_be_stored(parts, is_whole):
    text = '["' + "".join(parts) + ('", "b"]' if is_whole else '", "b"')
    value = parse_json(text).value
    assert value == [
        json.loads(f'"{"".join(parts)}"').encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
        "b",
    ]


FLOOD = 1 << 20


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1," + " " * FLOOD + "2]", [1, 2]),
        ("[1]" + " \n" * FLOOD + "x", [1]),
        ("```json\n[1]\n" + " \n" * FLOOD + "```", [1]),
        ("[" * FLOOD, None),
        ('{"a":' * FLOOD, None),
        ("```" * FLOOD, None),
        ("[" + "1" * FLOOD + "]", []),
        ("[ /*" + "*" * FLOOD, []),
    ],
    ids=[
        "white space",
        "white space and prose",
        "white space and fence",
        "lists",
        "objects",
        "fences",
        "digits",
        "comment",
    ],
)
def test_a_megabyte_of_anything_takes_no_longer_than_it_is_long(text, value):
    assert parse_json(text).value == value


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [ // facts\n "x // y", /* and */ "b" // last\n ], /* so */ "n": 2}',
        '// the list\n{"a": ["x // y", "b"], "n": 2}',
    ],
)
def test_comments_are_stepped_over_and_counted(text):
    parsed = parse_json(text)
    assert parsed.value == {"a": ["x // y", "b"], "n": 2} and len(parsed.repairs) == 1

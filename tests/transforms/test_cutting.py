"""Cutting work items: rows of units, vectors that exist already, and ranges of what is left to encode."""

import msgspec
import pytest
from hand_mill import CUT_ME_NOT, FaultyCutter, HandMill
from hypothesis import given
from hypothesis import strategies as st

from models.tokenizer import Tokenizer, load_tokenizer
from transforms.changes import compare
from transforms.chunking import Cutter
from transforms.contents import plan_shard, write_content_changes
from transforms.context import RunContext
from transforms.cutters import cutter_for
from transforms.cutting import cut_item, encode_items
from transforms.documents import resolve
from transforms.elements import CutDocument
from transforms.reading import read_item
from transforms.records import EncodeItem, Note, ReadItem, UnitsWritten, WorkItem
from transforms.scratch import read_all

units = st.lists(st.tuples(st.integers(0, 50), st.booleans(), st.integers(0, 3)), max_size=60)


@given(units, st.integers(1, 120), st.integers(0, 2))
def test_every_unit_without_a_vector_is_in_one_item_of_a_bounded_weight(drawn, max_tokens, overhead):
    rows = [{"n_tokens": n, "needs_vector": needs, "shard": shard} for n, needs, shard in drawn]
    items = list(encode_items("p", rows, max_tokens, overhead))
    covered: list[int] = []
    for item in items:
        place = range(item.first, item.first + item.count)
        wanted = [rows[number] for number in place if rows[number]["needs_vector"]]
        assert wanted and item.shards == tuple(sorted({row["shard"] for row in wanted}))
        assert item.n_tokens == sum(max(1, row["n_tokens"] + overhead) for row in wanted)
        assert item.n_tokens <= max_tokens or len(wanted) == 1
        covered += place
    assert len(covered) == len(set(covered))
    assert {number for number, row in enumerate(rows) if row["needs_vector"]} <= set(covered)


@pytest.fixture
def mill(tmp_path) -> HandMill:
    return HandMill(tmp_path, {"max_failures": "100%"})


def test_one_text_that_cannot_be_cut_costs_its_item_nothing(mill):
    mill.write("a.txt", "first text")
    mill.write("b.txt", CUT_ME_NOT)
    mill.write("c.txt", "third text")
    turn = mill.run()
    assert [len(work.entries) for work in turn.work] == [3]
    assert [(f.stage, f.reason, f.detail) for f in turn.failures] == [
        ("cut", "cutter_error", "ValueError: no way to cut this")
    ]
    assert sorted(unit["text"] for unit in mill.live_units()) == ["first text", "third text"]
    assert turn.outcome.documents["failed"] == 1


def test_a_text_that_gives_no_unit_is_a_dead_letter(mill, monkeypatch):
    def nothing(self, source):
        return CutDocument((), "fixed", {"blank_windows": 2})
        yield

    monkeypatch.setattr(FaultyCutter, "dialogue", nothing)
    mill.write("a.txt", "text")
    turn = mill.run()
    assert [f.reason for f in turn.failures] == ["no_units"]
    assert turn.outcome.outcomes["blank_windows"] == 2


def test_units_of_an_edited_text_take_the_vectors_that_exist(mill):
    paragraphs = [f"Paragraph {n} " + " ".join(f"w{n}x{m}" for m in range(30)) for n in range(5)]
    mill.write("a.txt", "\n\n".join(paragraphs))
    mill.run()
    paragraphs[2] = "Quite another one " + " ".join(f"new{m}" for m in range(30))
    mill.write("a.txt", "\n\n".join(paragraphs))
    turn = mill.run()
    assert (turn.outcome.units["encoded"], turn.outcome.units["reused"]) == (1, 4)
    assert sum(item.n_tokens for item in turn.items) == 33


def test_stored_units_alone_are_read_for_a_new_encoder(mill, monkeypatch):
    mill.write("a.txt", "text " * 100)
    mill.run()

    def never(self, source):
        raise AssertionError("cut again")

    monkeypatch.setattr(FaultyCutter, "dialogue", never)
    before = [unit["unit_id"] for unit in mill.live_units()]
    turn = mill.run(hashing_dimension=16, accept_recipe_change=True)
    assert turn.outcome.units["encoded"] == len(before)
    assert [unit["unit_id"] for unit in mill.live_units()] == before


def prepare(mill: HandMill) -> tuple[RunContext, Cutter, Tokenizer, WorkItem]:
    """What a worker is given to cut all of a first run's documents."""
    context, _, listing = mill.context()
    read = list(read_item(context, ReadItem(compare(listing, {}).read)))
    changes = write_content_changes(context, 0, resolve({}, read).changes)
    entries, _ = plan_shard(context, 0, [place for _, place in changes])
    tokenizer = load_tokenizer(context.encoder)
    return context, cutter_for(context, tokenizer), tokenizer, WorkItem(tuple(entries))


def test_records_and_rows_of_a_cut_are_the_same_when_it_is_done_twice(mill):
    mill.write("a.md", "# Head\n\n" + "word " * 90)
    prepared = prepare(mill)
    context = prepared[0]
    results = list(cut_item(*prepared))
    ((shard, units),) = [result for result in results if isinstance(result, tuple)]
    assert shard == 0 and isinstance(units, UnitsWritten)
    rows = read_all(context.root, units.path).to_pylist()
    assert [row["ordinal"] for row in rows] == list(range(len(rows))) and len(rows) == 3
    assert {row["n_of"] for row in rows} == {3} and all(row["needs_vector"] for row in rows)
    assert {tuple(row["heading_path"]) for row in rows} == {("Head",)}
    assert len({row["unit_id"] for row in rows}) == 3 and {row["recipe"] for row in rows} == {context.cut_recipe}
    assert list(cut_item(*prepared)) == results
    assert {type(result) for result in results} == {tuple, Note, EncodeItem}


def test_a_try_that_comes_to_other_units_leaves_the_file_of_the_first_alone(mill, monkeypatch):
    mill.write("a.md", "# Head\n\n" + "word " * 90)
    prepared = prepare(mill)

    def units() -> UnitsWritten:
        (place,) = [result[1] for result in cut_item(*prepared) if isinstance(result, tuple)]
        assert isinstance(place, UnitsWritten)
        return place

    first = units()
    rows = read_all(prepared[0].root, first.path).to_pylist()
    cut = Cutter.dialogue

    def otherwise(self, source):
        document = yield from cut(self, source)
        return msgspec.structs.replace(document, units=document.units[:1])

    monkeypatch.setattr(Cutter, "dialogue", otherwise)
    assert units().path != first.path
    assert read_all(prepared[0].root, first.path).to_pylist() == rows

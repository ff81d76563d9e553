"""Contents: how many documents each has, what vanished, and at which stage each enters a run."""

import msgspec
import pytest
from hand_mill import CUT_ME_NOT, HandMill
from hypothesis import given
from hypothesis import strategies as st

from transforms.contents import (
    Content,
    document_counts,
    gains_of,
    plan_shard,
    read_content_changes,
    vanished,
    without_failed,
    write_content_changes,
)
from transforms.records import ContentChange, TouchShard

NAMES = ["aa0", "bb1", "cc2"]


def gain(name: str, n: int = 1, former: str = "", uri: str = "u") -> ContentChange:
    return ContentChange(name, n, name, uri, 9, "runs/r/reads/x", 0, former)


def loss(name: str, n: int = 1, cause: str = "") -> ContentChange:
    return ContentChange(name, -n, cause, "u", is_loss=True)


def content(name: str, n_documents: int) -> Content:
    return Content(name, n_documents, 9, 2, "s", 0, 1, "u", 0, "v", 0, "cut", "encode")


edits = st.lists(st.tuples(st.sampled_from([*NAMES, ""]), st.sampled_from([*NAMES, ""])), max_size=20)


@given(edits, st.sets(st.sampled_from(NAMES)))
def test_counts_follow_every_document_and_failed_texts_change_nothing(moves, failed):
    """Each move is one document that goes from one content (or none) to another (or none)."""
    start = {name: sum(old == name for old, _ in moves) + 1 for name in NAMES}
    changes = []
    for old, new in moves:
        if old != new:
            changes += ([loss(old, cause=new)] if old else []) + ([gain(new)] if new else [])
    after = dict(start)
    for old, new in moves:
        if new not in failed:
            after[old] = after.get(old, 0) - 1
            after[new] = after.get(new, 0) + 1
    known = {name: content(name, n) for name, n in start.items()}
    counts = document_counts(known, without_failed(changes, failed))
    assert all(counts[name] == after[name] for name in counts)
    assert all(after[name] == start[name] for name in NAMES if name not in counts)


def test_vanished_are_those_whose_text_is_nowhere_else():
    assert vanished([loss("a"), loss("b", cause="c"), gain("c")]) == 1
    assert vanished([loss("a", 3), gain("a", 2)]) == 1
    assert vanished([loss("a", 3), gain("a", 5)]) == 0
    assert vanished([loss("a", cause="empty")]) == 0


def test_changes_of_all_document_shards_are_one_list(tmp_path):
    mill = HandMill(tmp_path)
    mill.write("a.txt", "x")
    context, _, _ = mill.context()
    places = [
        *write_content_changes(context, 0, [gain("aa0", former="f0", uri="b"), loss("cc2")]),
        *write_content_changes(context, 1, [gain("aa0", uri="c")]),
    ]
    records = [place for _, place in places]
    expected = [gain("aa0", 2, former="f0", uri="b"), loss("cc2")]
    assert read_content_changes(context, records * 2) == read_content_changes(context, records[::-1]) == expected
    assert gains_of(expected) == {"aa0": expected[0]}


STAGES = [
    ({}, {}),
    ({"min_ivf_units": 9}, {}),
    ({"hashing_dimension": 16}, {"encode": 3}),
    ({"window_tokens": 30}, {"cut": 3}),
    ({"window_tokens": 30, "hashing_dimension": 16}, {"cut": 3}),
]


@pytest.mark.parametrize("changed, expected", STAGES)
def test_a_content_enters_at_the_first_stage_whose_recipe_changed(tmp_path, changed, expected):
    mill = HandMill(tmp_path)
    for n in range(3):
        mill.write(f"{n}.txt", f"text number {n}")
    mill.run()
    context, _, _ = mill.context(**changed)
    entries, count = plan_shard(context, 0, [TouchShard()])
    stages = [entry.stage for entry in entries]
    assert {stage: stages.count(stage) for stage in set(stages)} == expected
    assert [(e.path, e.first) for e in entries] == sorted((e.path, e.first) for e in entries)
    assert count.work_chars == sum(entry.n_chars for entry in entries) and count.vanished == 0


def test_an_edited_document_is_cut_with_its_former_content_at_hand(tmp_path):
    mill = HandMill(tmp_path)
    mill.write("a.txt", "before")
    mill.run()
    (former,) = mill.contents()
    mill.write("a.txt", "after it")
    (work,) = mill.run().work
    assert [(entry.stage, entry.former) for entry in work.entries] == [("cut", former)]


def test_a_renamed_document_is_no_work(tmp_path):
    mill = HandMill(tmp_path)
    mill.write("a.txt", "text")
    mill.run()
    mill.remove("a.txt")
    mill.write("b.txt", "text")
    turn = mill.run()
    assert not turn.work and turn.outcome.documents["deleted"] == 1


class TestFailuresUnderANewRecipe:
    """A known document that fails keeps its last good content where it can, is counted, and is tried every run."""

    @pytest.fixture
    def mill(self, tmp_path) -> HandMill:
        from models.fakes import NanEncoder

        mill = HandMill(tmp_path, {"max_failures": "50%", "accept_recipe_change": True}, encoder=NanEncoder)
        for name in ("a", "b", "c"):
            mill.write(f"{name}.txt", f"text of {name}")
        mill.write("d.txt", "text of c")
        mill.run()
        return mill

    def fail(self, monkeypatch, text: str) -> None:
        import hand_mill

        from models.fakes import NanEncoder

        monkeypatch.setattr(hand_mill, "CUT_ME_NOT", text)
        monkeypatch.setattr(NanEncoder, "mark", text)

    def test_a_cutter_that_fails_leaves_the_old_units(self, mill, monkeypatch):
        self.fail(monkeypatch, "text of c")
        outcome = mill.run(window_tokens=30).outcome
        counts = {"listed": 4, "indexed": 0, "unchanged": 2, "empty": 0, "failed": 2, "deleted": 0, "stale": 2}
        assert outcome.documents == counts and outcome.outcomes["failed:cut:cutter_error"] == 2
        assert sorted(unit["text"] for unit in mill.live_units()) == ["text of a", "text of b", "text of c"]
        assert [(f["uri"], f["stage"], f["stale"]) for f in mill.failures()] == [("", "cut", True)]
        assert mill.run(window_tokens=30).outcome.documents["failed"] == 2  # again, with nothing else to do
        monkeypatch.undo()
        turn = mill.run(window_tokens=30)
        assert turn.outcome.documents["unchanged"] == 4 and [len(w.entries) for w in turn.work] == [1]
        assert len({unit["recipe"] for unit in mill.live_units()}) == 1 and not mill.failures()
        assert not mill.run(window_tokens=30).outcome.published

    def test_an_encoder_that_fails_lets_go_of_vectors_that_nothing_may_meet(self, mill, monkeypatch):
        self.fail(monkeypatch, "text of a")
        outcome = mill.run(hashing_dimension=16).outcome
        assert (outcome.documents["failed"], outcome.documents["unchanged"]) == (1, 3)
        assert sorted(unit["text"] for unit in mill.live_units()) == ["text of b", "text of c"]
        monkeypatch.undo()
        assert mill.run(hashing_dimension=16).outcome.units["encoded"] == 1
        assert len(mill.live_units()) == 3

    def test_too_many_of_them_publish_nothing(self, mill, monkeypatch):
        before = mill.manifest()
        self.fail(monkeypatch, "text")
        outcome = mill.run(hashing_dimension=16).outcome
        assert "4 of 4 documents failed" in outcome.refused and mill.manifest() == before

    def test_edited_document_that_fails_under_a_new_encoder_gets_its_old_text_back(self, mill, monkeypatch):
        mill.write("a.txt", f"edited {CUT_ME_NOT}")
        assert mill.run(hashing_dimension=16).outcome.documents["stale"] == 1
        mill.run(hashing_dimension=16)
        assert "text of a" in {unit["text"] for unit in mill.live_units()}
        assert mill.documents()[str(mill.source / "a.txt")].status == "stale"


def test_an_edited_document_that_fails_late_keeps_its_last_good_content(tmp_path):
    mill = HandMill(tmp_path, {"max_failures": "100%"})
    mill.write("a.txt", "good text")
    mill.run()
    mill.write("a.txt", f"edited {CUT_ME_NOT}")
    for _ in range(2):
        outcome = mill.run().outcome
        assert (outcome.documents["failed"], outcome.documents["stale"], outcome.documents["listed"]) == (1, 1, 1)
        assert [unit["text"] for unit in mill.live_units()] == ["good text"]
        (row,) = mill.failures()
        assert (row["stage"], row["reason"], row["stale"], row["uri"]) == ("cut", "cutter_error", True, row["file"])
    mill.write("a.txt", "edited well")
    assert mill.run().outcome.documents["indexed"] == 1
    assert [unit["text"] for unit in mill.live_units()] == ["edited well"]


def test_content_rows_survive_a_round_trip():
    assert msgspec.structs.astuple(content("a", 1)) == ("a", 1, 9, 2, "s", 0, 1, "u", 0, "v", 0, "cut", "encode")

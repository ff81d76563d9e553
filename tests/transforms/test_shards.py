"""A content shard's segments: what a run adds, when they are written as one, and that work done twice is done once."""

import pytest
from hand_mill import HandMill, fill
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import transforms.shards as shards
from transforms.live_units import live_ids


@pytest.fixture
def mill(tmp_path) -> HandMill:
    return HandMill(tmp_path, {"accept_deletes": True})


def shard(mill: HandMill):
    (only,) = mill.manifest().shards
    return only


def test_a_run_adds_one_segment_and_leaves_the_others(mill):
    fill(mill, range(10))
    mill.run()
    before = shard(mill)
    fill(mill, [10])
    mill.run()
    after = shard(mill)
    for kind in ("snapshots", "units", "vectors"):
        assert getattr(after, kind)[:1] == getattr(before, kind) and [e.n_rows for e in getattr(after, kind)] == [10, 1]
    assert (after.n_contents, after.n_units, after.n_dead_units) == (11, 11, 0)


def test_segments_become_one_when_too_much_of_them_is_dead(mill):
    fill(mill, range(10))
    mill.run()
    fill(mill, range(3), "edited")
    mill.run()
    assert ([e.n_rows for e in shard(mill).units], shard(mill).n_dead_units) == ([10, 3], 3)
    fill(mill, range(3, 6), "edited")
    mill.run()
    after = shard(mill)
    assert [[e.n_rows for e in getattr(after, kind)] for kind in ("snapshots", "units", "vectors")] == [[10]] * 3
    assert after.n_dead_units == 0
    assert mill.run().outcome.version == mill.manifest().version


def test_segments_become_one_when_there_are_too_many(mill, monkeypatch):
    assert shards.MAX_SEGMENTS == 16
    monkeypatch.setattr(shards, "MAX_SEGMENTS", 4)
    counts = []
    fill(mill, range(100, 130))
    for n in range(6):
        fill(mill, [n])
        mill.run()
        counts.append(len(shard(mill).units))
    assert counts == [1, 2, 3, 4, 1, 2]


def test_a_segment_of_which_nothing_lives_is_let_go(mill):
    fill(mill, range(4))
    mill.run()
    fill(mill, range(10, 12))
    mill.run()
    for n in range(10, 12):
        mill.remove(f"{n}.txt")
    mill.run()
    assert [e.n_rows for e in shard(mill).units] == [4] and shard(mill).n_dead_units == 0


def test_work_done_twice_in_any_order_gives_the_same_files(tmp_path):
    manifests = []
    for seed in (None, 1, 2):
        mill = HandMill(tmp_path / str(seed), {"input": [f"{tmp_path}/corpus/"]}, seed)
        mill.__class__ = OneCorpus
        if seed is None:
            fill(mill, range(12))
            for n in range(12):
                mill.write(f"twin{n}.txt", f"word {n} " * 5)
        mill.run()
        manifests.append(mill.manifest())
    assert manifests[0].shards == manifests[1].shards == manifests[2].shards
    files = [[(d.documents, d.files) for d in manifest.document_shards] for manifest in manifests]
    assert files[0] == files[1] == files[2]


class OneCorpus(HandMill):
    """Mills of several roots over one corpus."""

    @property
    def source(self):
        return self.base.parent / "corpus"


def test_an_empty_corpus_and_back(mill):
    fill(mill, range(3))
    mill.run()
    for n in range(3):
        mill.remove(f"{n}.txt")
    outcome = mill.run().outcome
    assert (outcome.documents["deleted"], outcome.documents["listed"], outcome.units["removed"]) == (3, 0, 3)
    empty = shard(mill)
    assert (empty.contents, empty.index, empty.n_units, empty.units) == (None, None, 0, ())
    assert not mill.run().outcome.published
    fill(mill, range(2))
    assert mill.run().outcome.units["total"] == 2
    mill.remove("0.txt")
    mill.remove("1.txt")
    mill.run()
    assert mill.run(window_tokens=30).outcome.units["total"] == 0  # a new recipe over nothing


def test_outgrown_shards_split_and_lose_nothing(mill):
    mill.settings["shard_chars"] = 10_000
    fill(mill, range(40))
    mill.run()
    before = mill.live_units()
    turn = mill.run(shard_chars=100)
    assert [s.name for s in mill.manifest().shards] == ["0000-07ff", "0800-0fff"]
    assert not turn.work and turn.outcome.units == {"total": 40, "encoded": 0, "reused": 0, "removed": 0}
    key = lambda unit: unit["unit_id"]  # noqa: E731
    assert sorted(mill.live_units(), key=key) == sorted(before, key=key)
    assert sum(s.n_dead_units for s in mill.manifest().shards) == 0
    fill(mill, [0], "edited")
    mill.run(shard_chars=100)
    assert len(mill.manifest().shards) == 4
    mill.run(shard_chars=10_000)
    ids = [live_ids(mill.context()[0], s) for s in mill.manifest().shards]
    assert sum(map(len, ids)) == 40


def test_outgrown_document_shards_split_and_lose_nothing(mill, monkeypatch):
    import transforms.splitting as splitting

    fill(mill, range(30))
    mill.write_rows("t.parquet", [(f"r{n}", f"row {n}") for n in range(20)])
    mill.run()
    before = mill.documents()
    monkeypatch.setattr(splitting, "SPLIT_DOCUMENTS", 20)
    turn = mill.run()
    assert turn.outcome.documents["unchanged"] == 50 and not turn.work
    assert len(mill.manifest().document_shards) == 4 and mill.documents() == before
    mill.remove("0.txt")
    mill.write_rows("t.parquet", [(f"r{n}", f"row {n}") for n in range(19)])
    outcome = mill.run().outcome
    assert (outcome.documents["deleted"], outcome.documents["unchanged"]) == (2, 48)
    monkeypatch.undo()
    assert mill.run().outcome.version == mill.manifest().version


edits = st.lists(
    st.dictionaries(st.integers(0, 5), st.sampled_from(["", "one", "two two"]), min_size=1), min_size=2, max_size=5
)


@given(edits)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
def test_an_index_kept_up_to_date_has_the_bytes_of_a_fresh_one(tmp_path_factory, steps):
    mill = OneCorpus(tmp_path_factory.mktemp("life") / "kept", {"accept_deletes": True, "shard_chars": 10**9})
    state: dict[int, str] = {}
    mill.write("always.txt", "always here")
    for step in steps:
        state |= step
        for n, word in step.items():
            if word:
                mill.write(f"{n}.txt", f"{word} about {n % 3} " * 9)
            else:
                (mill.source / f"{n}.txt").unlink(missing_ok=True)
        mill.run()
    fresh = OneCorpus(mill.base.parent / "fresh", mill.settings)
    fresh.run()
    assert shard(mill).index == shard(fresh).index
    assert sorted(u["unit_id"] for u in mill.live_units()) == sorted(u["unit_id"] for u in fresh.live_units())

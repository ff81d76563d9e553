"""Which shards are filled, from which training, and that an update has the bytes of a fresh fill."""

import dataclasses

import msgspec
import numpy as np
import pytest
from hand_mill import HandMill

import transforms.filling as filling
from models.errors import DamagedFileError
from transforms.filling import fill_shard, merged_shards, plan_fills, sample_rows
from transforms.indexing.drift import Drift
from transforms.records import FillItem, ShardWritten

IVF = {"index": "ivfpq", "pq_bytes": 8, "min_recall_at_10": 0.0, "accept_recipe_change": True}


def words(name: str, n: int = 30) -> str:
    return " ".join(f"{name}{m * 7919 % 101}w{m}" for m in range(n))


@pytest.fixture
def mill(tmp_path) -> HandMill:
    mill = HandMill(tmp_path, {"accept_deletes": True, "shard_chars": 60_000})
    for n in range(400):
        mill.write(f"{n}.txt", words(f"d{n}x"))
    return mill


def kinds(mill: HandMill) -> set[tuple[str, bool]]:
    return {(shard.index_kind, bool(shard.training)) for shard in mill.manifest().shards}


def test_update_of_an_ivf_shard_has_the_bytes_of_a_fresh_fill(mill):
    mill.settings |= IVF
    mill.run()
    assert len(mill.manifest().shards) == 4 and kinds(mill) == {("ivfpq", True)}
    training = mill.manifest().training
    for n in range(40):
        mill.write(f"{n}.txt", words(f"e{n}x"))
    mill.remove("300.txt")
    turn = mill.run()
    assert mill.manifest().training == training
    assert turn.outcome.units["encoded"] == 40
    context, _, _ = mill.context()
    for index, shard in enumerate(mill.manifest().shards):
        assert fill_shard(context, FillItem(index, shard, True, training)).shard == shard


def test_a_switch_to_ivf_fills_shards_that_nobody_touched(mill):
    mill.run()
    assert kinds(mill) == {("flat", False)}
    before = mill.manifest()
    turn = mill.run(**IVF)
    assert kinds(mill) == {("ivfpq", True)} and not turn.items
    assert [s.vectors for s in mill.manifest().shards] == [s.vectors for s in before.shards]
    mill.write("0.txt", words("other"))
    assert len(mill.run(**IVF).filled) in (1, 2)  # the shards of the old and of the new text
    mill.run(accept_recipe_change=True)
    assert kinds(mill) == {("flat", False)} and mill.manifest().training is None


def test_drift_retrains_and_fills_everything_again(mill, monkeypatch):
    mill.settings |= IVF
    mill.run()
    stored = mill.manifest().training
    mill.write("0.txt", words("other"))
    monkeypatch.setattr(filling, "judge", lambda *args, **kwargs: Drift("retrain", 2.0, "told to"))
    turn = mill.run()
    assert len(turn.filled) == 4 and mill.manifest().training != stored
    assert {shard.training for shard in mill.manifest().shards} == {mill.manifest().training.id}


def test_errors_of_new_vectors_are_judged_against_those_at_training(mill, monkeypatch):
    mill.settings |= IVF
    mill.run()
    stored, asked = mill.manifest().training, []

    def judge(new, holdout, **sizes):
        asked.append((new.n_vectors, holdout.residual, sizes))
        return Drift("keep", 1.0, "")

    monkeypatch.setattr(filling, "judge", judge)
    for n in range(5):
        mill.write(f"{n}.txt", words(f"new{n}"))
    mill.run()
    sizes = {"n_total": 400, "n_total_at_training": 400}
    assert asked == [(5, stored.residual_error, sizes)]
    assert mill.manifest().gates.drift == 1.0


def test_shards_without_units_need_no_index(tmp_path):
    mill = HandMill(tmp_path, {"shard_chars": 3000, "accept_recipe_change": True})
    mill.write("a.txt", "only one text " * 500)
    mill.run()
    shards = mill.manifest().shards
    assert len(shards) > 1 and sum(shard.index is not None for shard in shards) == 1
    assert len(mill.run(min_ivf_units=7).filled) == len(shards)  # a new recipe looks at all of them
    context, _, _ = mill.context(min_ivf_units=7)
    assert not list(plan_fills(context, []))


def test_the_sample_of_all_shards_does_not_depend_on_how_they_are_divided(mill):
    mill.run()
    context, _, _ = mill.context()
    shards = mill.manifest().shards
    ids, vectors = sample_rows(context, shards, 50)
    again, same = sample_rows(context, shards[::-1], 50)
    assert np.array_equal(ids, again) and np.array_equal(vectors, same) and len(ids) == 50
    assert len(sample_rows(context, shards, 10**6)[0]) == 400


def test_written_shards_take_the_places_of_the_old(mill):
    mill.run()
    context, _, _ = mill.context()
    new = msgspec.structs.replace(context.shards[2], n_units=7)
    assert [s.n_units for s in merged_shards(context, [ShardWritten(2, new, {})])][2] == 7


def test_a_new_file_that_is_damaged_is_never_published(mill):
    mill.run()
    context, _, _ = mill.context()
    shard = context.shards[0]
    empty = msgspec.structs.replace(shard, units=(), snapshots=(), vectors=())
    context = dataclasses.replace(context, shards=(empty, *context.shards[1:]))
    path = mill.base / "index" / shard.units[0].path
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedFileError, match=shard.units[0].path):
        fill_shard(context, FillItem(0, shard, True))

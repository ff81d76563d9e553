"""The last node: gates, the swap, and that publishing twice is publishing once."""

import dataclasses

import msgspec
import pytest
from hand_mill import HandMill

import transforms.gates as gates
import transforms.publishing as publishing
from transforms.indexing.recall import Recall
from transforms.outcome import read_outcome
from transforms.publishing import publish
from transforms.records import DocumentShardWritten, ShardWritten, TouchShard
from transforms.store.pointer import read_pointer


@pytest.fixture
def mill(tmp_path) -> HandMill:
    mill = HandMill(tmp_path)
    for n in range(20):
        mill.write(f"{n}.txt", f"text number {n} is here")
    return mill


def records_of(mill: HandMill, monkeypatch):
    """The records of a whole run that has not published yet, and its context."""
    import hand_mill

    kept = {}

    def keep(context, records, verdict):
        kept.update(context=context, records=list(records), verdict=verdict)
        return publishing.Outcome()

    with monkeypatch.context() as patch:
        patch.setattr(hand_mill, "publish", keep)
        mill.run()
    return kept["context"], kept["records"]


def test_done_twice_is_done_once(mill, monkeypatch):
    context, records = records_of(mill, monkeypatch)
    first = publish(context, records, "")
    pointer, files = read_pointer(mill.store), mill.store.list("")
    second = publish(context, records[::-1], "")
    assert first == second and first.published
    assert read_pointer(mill.store) == pointer
    assert [f.path for f in mill.store.list("")] == [f.path for f in files]
    assert read_outcome(context) == second


def test_of_two_runs_from_one_version_one_wins_and_the_other_says_so(mill, monkeypatch):
    mill.run()
    mill.write("0.txt", "edited")
    context, records = records_of(mill, monkeypatch)
    mill.run()
    current = read_pointer(mill.store)
    outcome = publish(dataclasses.replace(context, run="another"), records, "")
    assert outcome.is_conflict and not outcome.published and "\n" not in outcome.refused
    assert read_pointer(mill.store) == current
    assert len({f.path.split("/")[1] for f in mill.store.list("versions")}) == 2  # the loser's is gone


def test_recall_below_its_floor_publishes_nothing(mill, monkeypatch):
    mill.run()
    before = mill.manifest()
    assert before.gates.recall_at_10 == 1.0 and before.gates.n_queries == 20
    monkeypatch.setattr(gates, "measure_recall", lambda answers: Recall(0.5, 20))
    mill.write("0.txt", "edited")
    outcome = mill.run().outcome
    assert "recall@10 is 0.500, below min_recall_at_10 = 0.9" in outcome.refused
    assert mill.manifest() == before


def test_recall_is_asked_half_of_new_vectors(mill):
    mill.run(recall_queries=0)
    assert mill.manifest().gates.recall_at_10 is None
    mill.write("0.txt", "edited")
    mill.run(recall_queries=4)
    gates = mill.manifest().gates
    assert (gates.recall_at_10, gates.n_queries, gates.shards) == (1.0, 4, ("0000-0fff",))


def test_a_refused_run_says_why_and_leaves_the_version(mill, monkeypatch):
    context, records = records_of(mill, monkeypatch)
    outcome = publish(context, [], "because")
    assert (outcome.refused, outcome.published, read_pointer(mill.store)) == ("because", False, None)
    assert publish(context, records, "").published


def test_documents_that_do_not_add_up_publish_nothing(mill, monkeypatch):
    context, records = records_of(mill, monkeypatch)

    def lose(record):
        if not isinstance(record, DocumentShardWritten):
            return record
        return msgspec.structs.replace(record, outcomes=record.outcomes | {"indexed": 19})

    outcome = publish(context, [lose(record) for record in records], "")
    assert outcome.refused.startswith("documents do not add up") and read_pointer(mill.store) is None


def test_a_missing_file_publishes_nothing(mill, monkeypatch):
    context, records = records_of(mill, monkeypatch)
    (written,) = [record for record in records if isinstance(record, ShardWritten)]
    mill.store.delete([written.shard.units[0].path])
    with pytest.raises(Exception, match="units/"):
        publish(context, records, "")
    assert read_pointer(mill.store) is None


def test_records_without_a_place_in_a_version_are_refused(mill):
    context, _, _ = mill.context()
    with pytest.raises(TypeError, match="TouchShard has no place"):
        publish(context, [TouchShard()], "")


def test_the_manifest_states_recipes_settings_and_sums(mill):
    turn = mill.run()
    manifest = mill.manifest()
    assert manifest.recipes.keys() == {"extract", "cut", "encode", "index"}
    assert manifest.encoder["settings"]["encoder"] == "hashing"
    assert manifest.documents == turn.outcome.documents and manifest.units["total"] == 20
    assert manifest.tokens["encoded"] == sum(
        row["n_tokens"] for row in mill.table(manifest.ledger) if row["stage"] == "encode"
    )
    assert manifest.base is None and manifest.version.startswith("000001-")
    mill.write("0.txt", "edited")
    mill.run()
    assert mill.manifest().base == manifest.version and mill.manifest().version.startswith("000002-")

"""Encoding through Beam's RunInference, with a sound encoder and with faulty ones."""

import apache_beam as beam
import numpy as np
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from hand_mill import CUT_ME_NOT, HandMill

import transforms.embedding as embedding
from models.errors import CorpusmillError
from models.fakes import CountingEncoder, HashingEncoder, NanEncoder, SmallMemoryEncoder
from models.tokenizer import load_tokenizer
from transforms.attempts import attempted_tokens
from transforms.context import RunContext
from transforms.cutting import encode_items
from transforms.embedding import EncodedItem, EncoderHandler
from transforms.former_vectors import vectors_of
from transforms.inference import RunInference
from transforms.records import EncodeItem, Record
from transforms.scratch import write_rows
from transforms.store.segments import read_ipc


@pytest.fixture
def mill(tmp_path) -> HandMill:
    mill = HandMill(tmp_path, {"max_failures": "100%", "hashing_dimension": 16})
    mill.write("a.txt", "some text")
    return mill


def units(context: RunContext, texts: list[str], shard: int = 0, max_tokens: int = 10**6) -> list[EncodeItem]:
    """A scratch file with one unit for each text, and its encode items."""
    import hashlib

    import pyarrow as pa

    from transforms.cutting import WORK_UNITS

    rows = [
        {
            "unit_id": f"{n:032x}", "vector_id": n + 1, "content_id": f"c{n // 2}", "level": "chunk", "ordinal": n % 2,
            "start": 0, "end": len(text), "text": text, "context": "", "heading_path": [], "parent_id": None,
            "n_tokens": len(text.split()), "recipe": "r", "embed_hash": hashlib.sha256(text.encode()).hexdigest()[:32],
            "shard": shard, "seconds": 0.0, "needs_vector": True, "n_of": 2,
        }
        for n, text in enumerate(texts)
    ]  # fmt: skip
    path = f"{context.scratch('units')}/u{shard}.arrow"
    write_rows(context.store, path, pa.Table.from_pylist(rows, WORK_UNITS))
    return list(encode_items(path, rows, max_tokens, load_tokenizer(context.encoder).overhead_tokens))


def infer(context: RunContext, items: list[EncodeItem]) -> list[EncodedItem]:
    """What the handler makes of the items, in a pipeline of the default runner."""
    found: list[EncodedItem] = []
    with beam.Pipeline(options=PipelineOptions(["--runner=FnApiRunner"])) as pipeline:
        encoded = (
            pipeline
            | beam.Create(items, reshuffle=False).with_output_types(Record)
            | RunInference(EncoderHandler(context))
        )
        encoded | beam.Map(keep, context.scratch("out"), context)
    import msgspec

    for file in context.store.list(context.scratch("out")):
        found.append(msgspec.msgpack.decode(context.store.read_named(file.path), type=EncodedItem))
    return found


def keep(item: EncodedItem, folder: str, context: RunContext) -> None:
    import msgspec

    name = item.places[0][1].path.rsplit("/", 1)[1]
    context.store.write_named(f"{folder}/{name}", msgspec.msgpack.encode(item))


def vectors(context: RunContext, encoded: list[EncodedItem]) -> dict[int, np.ndarray]:
    made = {}
    for path in {place.path for item in encoded for _, place in item.places}:
        table = read_ipc(context.store.read_named(path))
        made |= dict(zip(table.column("vector_id").to_pylist(), vectors_of(table.column("vector")), strict=True))
    return made


def use(monkeypatch, encoder) -> None:
    monkeypatch.setattr(embedding, "load_encoder", lambda settings: encoder)


def test_each_distinct_text_is_encoded_once_and_every_unit_has_its_vector(mill, monkeypatch):
    context, _, _ = mill.context()
    counting = CountingEncoder(HashingEncoder(16))
    use(monkeypatch, counting)
    texts = ["one text", "two texts", "one text", "three texts"]
    encoded = infer(context, units(context, texts))
    assert counting.calls == [["one text", "two texts", "three texts"]]
    made, direct = vectors(context, encoded), HashingEncoder(16).encode(texts).vectors
    assert all(np.array_equal(made[n + 1], direct[n]) for n in range(4))
    (table,) = [read_ipc(context.store.read_named(place.path)) for item in encoded for _, place in item.places]
    assert table.column("n_tokens").to_pylist() == [2, 2, 0, 2]  # who is encoded first pays


def test_one_call_an_item_and_a_mark_before_each(mill, monkeypatch):
    context, _, _ = mill.context()
    counting = CountingEncoder(HashingEncoder(16))
    use(monkeypatch, counting)
    items = units(context, [f"text number {n} here" for n in range(9)], max_tokens=8)
    assert len(items) == 5 and len(infer(context, items)) == 5
    assert sorted(map(len, counting.calls)) == [1, 2, 2, 2, 2]
    marks = [file.path for file in context.store.list(context.scratch("attempts"))]
    assert sorted(attempted_tokens(marks)) == [4, 8, 8, 8, 8]


def test_nan_costs_the_unit_and_nothing_else(mill, monkeypatch):
    context, _, _ = mill.context()
    use(monkeypatch, NanEncoder(16))
    (item,) = infer(context, units(context, ["good text", f"bad {NanEncoder.mark}", "another good one", "..."]))
    assert set(vectors(context, [item])) == {1, 3, 4}
    (failure,) = item.failures
    assert (failure.stage, failure.reason, failure.content_id) == ("encode", "not_finite", "c0")
    assert (failure.vector_id, failure.n_of) == (2, 2)


def test_out_of_memory_halves_and_what_never_fits_is_a_dead_letter(mill, monkeypatch):
    context, _, _ = mill.context()
    use(monkeypatch, SmallMemoryEncoder(16))
    texts = [f"text {n}" for n in range(10)] + [f"huge {SmallMemoryEncoder.mark}"]
    (item,) = infer(context, units(context, texts))
    assert len(vectors(context, [item])) == 10
    assert [failure.reason for failure in item.failures] == ["out_of_memory"]
    assert {note.outcome for note in item.notes} == {"out_of_memory_splits"}


def test_an_encoder_that_raises_fails_the_run(mill, monkeypatch):
    context, _, _ = mill.context()

    class Raising(HashingEncoder):
        def encode(self, texts):
            raise CorpusmillError("the device fell off the bus")

    use(monkeypatch, Raising(16))
    with pytest.raises(Exception, match="the device fell off the bus"):
        infer(context, units(context, ["text"]))


def test_over_limit_inputs_are_counted(mill, monkeypatch):
    context, _, _ = mill.context()
    use(monkeypatch, HashingEncoder(16))
    (item,) = infer(context, units(context, ["word " * 300, "short"]))
    assert [(note.outcome, note.count) for note in item.notes] == [("over_limit_inputs", 1)]


class TestInARun:
    @pytest.fixture
    def mill(self, tmp_path) -> HandMill:
        return HandMill(tmp_path, {"max_failures": "100%", "window_tokens": 10}, encoder=NanEncoder)

    def test_a_bad_unit_does_not_cost_its_document(self, mill):
        mill.write("a.txt", "good words. " * 20 + NanEncoder.mark + " more words. " * 20)
        turn = mill.run()
        assert (turn.outcome.documents["indexed"], turn.outcome.documents["failed"]) == (1, 0)
        assert turn.outcome.outcomes["unit_failed:encode:not_finite"] == 1
        units = mill.live_units()
        assert len(units) > 3 and not [unit for unit in units if NanEncoder.mark in unit["text"]]
        (row,) = mill.failures()
        assert (row["uri"], row["stage"], row["stale"]) == ("", "encode", False)
        assert not mill.run().outcome.published  # one bad unit is no reason for a run

    def test_a_document_without_a_good_unit_fails(self, mill):
        mill.write("a.txt", NanEncoder.mark)
        mill.write("b.txt", "fine")
        turn = mill.run()
        assert (turn.outcome.documents["indexed"], turn.outcome.documents["failed"]) == (1, 1)
        assert [(row["stage"], row["uri"][-5:]) for row in mill.failures()] == [("encode", "a.txt")]

    def test_a_unit_that_gets_lost_stops_the_run(self, mill, monkeypatch):
        import hand_mill

        mill.write("a.txt", "text")
        real = hand_mill.encode_item
        empty = EncodedItem((), (), ())
        monkeypatch.setattr(hand_mill, "encode_item", lambda *args: (real(*args), empty)[1])
        assert "units do not add up: 1 units have no vector" in mill.run().outcome.refused

    def test_cut_and_encode_failures_of_one_run(self, mill):
        mill.write("a.txt", CUT_ME_NOT)
        mill.write("b.txt", NanEncoder.mark)
        mill.write("c.txt", "fine")
        outcomes = mill.run().outcome.outcomes
        assert (outcomes["failed:cut:cutter_error"], outcomes["failed:encode:not_finite"]) == (1, 1)

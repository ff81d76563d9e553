"""What crosses a shuffle is small and plain, whatever the documents are like: limits of Flink, kept on every runner."""

import base64
import dataclasses
import json
import random
from types import ModuleType

import numpy as np
import pytest
from apache_beam.portability import common_urns
from apache_beam.runners.pipeline_context import PipelineContext
from mill import Mill

from models.fakes import HashingEncoder
from pipelines.graph import build
from transforms.record_coder import RecordCoder
from transforms.stages import joining, writing

MAX_RECORD_BYTES = 256 * 1024
MAX_GROUP_BYTES = 8 * 1024 * 1024


def plant_nasty_corpus(mill: Mill) -> None:
    """A document of 20 MB, 3,000 tiny ones with uris of 700 letters, and a table of 5,000 rows with long ids.

    One more row has an id of a megabyte.
    """
    words = "extraordinarily " * 100
    mill.write("book.txt", "\n\n".join(f"{number} {words}" for number in range(20_000_000 // len(words) + 1)))
    for number in range(3_000):
        mill.write(f"{'deep and long/' * 35}{'name' * 50}{number}.txt", f"text {number % 700}")
    rows = ({"id": f"{'key' * 60}{n}", "text": f"row {n % 800}", "tag": "x" * 500} for n in range(5_000))
    mill.write("rows.jsonl", "\n".join(json.dumps(row) for row in rows))
    mill.write("odd.jsonl", json.dumps({"id": random.Random(7).randbytes(500_000).hex(), "text": "an endless id"}))


@pytest.fixture
def sizes(monkeypatch):
    """Bytes of every record that was encoded for a shuffle, and of all records that came out together under one key."""
    records: list[int] = []
    groups: list[int] = []
    encode = RecordCoder.encode

    def spy(stages: ModuleType, name: str, position: int) -> None:
        real = getattr(stages, name)

        def call(*args):
            groups.append(sum(len(encode(RecordCoder(), record)) for record in args[position]))
            return real(*args)

        monkeypatch.setattr(stages, name, call)

    for stages in (joining, writing):
        spy(stages, "all_records", 1)
    spy(joining, "plan_shard", 2)
    spy(writing, "write_shard", 2)
    spy(writing, "plan_fills", 1)
    monkeypatch.setattr(RecordCoder, "encode", lambda self, value: records.append(len(e := encode(self, value))) or e)
    return records, groups


def test_records_and_groups_stay_small(mill, sizes):
    plant_nasty_corpus(mill)
    mill.settings = {"window_tokens": 180, "hashing_dimension": 64, "recall_queries": 20, "max_failures": "20%"}
    report = mill.run()
    assert (report.documents["listed"], report.outcomes["failed:read:id_too_long"]) == (8_002, 1)
    records, groups = sizes
    assert max(records) <= MAX_RECORD_BYTES
    assert len(groups) >= 4 and max(groups) <= MAX_GROUP_BYTES


def test_what_is_said_of_many_tiny_rows_stays_small(mill, sizes, monkeypatch):
    """All rows of a table may go to one key, and be dead letters of one run; few bytes each, they do not add up."""
    real = HashingEncoder.encode

    def broken(self, texts):
        return dataclasses.replace(real(self, texts), valid=np.arange(len(texts)) % 2 == 0)

    monkeypatch.setattr(HashingEncoder, "encode", broken)
    mill.write("rows.jsonl", "\n".join(f'{{"id":{number},"text":"w{number}"}}' for number in range(4_000)))
    report = mill.run(recall_queries=0, max_failures="60%", work_item_tokens=2048)
    assert report.documents["listed"] == 4_000 and report.documents["failed"] > 1_000
    records, groups = sizes
    assert max(records) <= MAX_RECORD_BYTES and max(groups) < 2 * 4_000  # bytes a row
    assert len(mill.rows("failures")) == report.documents["failed"]


def test_groups_stay_small_with_as_much_metadata_as_documents_may_have(mill, sizes):
    noise = random.Random(7)
    titles = [base64.b64encode(noise.randbytes(12_000)).decode() for _ in range(800)]
    for number, title in enumerate(titles):
        mill.write(f"{number:03d}.html", f"<title>{title}</title><p>The same text, so that there is little to do.</p>")
    mill.run(recall_queries=0)
    records, groups = sizes
    assert max(records) <= MAX_RECORD_BYTES and max(groups) <= MAX_GROUP_BYTES
    rows = sorted(mill.rows("documents"), key=lambda row: row["uri"])
    assert [json.loads(row["metadata"])["title"] for row in rows] == titles


def test_every_shuffled_element_has_the_plain_coder(turned, monkeypatch):
    built = []
    monkeypatch.setattr(
        "pipelines.graph.build", lambda pipeline, *rest: built.append(pipeline) or build(pipeline, *rest)
    )
    turned.write("new.md", "something new")
    turned.run()
    components = built[0].to_runner_api().components
    coders = PipelineContext(components).coders
    shuffles = [t for t in components.transforms.values() if t.spec.urn == common_urns.primitives.GROUP_BY_KEY.urn]
    assert len(shuffles) >= 8
    for transform in shuffles:
        (name,) = transform.inputs.values()
        coder = str(coders.get_by_id(components.pcollections[name].coder_id))
        assert "RecordCoder" in coder and "Pickle" not in coder, f"{transform.unique_name}: {coder}"

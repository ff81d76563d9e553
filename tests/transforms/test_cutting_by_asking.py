"""Work items through RunInference: one result each, one bad prompt among 32, and an end that is said."""

import pickle
from collections import Counter

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that
from hand_mill import HandMill

from models.fake_llm import FakeEndpoint, refused
from transforms.answers import run_bill
from transforms.changes import compare
from transforms.contents import plan_shard, write_content_changes
from transforms.cutting_by_asking import LlmHandler
from transforms.documents import resolve
from transforms.inference import RunInference
from transforms.reading import read_item
from transforms.records import Note, ReadItem, Record, WorkItem

N_DOCUMENTS = 32


@pytest.fixture
def endpoint():
    with FakeEndpoint(lambda prompt: refused(400) if "number 17." in prompt.text else '{"cut_after": [1]}') as fake:
        yield fake


@pytest.fixture
def planned(tmp_path, endpoint):
    """A run's context and its work, four items of which nothing is cut yet."""
    asking = {"llm_url": endpoint.url, "llm_revision": "1", "llm_attempts": "2", "llm_outage_seconds": "0.5"}
    mill = HandMill(tmp_path, {"chunker": "llm", **asking})
    for number in range(N_DOCUMENTS):
        sentence = f"The cats of house number {number} sleep in the sun. "
        mill.write(f"{number}.txt", sentence * 5 + f"This is number {number}.")
    context, _, listing = mill.context()
    read = list(read_item(context, ReadItem(compare(listing, {}).read)))
    changes = write_content_changes(context, 0, resolve({}, read).changes)
    entries, _ = plan_shard(context, 0, [place for _, place in changes])
    return context, [WorkItem(tuple(entries[first : first + 8])) for first in range(0, N_DOCUMENTS, 8)]


def infer(context, items, check=lambda found: None):
    """Runs `items` through the handler in a pipeline, in whose process `check` gets the result of each."""
    options = PipelineOptions(["--no_save_main_session"])
    pipeline = beam.Pipeline(runner="FnApiRunner", options=options)
    made = pipeline | beam.Create(items, reshuffle=False).with_output_types(Record) | RunInference(LlmHandler(context))
    assert_that(made, check)
    result = pipeline.run()
    result.wait_until_finish()
    return {
        counter.key.metric.name: counter.committed
        for counter in result.metrics().query()["counters"]
        if counter.key.metric.namespace == "corpusmill_llm"
    }


def check_one_fallback(found):
    assert len(found) == 4
    notes: Counter[str] = Counter()
    for result in found:
        notes.update({note.outcome: note.count for note in result if isinstance(note, Note)})
    assert notes["chunker:llm"] == N_DOCUMENTS
    assert notes["boundary_fallbacks.refused"] == notes["boundary_fallbacks"] == 1


def test_one_bad_prompt_of_32_is_one_fallback_and_a_replay_asks_for_nothing_else(planned, endpoint):
    context, items = planned
    counters = infer(context, items, check_one_fallback)
    assert counters["num_inferences"] == 4 and not counters.get("failed_batches_counter")
    assert endpoint.n_distinct == endpoint.n_requests == N_DOCUMENTS
    infer(context, items, check_one_fallback)
    assert endpoint.n_requests == N_DOCUMENTS + 1  # a refusal is no answer, so it is not stored
    assert run_bill(context.store, context.run).column("n_answers").to_pylist() == [1] * (N_DOCUMENTS - 1)


def test_a_handler_travels_and_loads_nothing_on_its_way(planned, endpoint):
    context, items = planned
    handler = pickle.loads(pickle.dumps(LlmHandler(context)))
    assert handler.batch_elements_kwargs() == {"min_batch_size": 1, "max_batch_size": 1}
    model = handler.load_model()
    assert not endpoint.n_requests
    (result,) = handler.run_inference(items[:1], model)
    assert result and endpoint.n_requests == len(items[0].entries)


def test_a_dead_endpoint_ends_the_run_and_says_so(planned, endpoint):
    context, items = planned
    endpoint.stop()
    with pytest.raises(Exception, match=r"did not answer|does not answer"):
        infer(context, items)

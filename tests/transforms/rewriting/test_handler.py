"""Through RunInference every request has a prediction; one bad of 32 is one failure, and a replay asks for nothing."""

import apache_beam as beam
from apache_beam.ml.inference.base import RunInference
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that, equal_to
from asking import ask_for

from models.fake_llm import FakeEndpoint
from models.llm.settings import LlmBudgetSettings, LlmSettings
from transforms.answers import run_bill
from transforms.rewriting.handler import AnswerPlace, LlmHandler
from transforms.store.files import Store


def outcome(prediction):
    result = prediction.inference
    return prediction.example.owner, getattr(result, "text", None) or result.reason


def run(handler, requests):
    def pipeline():
        options = PipelineOptions(["--no_save_main_session"])
        return beam.Pipeline(runner="FnApiRunner", options=options)

    with pipeline() as p:
        found = p | beam.Create(requests, reshuffle=False) | RunInference(handler) | beam.Map(outcome)
        expected = [(request.owner, "over_context" if request.owner == "d17" else "YES") for request in requests]
        assert_that(found, equal_to(expected))


def test_one_bad_of_32_and_a_replay_that_asks_for_nothing(tmp_path):
    place = AnswerPlace(str(tmp_path), "run1", "m")
    requests = [ask_for("word " * (400 if n == 17 else 5) + str(n), owner=f"d{n}", stage="s") for n in range(32)]
    with FakeEndpoint("YES", context_tokens=300) as fake:
        settings = LlmSettings(llm_url=fake.url, llm_revision="1")
        prices = LlmBudgetSettings(usd_per_million_prompt_tokens=1.0)
        for _ in range(2):
            run(LlmHandler(settings, budget=prices, place=place, max_batch_size=8), requests)
        assert fake.n_requests == 31 == fake.n_distinct
    assert run_bill(Store(str(tmp_path)), "run1").column("n_answers").to_pylist() == [1] * 31


def test_without_a_place_answers_are_not_kept():
    with FakeEndpoint("YES") as fake:
        run(LlmHandler(LlmSettings(llm_url=fake.url, llm_revision="1")), [ask_for("a", owner="a")])
        assert fake.n_requests == 1

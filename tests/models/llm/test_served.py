"""Answers are of the model that a run began with, or they are no answers."""

import asyncio
import json

import pytest
from asking import ask_for, client_of

from models.errors import RefusedError
from models.fake_llm import FakeEndpoint, Reply
from models.llm.connections import Fetched
from models.llm.records import Answer
from models.llm.served import Served, State, is_form_of, listed_state
from models.llm.service import LlmService, llm_identity
from models.llm.settings import LlmServerSettings, LlmSettings
from models.llm.wire import Endpoint

ENDPOINT = Endpoint("http://h/v1", "m", "meta/m", 4096)


def listing(*models):
    return json.dumps({"data": list(models)}).encode()


@pytest.mark.parametrize(
    ("status", "data", "state"),
    [
        (200, listing({"id": "m", "root": "meta/m"}), State.SAME),
        (200, listing({"id": "other"}, {"id": "m", "root": "meta/m"}), State.SAME),
        (200, listing({"id": "m", "root": "meta/n"}), State.OTHER),
        (200, listing({"id": "m"}), State.OTHER),
        (200, listing({"id": "n", "root": "meta/m"}), State.OTHER),
        (200, listing(), State.SILENT),
        (200, b"<html>", State.SAME),
        (200, b'{"data": [1, null, {}]}', State.OTHER),
        (429, b"", State.SAME),
        (503, b"", State.SILENT),
    ],
)
def test_what_a_listing_says_of_the_model(status, data, state):
    assert listed_state(ENDPOINT, status, data)[0] is state


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("m", "m"), ("M", "m"), ("gpt-4o-2024-08-06", "gpt-4o"), ("gpt-4-0613", "gpt-4"), ("llama3:latest", "llama3"),
        ("llama3", "llama3:latest"), ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet-latest"),
        ("mistral-large-2411", "mistral-large-latest"), ("gpt-4o", "openai/gpt-4o"), ("models/gemini-002", "gemini"),
        ("openai/gpt-4o-2024-08-06", "gpt-4o"), ("gemini-2.5-pro-preview-05-06", "gemini-2.5-pro"),
    ],
)  # fmt: skip
def test_one_model_goes_by_several_names(name, asked):
    assert is_form_of(name, asked)


@pytest.mark.parametrize(
    ("name", "asked"), [("gpt-4o-mini", "gpt-4o"), ("gpt-4", "gpt-4o"), ("m2", "m"), ("qwen-7b", "qwen"), ("", "m")]
)
def test_others_do_not(name, asked):
    assert not is_form_of(name, asked)


@pytest.mark.parametrize(
    ("names", "changed_at"),
    [
        (["m", "m", ""], None),
        (["gpt-3.5-turbo", "gpt-3.5-turbo"], None),  # a server that says so whatever it runs
        (["m", "m-2024-08-06", "m-2024-11-20"], None),  # an alias that moves while a run goes on
        (["m", "n"], 1),
        (["deployment-1", "deployment-1", "deployment-2"], 2),
        (["", "n", "m", "n", "o"], 4),
    ],
)
def test_only_a_change_of_name_says_that_another_model_answers(names, changed_at):
    async def list_models():
        return Fetched(200, {}, listing({"id": "m", "root": "meta/m"}))

    async def go():
        served = Served(ENDPOINT, list_models)
        states = [await served.vouch(None, name) for name in names]
        assert [number for number, state in enumerate(states) if state is State.OTHER][:1] == (
            [] if changed_at is None else [changed_at]
        )

    asyncio.run(go())


def serving(names):
    """A script that is started again with another model at the request of that number."""

    def script(prompt):
        if prompt.number == 3:
            fake.stop()
            fake.model, fake.root = names
            fake.start()
            raise ConnectionError("started again")
        said.append(fake.root)
        return "of " + fake.root

    said = []
    fake = FakeEndpoint(script, model="m")
    return fake, said


@pytest.mark.parametrize("names", [("m", "n"), ("n", "n")])
@pytest.mark.parametrize("in_flight", [1, 4])
def test_what_a_server_says_that_came_back_with_another_model_is_no_answer(names, in_flight):
    fake, said = serving(names)
    with fake, client_of(fake, llm_requests_in_flight=in_flight) as client:
        results = client.ask([ask_for(f"{number}") for number in range(20)])
    answers = [result for result in results if isinstance(result, Answer)]
    assert {answer.text for answer in answers} <= {"of m"} and said.count("n") <= in_flight
    assert {result.reason for result in results if not isinstance(result, Answer)} == {"model_changed"}
    assert "n" in results[-1].detail


def test_one_that_came_back_as_it_was_goes_on():
    fake, _ = serving(("m", "m"))
    with fake, client_of(fake, llm_requests_in_flight=4) as client:
        assert {result.text for result in client.ask([ask_for(f"{number}") for number in range(20)])} == {"of m"}


def test_a_change_while_nothing_was_asked_is_seen_at_the_next_answer(serve):
    fake, client = serve("yes")
    assert client.ask([ask_for("?")])[0].text == "yes"
    fake.stop()
    fake.root = "another"
    fake.start()
    (failure,) = client.ask([ask_for("again?")])
    assert failure.reason == "model_changed" and failure.wasted.prompt_tokens > 0  # it was paid for


def test_a_change_that_closes_no_connection_is_seen_by_the_name(serve):
    fake, client = serve(lambda prompt: Reply("yes", model="m" if prompt.number < 5 else "n"), llm_requests_in_flight=1)
    results = client.ask([ask_for(f"{number}") for number in range(10)])
    assert [isinstance(result, Answer) for result in results] == [True] * 5 + [False] * 5
    assert fake.n_requests == 6 and "answers come from 'n'" in results[-1].detail


def test_a_connection_is_vouched_for_once(serve, monkeypatch):
    _, client = serve("yes", llm_requests_in_flight=4)
    looks = []
    listing_of = client._served._listing
    client._served._listing = lambda: looks.append(1) or listing_of()
    client.ask([ask_for(f"{number}") for number in range(100)])
    assert 1 <= len(looks) <= 4


def test_a_process_that_begins_later_finds_the_model_of_the_run(serve):
    with FakeEndpoint("yes") as fake:
        settings = LlmSettings(llm_url=fake.url, llm_revision="1")
        identity = llm_identity(settings, LlmServerSettings())
        with LlmService(settings, identity=identity) as service:
            assert service.ask([ask_for("?")])[0].text == "yes"
        fake.root = "another"
        with (
            LlmService(settings, identity=identity) as service,
            pytest.raises(RefusedError, match="is 'another' there"),
        ):
            service.ask([ask_for("?")])

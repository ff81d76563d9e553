"""What is tried again, how long, and when an endpoint is given up."""

import threading
import time
from contextlib import ExitStack

import pytest
from asking import FAULTS, HASTY, ask_for, client_of
from hypothesis import given, settings
from hypothesis import strategies as st

from models.fake_llm import FakeEndpoint, in_turn, refused
from models.llm.ending import ending_failure
from models.llm.patience import Pace
from models.llm.records import Answer, LlmFailure, Usage


@pytest.mark.parametrize("fault", FAULTS)
def test_an_attempt_that_fails_is_made_again(serve, fault):
    fake, client = serve(in_turn([fault, fault], then="yes"))
    (answer,) = client.ask([ask_for("?")])
    assert (answer.text, answer.n_attempts, fake.n_requests) == ("yes", 3, 3)


@given(st.lists(st.sampled_from(FAULTS), max_size=5), st.integers(0, 2))
@settings(max_examples=15)
def test_whatever_fails_no_request_is_lost_or_sent_too_often(faults, n_poisoned):
    def script(prompt):
        return refused(500) if "poison" in prompt.text else replies(prompt)

    replies = in_turn(faults, then="yes")
    asked = [ask_for(f"{'poison' if number < n_poisoned else 'fine'} {number}") for number in range(6)]
    with FakeEndpoint(script) as fake, client_of(fake) as client:
        results = client.ask(asked)
        assert [isinstance(result, Answer) for result in results] == [number >= n_poisoned for number in range(6)]
        assert fake.n_requests == 6 + len(faults) + 5 * n_poisoned
        assert max(result.n_attempts for result in results) <= 6


@pytest.mark.parametrize("status", [301, 400, 401, 402, 404, 407, 413, 418, 422])
def test_a_refusal_is_not_sent_again(serve, status):
    fake, client = serve(refused(status, "no such thing"))
    (failure,) = client.ask([ask_for("?")])
    reason = "refused" if status in (400, 413, 422) else "denied"  # of this request, or of every one
    assert (failure.reason, failure.n_attempts, fake.n_requests) == (reason, 1, 1)
    assert failure.detail == f"status {status}: no such thing"


def test_an_account_without_money_ends_the_run_as_a_dead_endpoint_does(serve):
    _, client = serve(refused(402, "no credit"), pace=HASTY._replace(failures_in_a_row=5), llm_requests_in_flight=1)
    reasons = [result.reason for result in client.ask([ask_for(f"{n}") for n in range(9)])]
    assert reasons == ["denied"] * 5 + ["endpoint_down"] * 4


def test_a_status_of_success_without_an_answer_is_tried_again(serve):
    _, client = serve(in_turn([refused(202), refused(206)], then="yes"))
    assert client.ask([ask_for("?")])[0].n_attempts == 3


def test_retry_after_is_waited_for(serve, monkeypatch):
    waits, now = [], [0.0]
    real = __import__("asyncio").sleep

    async def sleep(seconds):
        waits.append(seconds)
        now[0] += seconds
        await real(0)

    monkeypatch.setattr("models.llm.client.asyncio.sleep", sleep)
    _, client = serve(in_turn([refused(429, retry_after="7"), refused(429, retry_after="nonsense")], then="yes"))
    client._patience.throttle._clock = lambda: now[0]
    assert client.ask([ask_for("?")])[0].text == "yes"
    assert waits[0] == 7.0 and sum(waits) < 8


def test_an_endpoint_that_takes_two_at_a_time_answers_all_whoever_asks():
    under_way, lock = [0], threading.Lock()

    def script(prompt):
        with lock:
            under_way[0] += 1
            is_too_much = under_way[0] > 2
        time.sleep(0.002)
        with lock:
            under_way[0] -= 1
        return refused(429) if is_too_much else "yes"

    with FakeEndpoint(script) as fake, ExitStack() as stack:
        clients = [stack.enter_context(client_of(fake, llm_requests_in_flight=16)) for _ in range(3)]
        asked = [ask_for(f"{number}") for number in range(30)]
        results = [None] * 3
        threads = [
            threading.Thread(target=lambda at: results.__setitem__(at, clients[at].ask(asked)), args=(at,))
            for at in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [{type(result) for result in part} for part in results] == [{Answer}] * 3
        assert all(result.wasted == Usage() for part in results for result in part)


def test_an_endpoint_that_only_says_too_many_is_asked_no_oftener_than_any(serve):
    fake, client = serve(refused(429))
    assert client.ask([ask_for("?")])[0].n_attempts == fake.n_requests == 6


def test_an_endpoint_dead_from_the_start_ends_everything_early(serve):
    fake, client = serve("yes", llm_outage_seconds=0.1)
    fake.stop()
    results = client.ask([ask_for(f"{number}") for number in range(40)])
    assert {result.reason for result in results} == {"endpoint_down"} == {ending_failure(results).reason}
    assert client.is_down and fake.n_requests == 0


def test_an_endpoint_that_dies_half_way_leaves_what_was_answered(serve):
    def script(prompt):
        if prompt.number == 4:
            fake.stop()
        return "yes"

    fake, client = serve(script, llm_outage_seconds=0.1, llm_requests_in_flight=1)
    results = client.ask([ask_for(f"{number}") for number in range(10)])
    assert [type(result) for result in results] == [Answer] * 4 + [LlmFailure] * 6
    assert {result.reason for result in results[4:]} == {"endpoint_down"}


def test_an_endpoint_that_comes_back_in_time_loses_nothing(serve):
    fake, client = serve("yes", llm_outage_seconds=20.0)
    fake.stop()
    back = threading.Timer(0.2, fake.start)
    back.start()
    assert {result.text for result in client.ask([ask_for(f"{number}") for number in range(40)])} == {"yes"}
    back.join()
    assert not client.is_down


def test_a_client_recovers_from_an_endpoint_given_up(serve):
    fake, client = serve("yes", llm_outage_seconds=0.0)
    fake.stop()
    assert ending_failure(client.ask([ask_for("?")])).reason == "endpoint_down" and client.is_down
    fake.start()
    assert client.ask([ask_for("?")])[0].text == "yes" and not client.is_down


def test_an_endpoint_at_which_everything_fails_is_given_up(serve):
    fake, client = serve(refused(500), pace=HASTY._replace(failures_in_a_row=5), llm_requests_in_flight=1)
    results = client.ask([ask_for(f"{number}") for number in range(30)])
    assert [result.reason for result in results] == ["unavailable"] * 5 + ["endpoint_down"] * 25
    assert fake.n_requests == 30  # five requests, six attempts each


def test_requests_that_are_wrong_themselves_say_nothing_about_the_endpoint(serve):
    _, client = serve(in_turn(["yes"], then=refused(400)), pace=Pace(0.001, failures_in_a_row=5))
    assert client.ask([ask_for("?")])[0].text == "yes"
    assert {result.reason for result in client.ask([ask_for(f"{n}") for n in range(30)])} == {"refused"}


def test_an_endpoint_that_refuses_whatever_it_is_asked_is_given_up_with_its_reason(serve):
    pace = Pace(0.001, failures_in_a_row=5)
    fake, client = serve(refused(400, "unknown field seed"), pace=pace, llm_requests_in_flight=1)
    results = client.ask([ask_for(f"{n}") for n in range(30)])
    assert [result.reason for result in results] == ["refused"] * 5 + ["endpoint_down"] * 25
    assert "unknown field seed" in results[-1].detail and fake.n_requests == 5


def test_prompts_that_are_all_too_long_say_nothing_about_the_endpoint(serve):
    _, client = serve(refused(400, "maximum context length is 10"), pace=Pace(0.001, failures_in_a_row=5))
    assert {result.reason for result in client.ask([ask_for(f"{n}") for n in range(30)])} == {"over_context"}

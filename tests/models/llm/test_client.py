"""Every fault of an endpoint is the result of one request, counted, bounded, and paid for once."""

import json
import os
import signal
import threading
import time

import pytest
from asking import FAULTS, ask_for, client_of
from hypothesis import given, settings
from hypothesis import strategies as st

from models.fake_llm import FakeEndpoint, Reply, in_turn, refused
from models.llm.budget import Budget
from models.llm.client import COUNTED_AHEAD
from models.llm.ending import ending_failure
from models.llm.records import Answer, LlmFailure, Usage
from models.llm.settings import LlmBudgetSettings


def test_an_answer_has_text_and_the_usage_of_the_server(serve):
    fake, client = serve(Reply("Yes, indeed.", cached_prompt_tokens=2))
    (answer,) = client.ask([ask_for("Is it?")])
    assert (answer.text, answer.is_cut, answer.n_attempts) == ("Yes, indeed.", False, 1)
    assert answer.usage == Usage(6, 2, 4) and answer.wasted == Usage()
    assert fake.prompts[0].messages == (("system", "Be brief."), ("user", "Is it?"))


def test_results_stand_in_the_order_of_their_requests(serve):
    fake, client = serve(lambda prompt: Reply(prompt.text[::-1], delay_seconds=0.02 if prompt.number % 3 else 0))
    texts = [f"number {number}" for number in range(50)]
    assert [answer.text for answer in client.ask([ask_for(text) for text in texts])] == [text[::-1] for text in texts]
    assert fake.n_requests == 50 and 1 < fake.most_in_flight <= 8


@given(
    st.lists(
        st.sampled_from(
            [*FAULTS, refused(400), refused(502), refused(504), Reply("held", finish_reason="content_filter"),
             Reply("said", model="m"), Reply("no bill", has_usage=False), "yes", "yes yes"]
        ),
        max_size=12,
    ),
    st.sampled_from([None, 1e-4, 1e-3]),
)  # fmt: skip
@settings(max_examples=15)
def test_what_results_say_was_paid_is_what_the_budget_booked_and_no_less_than_the_endpoint_counted(faults, budget_usd):
    budget = Budget(LlmBudgetSettings(usd_per_million_answer_tokens=1.0, budget_usd=budget_usd))
    replies = in_turn(faults, then="yes")
    with FakeEndpoint(replies) as fake, client_of(fake, budget=budget, llm_requests_in_flight=2) as client:
        results = client.ask([ask_for(f"number {number}", max_answer_tokens=20) for number in range(8)])
        told = Usage()
        for result in results:
            told += result.wasted + (result.usage if isinstance(result, Answer) else Usage())
        assert told == budget.usage
        said = [faults[prompt.number] if prompt.number < len(faults) else "yes" for prompt in fake.prompts]
        counted = [len((reply if isinstance(reply, str) else reply.text).split()) for reply in said]
        assert told.answer_tokens >= sum(counted) and told.prompt_tokens >= 4 * sum(n > 0 for n in counted)


@pytest.mark.parametrize("status", [400, 401, 500])
def test_a_server_that_repeats_the_key_gets_it_into_no_log(serve, status):
    message = "x" * 290 + " sk-secret and sk-secret again"
    _, client = serve(fake=FakeEndpoint(refused(status, message), key="sk-secret"), llm_attempts=1)
    (failure,) = client.ask([ask_for("?")])
    assert "sk-" not in failure.detail and failure.detail.startswith(f"status {status}: xxx")


def test_an_answer_far_beyond_its_limit_is_cut(serve):
    """A server that knows no max_tokens: what reads the answer need not read megabytes."""
    reply = Reply(raw=json.dumps({"choices": [{"message": {"content": "word " * 100_000}}]}).encode())
    _, client = serve(reply)
    (answer,) = client.ask([ask_for("?", max_answer_tokens=10)])
    assert answer.is_cut and answer.text == ("word " * 1000)[:1280]


@pytest.mark.parametrize("count", ["-5", "1e400", "true", str(1 << 60), "null"])
def test_a_server_that_miscounts_does_not_count(serve, count, monkeypatch):
    monkeypatch.setattr("models.fake_llm._n_tokens", lambda body: json.loads(count))
    fake, client = serve("yes", count_tokens=None, budget=Budget(LlmBudgetSettings(budget_usd=1.0)))
    assert client.ask([ask_for("?")])[0].reason == "bad_response" and fake.n_requests == 0


def test_one_bad_of_32_leaves_31_answers(serve):
    fake, client = serve("yes", fake=FakeEndpoint("yes", context_tokens=300))
    asked = [ask_for("word " * (400 if number == 17 else 5)) for number in range(32)]
    results = client.ask(asked)
    assert [number for number, result in enumerate(results) if isinstance(result, LlmFailure)] == [17]
    assert results[17].reason == "over_context" and fake.n_requests == 31


def test_the_endpoint_counts_where_no_tokenizer_is_at_hand(serve):
    _, client = serve("yes", fake=FakeEndpoint("yes", context_tokens=120), count_tokens=None)
    results = client.ask([ask_for("few words"), ask_for("word " * 30)])
    assert [type(result) for result in results] == [Answer, LlmFailure]
    assert results[1].detail == "33 tokens and 100 for the answer exceed 120"


def test_a_server_that_finds_a_prompt_too_long_is_believed(serve):
    _, client = serve(refused(400, "This model's maximum context length is 10 tokens"))
    assert client.ask([ask_for("?")])[0].reason == "over_context"


def test_an_answer_that_reached_its_limit_says_so(serve):
    _, client = serve("one two three four five")
    (answer,) = client.ask([ask_for("?", max_answer_tokens=3)])
    assert (answer.text, answer.is_cut, answer.usage.answer_tokens) == ("one two three", True, 3)


def test_an_answer_without_usage_is_booked_at_its_most(serve):
    _, client = serve(Reply("yes", has_usage=False))
    (answer,) = client.ask([ask_for("?")])
    assert answer.is_estimated and answer.usage.answer_tokens == 100 and answer.usage.prompt_tokens > 0


def test_a_stream_that_drips_runs_into_the_time_limit(serve):
    fake, client = serve(Reply("slow", drip_seconds=0.05), llm_timeout_seconds=0.3)
    (failure,) = client.ask([ask_for("?")])
    assert (failure.reason, failure.n_attempts, fake.n_requests) == ("timed_out", 2, 2)
    assert failure.wasted.answer_tokens == 200  # nobody knows what the endpoint did


def test_a_response_without_end_is_not_read_to_its_end(serve, monkeypatch):
    monkeypatch.setattr("models.llm.wire.MAX_RESPONSE_BYTES", 10_000)
    _, client = serve(Reply("x" * 100_000), llm_attempts=2)
    assert client.ask([ask_for("?")])[0].reason == "bad_response"


def test_what_a_filter_holds_back_is_a_failure_that_was_paid_for(serve):
    _, client = serve(Reply("", finish_reason="content_filter"))
    (failure,) = client.ask([ask_for("?")])
    assert failure.reason == "filtered" and failure.wasted.prompt_tokens > 0


def test_completions_hold_the_whole_prompt_and_stop_before_another_input(serve):
    fake, client = serve("yes", llm_api="completions", llm_prompt_prefix="<bos>")
    assert client.ask([ask_for("Is it?")])[0].text == "yes"
    body = fake.prompts[0].body
    assert body["prompt"] == "<bos>Be brief.\n\nInput:\nIs it?\n\nOutput:\n" and body["stop"] == ["\nInput:"]


@pytest.mark.parametrize("form", ["response_format", "structured_outputs", "none"])
def test_the_form_of_an_answer_is_asked_for(serve, form):
    fake, client = serve("{}", llm_structured=form)
    client.ask([ask_for("?", schema={"type": "object"})])
    body = fake.prompts[0].body
    assert {"response_format", "structured_outputs"} & set(body) == {form} - {"none"}
    assert '{"type": "object"}' in str(body.get(form, '{"type": "object"}')).replace("'", '"')


def test_the_endpoint_gets_its_key(serve):
    fake, client = serve("yes", fake=FakeEndpoint("yes", key="secret"))
    assert client.ask([ask_for("?")])[0].text == "yes"
    fake.key = "another"
    assert client.ask([ask_for("?")])[0].reason == "denied"


def test_money_is_never_passed(serve):
    prices = LlmBudgetSettings(usd_per_million_prompt_tokens=10.0, usd_per_million_answer_tokens=20.0, budget_usd=0.02)
    budget = Budget(prices)
    _, client = serve("yes " * 50, budget=budget)
    results = client.ask([ask_for(f"number {number}") for number in range(60)])
    answers = [result for result in results if isinstance(result, Answer)]
    paid = sum((answer.usage.prompt_tokens * 10 + answer.usage.answer_tokens * 20) / 1e6 for answer in answers)
    assert ending_failure(results).reason == "budget_usd" and answers
    assert paid == pytest.approx(budget.spent_usd) and budget.spent_usd <= 0.02
    assert 0.02 - budget.spent_usd < 100 * 20 / 1e6 + 60 * 10 / 1e6  # all but what one more might have cost


def test_leaving_early_cancels_what_is_under_way(serve):
    budget = Budget(LlmBudgetSettings(usd_per_million_answer_tokens=1.0))
    fake, client = serve(lambda prompt: Reply("yes", delay_seconds=30 if prompt.number else 0), budget=budget)
    for item in client.ask_each([ask_for(f"{number}") for number in range(8)]):
        assert item[1].text == "yes"
        break
    client.close()
    assert fake.n_requests <= 8


def test_a_forked_child_leaves_the_client_to_its_parent(serve):
    _, client = serve("yes")
    assert client.ask([ask_for("?")])[0].text == "yes"
    pid = os.fork()
    if not pid:
        client.close()
        os._exit(7)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(pid, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    if ended[0] == 0:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(ended[1]) == 7
    assert client.ask([ask_for("again?")])[0].text == "yes"


def test_several_threads_share_the_slots_of_one_client(serve):
    fake, client = serve(lambda prompt: Reply(prompt.text, delay_seconds=0.005), llm_requests_in_flight=3)
    got = {}

    def ask(name):
        got[name] = [answer.text for answer in client.ask([ask_for(f"{name} {number}") for number in range(10)])]

    threads = [threading.Thread(target=ask, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == {name: [f"{name} {number}" for number in range(10)] for name in "abcd"}
    assert fake.most_in_flight <= 3


def test_ticks_come_while_nothing_else_does(serve):
    _, client = serve(Reply("yes", delay_seconds=0.1))
    items = list(client.ask_each([ask_for("?")], tick_seconds=0.01))
    assert items[0] is None and items[-1][1].text == "yes"


def test_prompts_are_counted_while_all_slots_are_taken(serve):
    counted, is_counted_ahead = [], threading.Event()

    def count(text):
        counted.append(text)
        if len(counted) > COUNTED_AHEAD:
            is_counted_ahead.set()
        return 1

    def script(prompt):
        assert is_counted_ahead.wait(10)
        return "yes"

    with FakeEndpoint(script) as fake, client_of(fake, count_tokens=count, llm_requests_in_flight=1) as client:
        results = client.ask([ask_for(f"number {number}") for number in range(12)])
        assert [result.text for result in results] == ["yes"] * 12
        assert len(counted) == 12 and fake.most_in_flight == 1


@pytest.mark.parametrize(("text", "budget_usd", "n_counted"), [("word", None, 0), ("wörd", None, 1), ("word", 1.0, 1)])
def test_the_endpoint_counts_only_what_may_not_fit_or_has_to_be_paid_for(
    serve, monkeypatch, text, budget_usd, n_counted
):
    budget = Budget(LlmBudgetSettings(budget_usd=budget_usd))
    _, client = serve("yes", budget=budget, count_tokens=None)
    counted = []
    count = client._transport.count_tokens
    monkeypatch.setattr(client._transport, "count_tokens", lambda request: counted.append(request) or count(request))
    assert client.ask([ask_for(text)])[0].text == "yes" and len(counted) == n_counted

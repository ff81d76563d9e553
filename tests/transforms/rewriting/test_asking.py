"""What a run finds out about its model, and one process's way to it."""

import json
import struct

import pytest

from models.errors import ModelError, RefusedError, SettingsError
from models.fake_llm import FakeEndpoint, Reply, count_words, refused
from models.llm.records import Answer, Message, Request
from models.llm.settings import LlmBudgetSettings, LlmServerSettings, LlmSettings
from transforms.rewriting.asking import estimated_tokens, make_asking, plan_asking
from transforms.rewriting.dialogues import hold
from transforms.rewriting.prompts import load_prompt
from transforms.rewriting.summaries import MAX_ANSWER_TOKENS, summarise
from transforms.spending import DEVICE_MS, WASTED_ANSWER, WASTED_PROMPT, Spending, spent_in
from transforms.store.files import Store


def plan(fake, budget=None, **settings):
    chosen = {"llm_outage_seconds": 0.2, "llm_attempts": 2, **settings}
    llm = LlmSettings(llm_url=fake.url, llm_revision="1", **chosen)
    return plan_asking(llm, LlmServerSettings(), budget or LlmBudgetSettings(), "this test")


def requests(*texts):
    return [Request((Message("user", text),), 20, stage="summary", owner=text) for text in texts]


def test_an_endpoint_says_how_much_it_reads_and_a_setting_may_say_less():
    with FakeEndpoint(context_tokens=500) as fake:
        assert (plan(fake).context_tokens, plan(fake).n_parameters) == (500, 0)
        smaller = plan(fake, llm_context_tokens=100, llm_parameters=7)
        assert (smaller.context_tokens, smaller.n_parameters) == (100, 7)
        assert smaller.identity["model"]["is_declared"] and len(smaller.identity_sha256) == 64
    with pytest.raises(ModelError, match="does not answer"):
        plan(fake)


def test_a_model_in_a_folder_is_read_off_its_files(tmp_path):
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 128}')
    header = json.dumps({"lm.weight": {"dtype": "F16", "shape": [3, 5], "data_offsets": [0, 30]}}).encode()
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(30))
    llm, server, budget = LlmSettings(llm_model=str(tmp_path)), LlmServerSettings(), LlmBudgetSettings()
    found = plan_asking(llm, server, budget, "this test")
    assert (found.context_tokens, found.n_parameters, found.llm.llm_context_tokens) == (128, 15, 128)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(SettingsError, match="llm_context_tokens"):
        plan_asking(llm, server, budget, "this test")
    with pytest.raises(SettingsError, match="this test asks a language model and none is named"):
        plan_asking(LlmSettings(), server, budget, "this test")


@pytest.mark.parametrize("is_stored", [True, False])
def test_what_was_answered_is_not_asked_again(tmp_path, is_stored):
    with FakeEndpoint(lambda prompt: f"about {prompt.text}") as fake:
        store = Store(str(tmp_path)) if is_stored else None
        asking = make_asking(plan(fake), store, "run")
        first = asking.ask(requests("a", "b", "a"))
        assert [answer.text for answer in first] == ["about a", "about b", "about a"]
        assert [answer.text for answer in asking.ask(requests("b", "c"))] == ["about b", "about c"]
        assert fake.n_requests == 3
        assert asking.count_tokens("one two") == 3


def test_failures_and_device_time_are_told_once_also_where_asking_ends_the_run(tmp_path):
    held_back = Reply("an answer", finish_reason="content_filter")
    store = Store(str(tmp_path))
    with FakeEndpoint(lambda prompt: held_back if "bad" in prompt.text else Reply("ok", delay_seconds=0.01)) as fake:
        spending = Spending(store, "run")
        asking = make_asking(plan(fake), store, "run", spending)
        asking.ask(requests("bad", "good", "bad"))
        spending.flush()
        found = spent_in(store, ["run"])
        assert (found[WASTED_PROMPT], found[WASTED_ANSWER]) == (1, 2) and found[DEVICE_MS] >= 10
        asking.ask(requests("good"))
        spending.flush()
        assert spent_in(store, ["run"]) == found
        poor = LlmBudgetSettings(usd_per_million_answer_tokens=1.0, budget_usd=30e-6)
        ending = make_asking(plan(fake, poor), store, "run", spending)
        fake.script = lambda prompt: held_back
        with pytest.raises(RefusedError, match="budget_usd"):
            ending.ask(requests(*"cdefghijklmnopqrstuvwxyz"))
        spending.flush()
        assert spent_in(store, ["run"])[WASTED_ANSWER] > found[WASTED_ANSWER]


def test_a_dead_endpoint_and_a_spent_budget_are_raised_and_a_refusal_is_not():
    with FakeEndpoint(refused(400)) as fake:
        asking = make_asking(plan(fake))
        assert [result.reason for result in asking.ask(requests("a", "b"))] == ["refused", "refused"]
        poor = LlmBudgetSettings(usd_per_million_answer_tokens=1.0, budget_usd=0.0)
        with pytest.raises(RefusedError, match="budget_usd = 0 is spent"):
            make_asking(plan(fake, poor)).ask(requests("c"))
        fake.stop()
        with pytest.raises(RefusedError, match=r"did not answer for 0\.2 s"):
            asking.ask(requests("d"))


@pytest.mark.parametrize("line", ["a. b; c: d! ", "1,2;3,4\n", "- a\n", "{}[]();\n", "_ _ _ "])
def test_windows_planned_without_a_tokenizer_fit_where_tokens_are_short(line):
    text, sizes = line * 3000, []

    def answered(asked):
        sizes.extend(sum(count_words(turn.content) for turn in request.messages) for request in asked)
        return [Answer("This is about a table.") for _ in asked]

    spans = [(start, start + len(line)) for start in range(0, len(text), len(line))]
    more = {"context_tokens": 2000, "count_tokens": estimated_tokens}
    assert hold(summarise(text, spans, load_prompt("summary"), **more), answered).text
    assert len(sizes) > 1 and max(sizes) + MAX_ANSWER_TOKENS <= 2000

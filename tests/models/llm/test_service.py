"""The whole way: found or started, asked, let go."""

import pytest
from asking import ask_for

from models.errors import ModelError
from models.fake_llm import FakeEndpoint
from models.llm.server import ServerPlan
from models.llm.service import LlmService
from models.llm.settings import LlmBudgetSettings, LlmSettings


def test_an_endpoint_is_found_when_it_is_first_asked(monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret")
    with FakeEndpoint("yes", key="secret") as fake:
        settings = LlmSettings(llm_url=fake.url, llm_revision="1", llm_key_variable="MY_KEY")
        with LlmService(settings, budget=LlmBudgetSettings(usd_per_million_answer_tokens=1.0)) as service:
            assert fake.n_requests == 0
            assert service.ask([ask_for("?")])[0].text == "yes"
            assert [item[1].text for item in service.ask_each([ask_for("?")])] == ["yes"]
            assert service.budget.spent_usd == pytest.approx(2e-6)


def test_one_that_is_dead_from_the_start_is_one_line():
    with FakeEndpoint() as fake:
        settings = LlmSettings(llm_url=fake.url, llm_revision="1")
    with LlmService(settings) as service, pytest.raises(ModelError, match="does not answer"):
        service.ask([ask_for("?")])


def test_a_server_is_started_and_started_again_when_it_died(tmp_path, monkeypatch):
    """A stand-in serves the model: a script that speaks the protocol as vLLM does."""
    import os
    import signal
    import sys

    script = tmp_path / "serve.py"
    script.write_text(
        "import sys, threading\n"
        f"sys.path.insert(0, {os.getcwd()!r})\n"
        "from models.fake_llm import FakeEndpoint\n"
        "fake = FakeEndpoint(lambda prompt: prompt.text.upper(), model='weights')\n"
        "fake._port = int(sys.argv[1])\n"
        "fake.start()\n"
        "threading.Event().wait()\n"
    )
    model = tmp_path / "weights"
    model.mkdir()
    command = (sys.executable, str(script), "{port}")
    plan = ServerPlan(command, start_seconds=60.0, poll_seconds=0.02, grace_seconds=0.3)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("models.llm.service.vllm_plan", lambda *_: plan)
    with LlmService(LlmSettings(llm_model=str(model), llm_outage_seconds=0.1)) as service:
        assert service.ask([ask_for("first")])[0].text == "FIRST"
        os.kill(service._parts.server.pid, signal.SIGKILL)
        assert service.ask([ask_for("lost")])[0].reason == "endpoint_down"
        assert service.ask([ask_for("again")])[0].text == "AGAIN"

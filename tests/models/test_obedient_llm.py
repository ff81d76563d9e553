import json
import signal
import subprocess
import sys

from models.fake_llm import Prompt
from models.llm.records import Message, Request
from models.llm.service import LlmService
from models.llm.settings import LlmSettings
from models.obedient_llm import obedient


def ask(text, form=""):
    return obedient(Prompt(text, (("user", text),), {"response_format": {"json_schema": {form: {}}}}, 0))


def numbered(n_sentences):
    return "\n".join(f"[{number}] Sentence {number}." for number in range(1, n_sentences + 1))


def test_each_form_is_answered_in_kind():
    assert json.loads(ask(numbered(11), "cut_after")) == {"cut_after": [5, 10]}
    assert json.loads(ask(numbered(5), "cut_after")) == {"cut_after": []}
    assert json.loads(ask(numbered(2), "propositions"))["propositions"][1] == {"text": "Sentence 2.", "sentences": [2]}
    assert ask("<text>\nThe mill grinds rye.\n</text>") == "The mill grinds rye."


def test_it_is_served_until_a_signal(checkout):
    command = [sys.executable, "-m", "models.obedient_llm", "--port", "0"]
    with subprocess.Popen(command, cwd=checkout, stdout=subprocess.PIPE, text=True) as process:
        try:
            _, url, _, revision = process.stdout.readline().split()
            with LlmService(LlmSettings(llm_url=url, llm_revision=revision)) as service:
                (answer,) = service.ask([Request((Message("user", "<text>Rye.</text>"),), max_answer_tokens=9)])
            assert answer.text == "Rye."
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0

"""A real vLLM with a real small model: started, shared, asked through both apis, and gone afterwards. At most 60 calls.

Needs $CORPUSMILL_VLLM, a folder that `python tests/models/llm/vllm_environment.py FOLDER` made.
"""

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest

from models.llm.client import LlmClient
from models.llm.counting import load_counter
from models.llm.records import Answer, Message, Request
from models.llm.service import LlmService, identity_sha256, llm_identity
from models.llm.settings import LlmServerSettings, LlmSettings
from transforms.answers import AnswerStore, StoredAsking
from transforms.chunkers.sentences import sentence_starts
from transforms.rewriting import boundaries, prefixes, propositions, summaries
from transforms.rewriting.dialogues import hold, hold_all
from transforms.rewriting.prompts import load_prompt
from transforms.store.files import Store

FOLDER = os.environ.get("CORPUSMILL_VLLM", "")
pytestmark = [
    pytest.mark.vllm,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not FOLDER, reason="set CORPUSMILL_VLLM to a folder of tests/models/llm/vllm_environment.py"),
]
MAX_CALLS = 60
CONTEXT_TOKENS = 2048
# The form in which completions are asked for, so that a base model goes on with it in a chat too.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'system' %}{{ m['content'] }}\n\n"
    "{% elif m['role'] == 'user' %}Input:\n{{ m['content'] }}\n\n{% else %}Output:\n{{ m['content'] }}\n\n"
    "{% endif %}{% endfor %}Output:\n"
)
TEXT = (
    "The base H-1B filing fee was $460 until 2024. It rises to $780 in fiscal year 2026. "
    "Small employers pay the lower fee only if they employ at most 25 people. The library opens at nine. "
    "Cards cost 12 euros a year. Students pay half if they show their card. "
)
SPANS = list(pairwise([0, *sentence_starts(TEXT), len(TEXT)]))


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vllm")
    (folder / "chat.jinja").write_text(CHAT_TEMPLATE)
    settings = LlmSettings(llm_model=f"{FOLDER}/model", llm_context_tokens=CONTEXT_TOKENS, llm_requests_in_flight=8)
    server = LlmServerSettings(
        llm_python=f"{FOLDER}/venv/bin/python",
        llm_dtype="bfloat16",
        llm_chat_template=str(folder / "chat.jinja"),
        llm_server_arguments=("--enforce-eager",),
    )
    patch = pytest.MonkeyPatch()
    patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    patch.setenv("HF_HUB_OFFLINE", "1")
    patch.setattr("tempfile.tempdir", str(folder))
    with LlmService(settings, server) as made:
        made.client()
        yield made
    patch.undo()


@pytest.fixture(scope="module", params=["chat", "completions"])
def ask(request, service, tmp_path_factory):
    """Asks the running server through one api, with answers kept; counts what is really asked."""
    prefix = "<bos>" if request.param == "completions" else ""
    settings = service.settings.model_copy(update={"llm_api": request.param, "llm_prompt_prefix": prefix})
    name = identity_sha256(llm_identity(settings, service.server_settings))
    counter = load_counter(settings, Path(f"{FOLDER}/model"))
    with LlmClient(service.client().endpoint, settings, count_tokens=counter) as client:
        asking = StoredAsking(AnswerStore(Store(str(tmp_path_factory.mktemp("answers")))), client.ask_each, name)
        yield asking
        assert asking.counts["asked_answers"] <= MAX_CALLS // 2


def count(text):
    return load_counter(LlmSettings(), Path(f"{FOLDER}/model"))(text)


def test_a_summary_of_real_words(ask):
    dialogue = summaries.summarise(
        TEXT, SPANS, load_prompt("summary"), context_tokens=CONTEXT_TOKENS, count_tokens=count, max_answer_tokens=80
    )
    summary = hold(dialogue, ask)
    assert bool(summary.text) is not bool(summary.counts["unsummarised_documents"])


def test_boundaries_are_json_of_the_schema_and_lossless(ask):
    dialogue = boundaries.find_boundaries(
        TEXT, SPANS, load_prompt("boundaries"), lambda first, end: [3],
        context_tokens=CONTEXT_TOKENS, count_tokens=count, max_answer_tokens=60,
    )  # fmt: skip
    cuts = hold(dialogue, ask)
    pieces = boundaries.cut_spans(len(TEXT), SPANS, cuts.before)
    assert "".join(TEXT[start:end] for start, end in pieces) == TEXT
    assert "json_in_prose" not in cuts.counts and "boundary_fallbacks.no_json" not in cuts.counts


def test_propositions_of_the_schema_keep_spans_of_the_text(ask):
    passages = [propositions.Passage(TEXT, SPANS[first : first + 2], ("Fees",)) for first in (0, 2, 4)]
    prompt = load_prompt("propositions")
    for made in hold_all([propositions.rewrite(passage, prompt, max_answer_tokens=200) for passage in passages], ask):
        assert "passages_as_themselves.no_json" not in made.counts
        assert all(TEXT[item.start : item.end].strip() and item.text for item in made.items)


def test_prefixes_fit_their_room(ask):
    dialogue = prefixes.place(
        TEXT[:90],
        load_prompt("prefix"),
        heading_path=("Fees",),
        context="Visa fees.",
        max_tokens=50,
        count_tokens=count,
    )
    prefix = hold(dialogue, ask)
    assert count(prefix.text) <= 50 and sum(prefix.counts.values()) >= 1


def test_answers_come_with_the_usage_of_the_server_and_are_asked_for_once(ask):
    asked = [Request((Message("user", f"Number {n}"),), 8) for n in range(4)]
    first, again = ask(asked), ask(asked)
    assert all(isinstance(answer, Answer) and answer.usage.answer_tokens <= 8 for answer in first)
    assert [answer.text for answer in again] == [answer.text for answer in first]
    assert all(answer.is_stored for answer in again) and not any(answer.is_estimated for answer in first)


def test_the_guard_counts_at_least_what_the_server_counts(ask):
    asked = [Request((Message("system", "Be brief."), Message("user", TEXT)), 4)]
    (answer,) = ask(asked)
    assert answer.usage.prompt_tokens <= count("Be brief.\n" + TEXT) + 24
    (failure,) = ask([Request((Message("user", "word " * 3000),), 4)])
    assert failure.reason == "over_context" and failure.n_attempts == 0


@pytest.mark.parametrize("form", ["response_format", "structured_outputs"])
def test_both_ways_to_ask_for_a_form_are_kept_to(service, form):
    settings = service.settings.model_copy(update={"llm_structured": form})
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    with LlmClient(service.client().endpoint, settings) as client:
        (answer,) = client.ask([Request((Message("user", "A number, please."),), 40, schema)])
    # A base model may go on with digits for as long as it is let.
    assert answer.is_cut or set(json.loads(answer.text)) == {"n"}
    assert answer.text.lstrip().startswith("{")

"""A real vLLM with a real small model: started, shared, asked through both apis, and gone afterwards. At most 60 calls.

Needs $CORPUSMILL_VLLM, a folder in which vllm_environment.py has made vLLM and the model, or makes them now.
"""

import json
import os
import re
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import httpx2
import pytest

from models.llm.client import LlmClient
from models.llm.counting import load_counter
from models.llm.records import Answer, Message, Request
from models.llm.service import LlmService, identity_sha256, llm_identity
from models.llm.settings import LlmServerSettings, LlmSettings
from pipelines import cli
from pipelines.search import open_index
from transforms.answers import AnswerStore, StoredAsking
from transforms.chunkers.sentences import sentence_starts
from transforms.rewriting import boundaries, prefixes, propositions, summaries
from transforms.rewriting.dialogues import hold_all
from transforms.rewriting.prompts import load_prompt
from transforms.store.files import Store

FOLDER = os.environ.get("CORPUSMILL_VLLM", "")
pytestmark = [
    pytest.mark.vllm,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
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
FEES = (
    "The base H-1B filing fee was $460 until 2024. It rises to $780 in fiscal year 2026. "
    "Small employers pay the lower fee only if they employ at most 25 people. "
)
LIBRARY = "The library opens at nine. Cards cost 12 euros a year. Students pay half if they show their card. "
TEXT = FEES + LIBRARY
SPANS = list(pairwise([0, *sentence_starts(TEXT), len(TEXT)]))


@pytest.fixture(scope="module")
def server_settings(tmp_path_factory):
    template = tmp_path_factory.mktemp("template") / "chat.jinja"
    template.write_text(CHAT_TEMPLATE)
    return LlmServerSettings(
        llm_python=f"{FOLDER}/venv/bin/python",
        llm_dtype="bfloat16",
        llm_chat_template=str(template),
        llm_server_arguments=("--enforce-eager",),
    )


@pytest.fixture(scope="module")
def service(tmp_path_factory, server_settings):
    """The server that runs while this module does: asked 60 times at most, and gone with its last client."""
    made_by = Path(__file__).with_name("vllm_environment.py")
    making = subprocess.run([sys.executable, made_by, FOLDER], stderr=subprocess.PIPE, text=True)
    if making.returncode:
        pytest.skip(f"no vLLM could be made in {FOLDER}: {making.stderr.strip().splitlines()[-1]}")
    folder = tmp_path_factory.mktemp("vllm")
    settings = LlmSettings(llm_model=f"{FOLDER}/model", llm_context_tokens=CONTEXT_TOKENS, llm_requests_in_flight=8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        # On a busy machine one thread that may run anywhere is faster than threads that wait for each other.
        patch.setenv("VLLM_CPU_OMP_THREADS_BIND", "nobind")
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setattr("tempfile.tempdir", str(folder))
        with LlmService(settings, server_settings) as made:
            endpoint = made.client().endpoint
            yield made
            n_calls = calls_of(endpoint)
        assert len(list(folder.glob("corpusmill-llm-*/*/server.log"))) == 1  # whoever asked
        assert n_calls <= MAX_CALLS
        assert is_gone(endpoint)


def calls_of(endpoint):
    """The answers that the server has given."""
    text = httpx2.get(endpoint.url.removesuffix("/v1") + "/metrics", trust_env=False).text
    return sum(float(number) for number in re.findall(r"^vllm:request_success_total{.*} (\S+)$", text, re.MULTILINE))


def is_gone(endpoint):
    """Whether nobody answers any more, within the half minute that a server has to end."""
    for _ in range(60):
        try:
            httpx2.get(endpoint.url.removesuffix("/v1") + "/health", trust_env=False)
        except httpx2.HTTPError:
            return True
        time.sleep(0.5)
    return False


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


def count(text):
    return load_counter(LlmSettings(), Path(f"{FOLDER}/model"))(text)


@pytest.fixture(scope="module")
def made(ask):
    """What each kind of dialogue makes of the text; they are held together, as documents are."""
    common = {"context_tokens": CONTEXT_TOKENS, "count_tokens": count}
    spans = (SPANS[:2], SPANS[2:4])
    passages = [propositions.Passage(TEXT, span, ("Fees",)) for span in spans]
    where = {"heading_path": ("Fees",), "context": "Visa fees."}
    dialogues = [
        summaries.summarise(TEXT, SPANS, load_prompt("summary"), max_answer_tokens=60, **common),
        boundaries.find_boundaries(
            TEXT, SPANS, load_prompt("boundaries"), lambda first, end: [3], max_answer_tokens=40, **common
        ),
        prefixes.place(
            TEXT[:90], load_prompt("prefix"), max_tokens=50, count_tokens=count, max_answer_tokens=60, **where
        ),
        *(propositions.rewrite(passage, load_prompt("propositions"), max_answer_tokens=120) for passage in passages),
    ]
    summary, cuts, prefix, *found = hold_all(dialogues, ask)
    return {"summary": summary, "cuts": cuts, "prefix": prefix, "propositions": found}


def test_a_summary_of_real_words(made):
    summary = made["summary"]
    assert bool(summary.text) is not bool(summary.counts["unsummarised_documents"])
    assert not summary.counts["failed_summaries"]


def test_boundaries_are_json_of_the_schema_and_lossless(made):
    cuts = made["cuts"]
    pieces = boundaries.cut_spans(len(TEXT), SPANS, cuts.before)
    assert "".join(TEXT[start:end] for start, end in pieces) == TEXT
    assert "json_in_prose" not in cuts.counts and "boundary_fallbacks.no_json" not in cuts.counts


def test_propositions_of_the_schema_keep_spans_of_the_text(made):
    assert len(made["propositions"]) == 2
    for found in made["propositions"]:
        assert "passages_as_themselves.no_json" not in found.counts
        assert all(TEXT[item.start : item.end].strip() and item.text for item in found.items)


def test_prefixes_fit_their_room(made):
    prefix = made["prefix"]
    assert count(prefix.text) <= 50 and prefix.counts["prefixes"] + prefix.counts["rejected_prefixes"] == 1


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


def test_a_run_from_files_to_a_search_on_the_server_of_this_machine(service, server_settings, tmp_path, capsys):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "fees.txt").write_text(FEES)
    (tmp_path / "corpus" / "library.txt").write_text(LIBRARY)
    words = ["--input", f"{tmp_path}/corpus/*.txt", "--output", f"{tmp_path}/index", "--encoder", "hashing"]
    words += ["--rewrite", "propositions", "--max-propositions-tokens", "100", "--llm-api", "completions"]
    words += ["--llm-prompt-prefix", "<bos>", "--llm-model", service.settings.llm_model]
    words += ["--llm-context-tokens", str(CONTEXT_TOKENS), "--llm-python", server_settings.llm_python]
    words += ["--llm-dtype", "bfloat16", "--llm-chat-template", server_settings.llm_chat_template]
    assert cli.main(["ingest", *words, "--llm-server-arguments=--enforce-eager", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["documents"]["indexed"] == 2 and report["llm"]["answers"] == 2
    assert report["tokens"]["llm_answer"] > 0 and not report["llm"]["wasted_tokens"]
    (hits,) = open_index(f"{tmp_path}/index").search(["What do cards of the library cost?"], k=10)
    assert {hit.uri.rsplit("/", 1)[1] for hit in hits} == {"fees.txt", "library.txt"}
    assert all(hit.text.strip() in TEXT for hit in hits)

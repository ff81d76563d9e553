"""Equal identities promise equal answers: weights, tokenizer, template and sampling count, names and places do not."""

import json
import shutil
import socket
import threading
from contextlib import suppress

import pytest

from models.errors import ModelError, SettingsError
from models.fake_llm import FakeEndpoint, refused
from models.llm.identity import endpoint_identity, files_identity, find_endpoint, resolve_llm
from models.llm.service import identity_sha256, llm_identity
from models.llm.settings import LlmServerSettings, LlmSettings


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "config.json").write_text(json.dumps({"hidden_size": 8, "transformers_version": "5"}))
    return folder


def test_a_copy_is_the_same_model_and_another_library_version_too(model, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    (copy / "config.json").write_text(json.dumps({"transformers_version": "6", "hidden_size": 8}))
    (copy / "README.md").write_text("notes")
    assert files_identity(model, LlmServerSettings()) == files_identity(copy, LlmServerSettings())


@pytest.mark.parametrize(
    "name",
    ["model.safetensors", "tokenizer.json", "config.json", "chat_template.jinja", "special_tokens_map.json",
     "chat_template.json", "sentencepiece.bpe.model", "modeling_own.py"],
)  # fmt: skip
def test_whatever_decides_answers_is_in_it(model, name):
    before = files_identity(model, LlmServerSettings())
    (model / name).write_text('{"other": 1}')
    assert files_identity(model, LlmServerSettings()) != before


def test_a_chat_template_given_to_the_server_is_in_it(model, tmp_path):
    template = tmp_path / "chat.jinja"
    template.write_text("{{ messages }}")
    server = LlmServerSettings(llm_chat_template=str(template))
    assert files_identity(model, server) != files_identity(model, LlmServerSettings())
    template.unlink()
    with pytest.raises(SettingsError, match="cannot be read"):
        files_identity(model, server)


@pytest.mark.parametrize(
    ("arguments", "decides"),
    [
        (
            ("--enforce-eager", "--max-num-seqs", "8", "--no-enable-prefix-caching", "--gpu_memory_utilization=0.5"),
            False,
        ),
        (("--quantization", "fp8"), True),
        (("-q", "fp8"), True),
        (("--quantization=fp8",), True),
        (("--override-generation-config", '{"top_k": 1}'), True),
    ],
)
def test_arguments_of_the_server_count_unless_they_only_make_it_fast(model, arguments, decides):
    server = LlmServerSettings(llm_server_arguments=arguments)
    assert (files_identity(model, server) != files_identity(model, LlmServerSettings())) == decides


def test_a_file_that_an_argument_names_counts_by_what_it_holds(model, tmp_path):
    template = tmp_path / "chat.jinja"
    server = LlmServerSettings(llm_server_arguments=("--chat-template", str(template)))
    template.write_text("a")
    before = files_identity(model, server)
    template.write_text("b")
    assert files_identity(model, server) != before


def test_a_single_file_is_a_model_too(model):
    (model / "tiny.gguf").write_bytes(b"weights")
    assert files_identity(model / "tiny.gguf", LlmServerSettings())["kind"] == "files"


def test_a_folder_without_weights_is_none(tmp_path):
    with pytest.raises(SettingsError, match="holds no"):
        files_identity(tmp_path, LlmServerSettings())
    with pytest.raises(SettingsError, match="llm_model is not set"):
        resolve_llm(LlmSettings())
    assert resolve_llm(LlmSettings(llm_model=str(tmp_path))) == tmp_path


def test_an_endpoint_is_what_it_says_and_what_is_declared():
    with FakeEndpoint(model="m", context_tokens=500) as fake:
        endpoint = find_endpoint(fake.url + "/", "", None, None)
        assert (endpoint.model, endpoint.context_tokens, endpoint.url) == ("m", 500, fake.url)
        assert find_endpoint(fake.url, "", "m", 100).context_tokens == 100
        identity = endpoint_identity(endpoint, "v3")
        assert identity["is_declared"] and (identity["id"], identity["root"], identity["revision"]) == ("m", "m", "v3")
        with pytest.raises(SettingsError, match=r"llm_model = 'n' is not served at .*; it serves m"):
            find_endpoint(fake.url, "", "n", None)


def test_the_name_of_an_endpoint_is_not_in_an_identity_but_sampling_is():
    def identity(**settings):
        return identity_sha256(llm_identity(LlmSettings(llm_url=fake.url, **settings), LlmServerSettings()))

    with FakeEndpoint() as fake:
        first = identity(llm_revision="1")
        assert first != identity(llm_revision="2")
        assert first != identity(llm_revision="1", llm_temperature=0.5)
        assert first == identity(llm_revision="1", llm_requests_in_flight=1)
    with FakeEndpoint() as fake:
        assert first == identity(llm_revision="1")


def test_what_does_not_answer_or_is_no_endpoint_is_one_line():
    with FakeEndpoint() as fake:
        url = fake.url
        with pytest.raises(ModelError, match=r"/nothing/models answers with status 404"):
            find_endpoint(url + "/nothing", "", None, None)
    for silent in (url, f"http://{'a' * 300}/v1"):
        with pytest.raises(ModelError, match=r"llm_url = 'http.*' does not answer: .*; start the endpoint"):
            find_endpoint(silent, "", None, None)


def test_an_endpoint_needs_a_revision():
    with pytest.raises(ValueError, match="needs llm_revision"):
        LlmSettings(llm_url="http://127.0.0.1:1/v1")


def test_a_refusal_has_the_form_of_the_protocol():
    assert json.loads(refused(400, "no").raw)["error"]["message"] == "no"


@pytest.mark.parametrize("url", ["http://[::1", "http://\u2603.\u2603./v1", "http://a\x1b[3m/v1"])
def test_an_address_that_is_none_is_a_mistake_in_the_settings(url):
    with pytest.raises(SettingsError, match=r"is no address: .*; give one such as"):
        find_endpoint(url, "", None, None)


@pytest.mark.parametrize("key", ["ключ", "a\nb", "\udcff"])
def test_a_key_that_no_header_carries_is_never_shown(key):
    with pytest.raises(SettingsError, match="the endpoint's key has characters") as caught:
        find_endpoint("http://127.0.0.1:1/v1", key, None, None)
    assert key not in str(caught.value)


@pytest.mark.parametrize("stated", [0, -5, True, "8192", 1.5])
def test_a_limit_that_is_none_is_not_taken(stated):
    with FakeEndpoint(context_tokens=stated) as fake, pytest.raises(SettingsError, match="does not state how much"):
        find_endpoint(fake.url, "", None, None)


def test_what_an_endpoint_says_of_itself_is_bounded_in_size(monkeypatch):
    with FakeEndpoint(model="m" * 5000) as fake:
        monkeypatch.setattr("models.llm.identity.wire.MAX_RESPONSE_BYTES", 4000)
        with pytest.raises(ModelError, match="answers with over 4000 bytes"):
            find_endpoint(fake.url, "", None, None)


@pytest.mark.parametrize("what", ["headers", "body"])
def test_what_an_endpoint_says_a_byte_at_a_time_is_not_waited_for(monkeypatch, what):
    monkeypatch.setattr("models.llm.identity._TIMEOUT_SECONDS", 0.3)
    is_over = threading.Event()
    head = {"headers": b"HTTP/1.1 200 OK\r\nX-Slow: ", "body": b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"}[what]

    def drip(listener):
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.sendall(head)
            while not is_over.wait(0.05):
                connection.sendall(b"a")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=[listener])
        thread.start()
        with pytest.raises(ModelError, match=r"gave no whole answer in 0\.3 s"):
            find_endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", "", None, None)
        is_over.set()
        thread.join()


def test_an_endpoint_on_this_machine_is_found_whatever_proxy_is_set(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with FakeEndpoint() as fake:
        assert find_endpoint(fake.url, "", None, None).model == fake.model


def test_a_name_with_half_a_character_can_be_stored():
    with FakeEndpoint(model="m\ud800") as fake:
        endpoint = find_endpoint(fake.url, "", None, None)
    assert endpoint.model == endpoint.root == "m\ufffd"

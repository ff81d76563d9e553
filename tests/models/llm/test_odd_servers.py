"""Servers that keep to no protocol: whatever bytes come, one request has one result, in bounded time and memory."""

import gzip
import json
import re
import socket
import threading
import time
import zlib
from contextlib import contextmanager, suppress

import pytest
from asking import HASTY, ask_for, client_of

from models.errors import ModelError, SettingsError
from models.fake_llm import FakeEndpoint, Reply, in_turn, refused
from models.llm import wire
from models.llm.identity import find_endpoint
from models.llm.records import Answer
from models.llm.settings import LlmSettings

BODY = json.dumps({"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}).encode()
MODELS = json.dumps({"data": [{"id": "m", "root": "m", "max_model_len": 4096}]}).encode()


class RawServer:
    """Answers each connection with bytes of a script, and with what a sound server says where it has none."""

    model, context_tokens, key = "m", 4096, ""

    def __init__(self, script, host="127.0.0.1"):
        self.script, self.heads = script, []
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, 0), family=family)
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{self._socket.getsockname()[1]}/v1"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection):
        with connection, suppress(OSError):
            head = self._read(connection)
            self.heads.append(head)
            said = self.script(head)
            for part in [said] if isinstance(said, bytes) else said:
                connection.sendall(part)

    @staticmethod
    def _read(connection):
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        while length and len(body) < int(length[1]):
            body += connection.recv(65536)
        return head.decode()

    def close(self):
        self._socket.close()


@contextmanager
def raw_server(script, **more):
    def scripted(head):
        return response(MODELS) if head.startswith("GET") else script(head)

    server = RawServer(scripted, **more)
    try:
        yield server
    finally:
        server.close()


def response(body=BODY, status="200 OK", version="1.1", **headers):
    lines = [f"HTTP/{version} {status}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def asked(script, **settings):
    with raw_server(script) as server, client_of(server, **{"llm_attempts": 2, **settings}) as client:
        return client.ask([ask_for("?")])[0]


def chunked(*parts, end=True):
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + (b"0\r\n\r\n" if end else b"")


@pytest.mark.parametrize(
    "said",
    [
        chunked(BODY[:10], BODY[10:]),
        b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + response(),
        response(gzip.compress(BODY), content_encoding="gzip"),
        response(zlib.compress(BODY), content_encoding="deflate"),
        response(b"\xef\xbb\xbf" + BODY),
    ],
)
def test_odd_but_whole_answers_are_answers(said):
    result = asked(lambda _: said)
    assert isinstance(result, Answer), result
    assert result.text == "yes"


STREAM = b'data: {"choices": [{"delta": {"content": "y"}}]}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize(
    ("said", "reason", "words"),
    [
        (chunked(BODY[:10], end=False), "unavailable", "RemoteProtocolError"),
        (b"HTTP/1.0 200 OK\r\n\r\n" + BODY[:20], "bad_response", "choices"),
        (response(STREAM, content_type="text/event-stream"), "bad_response", "data: "),
        (response(b'{"error": {"message": "no GPU", "code": 502}}'), "bad_response", "no GPU"),
        (response(b"", x="y" * 300_000), "unavailable", "RemoteProtocolError"),
        (b"SSH-2.0-OpenSSH_9\r\n", "unavailable", "RemoteProtocolError"),
        (response(b"\x1f\x8bnonsense", content_encoding="gzip"), "bad_response", "gzip"),
        (response(BODY, content_encoding="zstd"), "bad_response", "zstd"),
        (b"", "unavailable", "RemoteProtocolError"),
    ],
)
def test_what_is_no_answer_says_what_it_was(said, reason, words):
    result = asked(lambda _: said)
    assert (result.reason, result.n_attempts) == (reason, 2) and words in result.detail


def test_what_is_compressed_is_bounded_by_what_it_would_be(monkeypatch):
    monkeypatch.setattr(wire, "MAX_RESPONSE_BYTES", 10_000)
    bomb = gzip.compress(b" " * 5_000_000)
    assert len(bomb) < 10_000
    result = asked(lambda _: response(bomb, content_encoding="gzip"))
    assert result.reason == "bad_response" and "over 10000 bytes" in result.detail
    with raw_server(lambda _: b"") as server:
        server.script = lambda _: response(bomb, content_encoding="gzip")
        with pytest.raises(ModelError, match="answers with over 10000 bytes"):
            find_endpoint(server.url, "", None, None)


def test_a_key_goes_to_no_other_host():
    with FakeEndpoint("stolen") as other:
        result = asked(lambda _: response(b"", "307 Temporary Redirect", location=other.url + "/chat/completions"))
        assert other.n_requests == 0
    assert (result.reason, result.n_attempts) == ("denied", 1)


@pytest.mark.parametrize("status", [301, 307, 308, 402, 407, 410, 415, 451])
def test_what_no_prompt_can_be_blamed_for_is_asked_again_another_day(serve, status):
    fake, client = serve(
        refused(status, "pay first"), pace=HASTY._replace(failures_in_a_row=5), llm_requests_in_flight=1
    )
    results = client.ask([ask_for(f"{number}") for number in range(10)])
    assert [result.reason for result in results] == ["denied"] * 5 + ["endpoint_down"] * 5
    assert fake.n_requests == 5 and "pay first" in results[-1].detail


@pytest.mark.parametrize("fault", [refused(502), Reply("cut", cut_after=10)])
def test_an_endpoint_that_lists_models_and_answers_nothing_is_given_up(serve, fault):
    fake, client = serve(fault, pace=HASTY._replace(failures_in_a_row=5), llm_requests_in_flight=1)
    results = client.ask([ask_for(f"{number}") for number in range(8)])
    assert [result.reason for result in results] == ["unavailable"] * 5 + ["endpoint_down"] * 3
    assert fake.n_requests == 30


def test_an_address_of_ipv6_and_one_with_a_slash_at_its_end_will_do():
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    try:
        server = RawServer(lambda head: response(MODELS if head.startswith("GET") else BODY), host="::1")
    except OSError:
        pytest.skip("no IPv6 here")
    endpoint = find_endpoint(server.url + "/", "", None, None)
    with client_of(server) as client:
        assert client.ask([ask_for("?")])[0].text == "yes" and endpoint.url == server.url
    server.close()


def test_a_proxy_of_the_environment_is_not_told_what_stays_on_this_machine(monkeypatch):
    with FakeEndpoint("yes", key="secret") as fake, raw_server(lambda _: b"") as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        assert find_endpoint(fake.url, "secret", None, None).model == "fake-model"
        assert proxy.heads == []


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "ftp://me:hunter2@127.0.0.1:1", "http://[::1"])
def test_a_proxy_that_cannot_be_used_is_one_line(monkeypatch, proxy):
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(SettingsError, match="proxy") as caught:
        find_endpoint("http://example.invalid/v1", "", None, None)
    assert "\n" not in str(caught.value) and "hunter2" not in str(caught.value)


def test_a_secret_in_an_address_is_refused_and_not_shown():
    with pytest.raises(SettingsError, match="llm_key_variable") as caught:
        LlmSettings(llm_url="http://me:hunter2@127.0.0.1:1/v1", llm_revision="1")
    assert "hunter2" not in str(caught.value)


def test_a_key_that_a_server_repeats_stays_out_of_what_is_kept(serve):
    _, client = serve(
        refused(400, "wrong: Bearer hunter22"), fake=FakeEndpoint(refused(400, "bad hunter22"), key="hunter22")
    )
    assert "hunter22" not in client.ask([ask_for("?")])[0].detail


def test_headers_that_drip_do_not_hold_the_driver(monkeypatch):
    monkeypatch.setattr("models.llm.identity._TIMEOUT_SECONDS", 0.3)

    def drip(_):
        yield b"HTTP/1.1 200 OK\r\n"
        for _ in range(60):
            time.sleep(0.05)
            yield b"X: y\r\n"

    with raw_server(lambda _: b"") as server:
        server.script = drip
        with pytest.raises(ModelError, match=r"gave no whole answer in 0\.3 s"):
            find_endpoint(server.url, "", None, None)


def test_a_refusal_of_the_model_to_answer_is_no_empty_answer(serve):
    body = {"choices": [{"message": {"content": None, "refusal": "I cannot."}, "finish_reason": "stop"}]}
    _, client = serve(Reply(raw=json.dumps(body).encode()))
    assert client.ask([ask_for("?")])[0].reason == "filtered"


def test_what_fails_says_why_when_the_endpoint_is_given_up(serve):
    _, client = serve(in_turn([], then=refused(401, "no such key")), pace=HASTY._replace(failures_in_a_row=2))
    results = client.ask([ask_for(f"{number}") for number in range(20)])
    assert results[-1].reason == "endpoint_down" and "no such key" in results[-1].detail

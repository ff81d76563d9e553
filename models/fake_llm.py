"""A language model for trials and tests: it speaks real HTTP on this machine, and fails in every way one asks for."""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Prompt:
    """A request as the endpoint got it. `text` is the last message, or the whole prompt of the completions api."""

    text: str
    messages: tuple[tuple[str, str], ...]
    body: dict[str, Any]
    number: int


@dataclass(frozen=True)
class Reply:
    """What the endpoint answers with.

    :param raw: bytes sent instead of a response in the protocol's form.
    :param delay_seconds: wait before the status line. :param drip_seconds: wait before each byte of the body.
    :param cut_after: bytes of the body after which the connection is cut; 0 cuts it before the status line.
    :param model: what the answer calls its model, by default what was asked for.
    """

    text: str = ""
    status: int = 200
    finish_reason: str = "stop"
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    delay_seconds: float = 0.0
    drip_seconds: float = 0.0
    cut_after: int | None = None
    has_usage: bool = True
    cached_prompt_tokens: int = 0
    model: str = ""


Script = Callable[[Prompt], "Reply | str"]


def refused(status: int = 400, message: str = "bad request", retry_after: str = "") -> Reply:
    """A refusal in the protocol's form, such as 400, 429 or 500."""
    raw = json.dumps({"error": {"message": message, "code": status}}).encode()
    return Reply(status=status, raw=raw, headers={"Retry-After": retry_after} if retry_after else {})


def cut_connection(after_bytes: int = 0) -> Reply:
    """The connection ends in the middle of an answer."""
    return Reply("an answer that nobody reads to its end", cut_after=after_bytes)


def in_prose(reply: str) -> str:
    """JSON with the words of a helpful assistant around it, and a fence."""
    return f"Sure! Here is the list you asked for:\n\n```json\n{reply}\n```\n\nLet me know if you need anything else."


def unescaped_quotes(reply: str, word: str) -> str:
    """JSON in which `word` stands in quotes that nobody escaped."""
    return reply.replace(word, f'"{word}"')


def in_turn(replies: Iterable[Reply | str], then: Script | Reply | str = "") -> Script:
    """Answers with each of `replies` once, in order of arrival, and then with `then`."""
    waiting: Iterator[Reply | str] = iter(list(replies))
    lock = threading.Lock()

    def script(prompt: Prompt) -> Reply | str:
        with lock:
            reply = next(waiting, None)
        if reply is not None:
            return reply
        return then(prompt) if callable(then) else then

    return script


class FakeEndpoint:
    """An OpenAI-compatible endpoint in a thread. `script` decides each answer; all prompts are kept and counted.

    It serves /v1/models, /v1/chat/completions, /v1/completions, /tokenize and /health. Tokens are words and marks.
    `stop` makes it dead, `start` brings it back at the same address. `model` and `root` may be set anew in between.
    """

    def __init__(
        self,
        script: Script | Reply | str = "",
        *,
        model: str = "fake-model",
        context_tokens: int = 8192,
        key: str = "",
        port: int = 0,
    ) -> None:
        self.script: Script = script if callable(script) else lambda _: script
        self.model, self.context_tokens, self.key = model, context_tokens, key
        self.root = model
        self.prompts: list[Prompt] = []
        self.most_in_flight = 0
        self._in_flight = 0
        self._lock = threading.Lock()
        self._port = port
        self._server: _Server | None = None
        self._stopping = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def n_requests(self) -> int:
        return len(self.prompts)

    @property
    def n_connections(self) -> int:
        """Connections that are open now."""
        return len(self._server.connections) if self._server is not None else 0

    @property
    def n_distinct(self) -> int:
        """Different prompts asked for so far."""
        return len({json.dumps(prompt.body, sort_keys=True) for prompt in self.prompts})

    def start(self) -> None:
        """Begin to answer."""
        endpoint = self

        class Handler(_Handler):
            fake = endpoint

        self._stopping.clear()
        self._server = _Server(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), name="fake llm", daemon=True).start()

    def stop(self) -> None:
        """Refuse connections from now on, and cut those that wait for an answer."""
        self._stopping.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server.cut_all()
            self._server = None

    def answer(self, body: dict[str, Any]) -> Reply:
        """What the script says to a request, which is counted."""
        messages = tuple((str(m["role"]), str(m["content"])) for m in body.get("messages", ()))
        text = messages[-1][1] if messages else str(body.get("prompt", ""))
        with self._lock:
            prompt = Prompt(text, messages, body, len(self.prompts))
            self.prompts.append(prompt)
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
        reply = self.script(prompt)
        return _within(replace(Reply(), text=reply) if isinstance(reply, str) else reply, body)

    def finished(self) -> None:
        """Called when an answer has left."""
        with self._lock:
            self._in_flight -= 1

    def wait(self, seconds: float) -> None:
        """Waits, but no longer than the endpoint lives."""
        if seconds and self._stopping.wait(seconds):
            raise ConnectionError("the endpoint was stopped")


def _within(reply: Reply, body: dict[str, Any]) -> Reply:
    """The reply as a server sends it that keeps to max_tokens."""
    limit = int(body.get("max_tokens", 1 << 30))
    ends = [match.end() for match in _WORD.finditer(reply.text)]
    return replace(reply, text=reply.text[: ends[limit - 1]], finish_reason="length") if len(ends) > limit else reply


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.connections: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def cut_all(self) -> None:
        """Ends every open connection."""
        for connection in list(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Cut connections are what it is for."""


class _Handler(BaseHTTPRequestHandler):
    fake: FakeEndpoint
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        self.fake.wait(0.0)
        about = {"id": self.fake.model, "root": self.fake.root, "max_model_len": self.fake.context_tokens}
        known = {"/v1/models": {"object": "list", "data": [about]}, "/health": {}}
        self._send(200 if self.path in known else 404, json.dumps(known.get(self.path, {})).encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if self.fake.key and self.headers.get("Authorization") != f"Bearer {self.fake.key}":
            return self._send(401, b'{"error": {"message": "wrong key"}}')
        if self.path == "/tokenize":
            return self._send(200, json.dumps({"count": _n_tokens(body)}).encode())
        try:
            self._reply(self.fake.answer(body), body)
        finally:
            self.fake.finished()

    def _reply(self, reply: Reply, body: dict[str, Any]) -> None:
        self.fake.wait(reply.delay_seconds)
        data = _response(reply, body) if reply.raw is None else reply.raw
        if reply.cut_after == 0:
            self.close_connection = True
            self.connection.close()
            return
        self._send(reply.status, data, reply)

    def _send(self, status: int, data: bytes, reply: Reply = Reply()) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            **reply.headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if reply.cut_after is not None:
            self.close_connection = True
            data = data[: reply.cut_after]
        for part in [data[i : i + 1] for i in range(len(data))] if reply.drip_seconds else [data]:
            self.fake.wait(reply.drip_seconds)
            self.wfile.write(part)


def _response(reply: Reply, body: dict[str, Any]) -> bytes:
    choice: dict[str, Any] = {"index": 0, "finish_reason": reply.finish_reason}
    choice |= {"message": {"role": "assistant", "content": reply.text}} if "messages" in body else {"text": reply.text}
    response: dict[str, Any] = {"object": "completion", "model": reply.model or body.get("model"), "choices": [choice]}
    if reply.has_usage:
        n_prompt, n_answer = _n_tokens(body), len(_WORD.findall(reply.text))
        details = {"cached_tokens": reply.cached_prompt_tokens}
        response["usage"] = {
            "prompt_tokens": n_prompt, "completion_tokens": n_answer, "prompt_tokens_details": details,
        }  # fmt: skip
    return json.dumps(response).encode()


def _n_tokens(body: dict[str, Any]) -> int:
    text = body.get("prompt") or "\n".join(str(message["content"]) for message in body.get("messages", ()))
    return count_words(str(text))


def count_words(text: str) -> int:
    """The fake model's tokens: words and marks.

    >>> count_words("Well, yes.")
    4
    """
    return len(_WORD.findall(text))

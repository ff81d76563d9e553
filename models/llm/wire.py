"""The OpenAI-compatible protocol: bodies of requests, and what a response means. Pure, and distrustful of servers."""

import email.utils
import json
import re
import time
from collections.abc import Mapping
from typing import Any

import httpx2
import msgspec

from models.llm.records import COMPLETION_STOP, OVER_CONTEXT, REFUSED, Request, Usage, completion_text
from models.llm.settings import LlmSettings

MAX_RESPONSE_BYTES = 16 << 20
MAX_TOKENS = 1 << 40
"""A server that counts more, or less than none, does not count."""
MAX_CHARS_PER_TOKEN = 128
"""No vocabulary has a longer token, so a longer answer is not what `max_tokens` allows."""
_MAX_RETRY_AFTER_SECONDS = 300.0
_SCHEMA_NAME = "answer"
_THOUGHT, _THOUGHT_END = "<think>", "</think>"
_OPEN_THOUGHT_END = re.compile(r"^[ \t]*</think>[ \t]*$", re.MULTILINE)
_MAX_DETAIL_BYTES = 64 << 10
_HIDDEN_KEY = "[key]"
_MIN_KEY_CHARS = 4


class Endpoint(msgspec.Struct, frozen=True):
    """Where a model answers: base address (with /v1), the model's id and root there, and its limit in tokens."""

    url: str
    model: str
    root: str
    context_tokens: int
    key: str = ""

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, {self.model!r}, {self.context_tokens} tokens)"  # keys stay out of logs

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}


class Choice(msgspec.Struct, frozen=True):
    """The one answer of a response."""

    text: str
    finish_reason: str
    usage: Usage | None


def path_of(settings: LlmSettings) -> str:
    """The path below the base address."""
    return "/chat/completions" if settings.llm_api == "chat" else "/completions"


def body_of(request: Request, settings: LlmSettings, model: str) -> dict[str, Any]:
    """The JSON body that asks for `request`."""
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_answer_tokens,
        "temperature": settings.llm_temperature,
        "seed": settings.llm_seed,
        **prompt_of(request, settings),
    }
    if settings.llm_api == "completions":
        body["stop"] = list(COMPLETION_STOP)
    if request.schema is not None:
        body |= _form_of(request.schema, settings)
    return body


def prompt_of(request: Request, settings: LlmSettings) -> dict[str, Any]:
    """The part of a body that the model reads."""
    if settings.llm_api == "chat":
        return {"messages": [{"role": message.role, "content": message.content} for message in request.messages]}
    return {"prompt": completion_text(request.messages, settings.llm_prompt_prefix)}


def _form_of(schema: dict[str, Any], settings: LlmSettings) -> dict[str, Any]:
    if settings.llm_structured == "response_format":
        named = {"name": _SCHEMA_NAME, "schema": schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    return {"structured_outputs": {"json": schema}} if settings.llm_structured == "structured_outputs" else {}


def parse_choice(data: bytes) -> Choice | None:
    """The answer in a response of status 200; None where it is not what the protocol promises."""
    body = parse_object(data)
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    message = choices[0].get("message")
    text = message.get("content") if isinstance(message, dict) else choices[0].get("text")
    if text is None and isinstance(message, dict):
        text = ""  # a model that had nothing to say
    if not isinstance(text, str):
        return None
    # Lone surrogates can be written in JSON, and nothing after this can store them.
    text = text.encode("utf-8", "replace").decode() if not text.isascii() else text
    return Choice(without_thoughts(text), str(choices[0].get("finish_reason") or "stop"), _usage(body.get("usage")))


def without_thoughts(text: str) -> str:
    """An answer without what the model thought first; nothing where it thought to the end.

    Some templates open the thought in the prompt, so that only its end is in the answer.

    >>> without_thoughts("<think>A list, [3]?</think> The mill."), without_thoughts("<think>Well")
    ('The mill.', '')
    """
    if text.lstrip().startswith(_THOUGHT):
        return text.partition(_THOUGHT_END)[2].lstrip()
    end = _OPEN_THOUGHT_END.search(text)
    return text[end.end() :].lstrip() if end else text


def parse_object(data: bytes) -> dict[str, Any]:
    """A JSON object, empty where there is none."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    details = value.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    numbers = [value.get("prompt_tokens"), cached or 0, value.get("completion_tokens")]
    if not all(isinstance(number, int) and 0 <= number < MAX_TOKENS for number in numbers):
        return None
    prompt, hit, answer = (int(number or 0) for number in numbers)
    return Usage(prompt, min(hit, prompt), answer)


def may_have_proxy(url: str) -> bool:
    """Whether the environment's proxies are for `url`. They are for the wide web: a model here is asked directly.

    >>> may_have_proxy("https://models.example/v1"), may_have_proxy("http://[::1]:8000/v1")
    (True, False)
    """
    return httpx2.URL(url).host not in ("127.0.0.1", "localhost", "::1")


def error_detail(data: bytes, key: str = "") -> str:
    """What a server says went wrong, in one short line. A server that repeats the `key` does not get it into a log."""
    error = parse_object(data).get("error")
    message = error.get("message") if isinstance(error, dict) else error
    text = message if isinstance(message, str) else data[:_MAX_DETAIL_BYTES].decode("utf-8", "replace")
    text = text.replace(key, _HIDDEN_KEY) if len(key) >= _MIN_KEY_CHARS else text
    return " ".join(text.split())[:300]


def refusal_reason(detail: str) -> str:
    """Whether a refusal of a request is about its length, as far as the server's words tell."""
    lower = detail.lower()
    words = ("context length", "context_length", "maximum context", "max_model_len", "too many tokens")
    return OVER_CONTEXT if any(word in lower for word in words) else REFUSED


def retry_after_seconds(headers: Mapping[str, str]) -> float:
    """How long a response asks to wait, from seconds or a date; 0 where it does not say, 300 at most.

    >>> retry_after_seconds({"retry-after": "7"})
    7.0
    """
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        seconds = _seconds_until(text)
    return min(max(seconds, 0.0), _MAX_RETRY_AFTER_SECONDS) if seconds == seconds else 0.0


def _seconds_until(date: str) -> float:
    try:
        return email.utils.parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0

"""The OpenAI-compatible protocol: bodies of requests, and what a response means. Pure, and distrustful of servers."""

import email.utils
import json
import re
import time
import zlib
from collections.abc import Mapping
from typing import Any

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
_MAX_NAME_CHARS = 200
_MIN_KEY_CHARS = 4
_THOUGHT, _THOUGHT_END = "<think>", "</think>"
_OPEN_THOUGHT_END = re.compile(r"^[ \t]*</think>[ \t]*$", re.MULTILINE)
FILTER = "content_filter"
"""How an answer ends that somebody held back."""


class UnreadableError(ValueError):
    """A response that is too large, or packed in a way that cannot be undone."""


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
    """The one answer of a response. `model` is what the server calls the one that gave it, empty where it does not."""

    text: str
    finish_reason: str
    usage: Usage | None
    model: str = ""


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
    finish_reason = str(choices[0].get("finish_reason") or "stop")
    if text is None and isinstance(message, dict):
        text = ""  # a model that had nothing to say
        finish_reason = FILTER if message.get("refusal") else finish_reason
    if not isinstance(text, str):
        return None
    model = body.get("model")
    named = words(model)[:_MAX_NAME_CHARS] if isinstance(model, str) else ""
    return Choice(without_thoughts(words(text)), finish_reason, _usage(body.get("usage")), named)


def words(value: object) -> str:
    """What a server says, as text that can be stored: lone surrogates can be written in JSON, and nowhere else."""
    text = str(value)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def decoded(data: bytes, encoding: str) -> bytes:
    """The body that `data` holds, packed by the content encoding of that name: a few bytes may hold gigabytes.

    :raises UnreadableError: it is over MAX_RESPONSE_BYTES, damaged, or neither gzip nor deflate.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return data
    if name not in ("gzip", "x-gzip", "deflate"):
        raise UnreadableError(f"bytes in the encoding {encoding[:40]!r}, which nobody asked for")
    unpacking = zlib.decompressobj(wbits=32 + zlib.MAX_WBITS)
    try:
        text = unpacking.decompress(data, MAX_RESPONSE_BYTES + 1)
    except zlib.error as error:
        raise UnreadableError(f"what is called {name} and is not: {error}") from error
    if len(text) > MAX_RESPONSE_BYTES:
        raise UnreadableError(f"over {MAX_RESPONSE_BYTES} bytes")
    if not unpacking.eof:
        raise UnreadableError(f"a part of its {name} bytes")
    return text


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


def error_detail(data: bytes, key: str = "") -> str:
    """What a server says went wrong, in one short line of plain characters; `key` is left out of it."""
    error = parse_object(data).get("error")
    message = error.get("message") if isinstance(error, dict) else error
    text = message if isinstance(message, str) else data[:1000].decode("utf-8", "replace")
    text = text.replace(key, "[key]") if len(key) >= _MIN_KEY_CHARS else text
    plain = "".join(character if character.isprintable() else " " for character in words(text)[:10_000])
    return " ".join(plain.split())[:300]


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

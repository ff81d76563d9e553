"""What is asked of a language model and what comes back. Records are frozen and plain, with deterministic coders."""

import re
from typing import Any, Literal

import msgspec


class Message(msgspec.Struct, frozen=True, array_like=True):
    """One turn of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


class Request(msgspec.Struct, frozen=True):
    """One prompt. `schema` is the JSON Schema of the answer, none for free text.

    `stage` and `owner` (the id of the content it is asked for) say what the bill is for, `prompt` (the version of the
    prompt that was filled) how long the answer is worth keeping; the answer does not depend on them.
    """

    messages: tuple[Message, ...]
    max_answer_tokens: int
    schema: dict[str, Any] | None = None
    stage: str = ""
    owner: str = ""
    prompt: str = ""


class Usage(msgspec.Struct, frozen=True, array_like=True):
    """Tokens as the server counted them; `cached_prompt_tokens` are among the prompt tokens."""

    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    answer_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.cached_prompt_tokens + other.cached_prompt_tokens,
            self.answer_tokens + other.answer_tokens,
        )


class Answer(msgspec.Struct, frozen=True):
    """What the model said. `is_cut` says that it reached `max_answer_tokens` before its end.

    `seconds` is wall time from the first attempt, waits included. `wasted` was or may have been billed for attempts
    that failed. `is_stored` marks an answer that was paid for earlier; `is_estimated` one without usage from the
    server, which is booked with the most it may have been.
    """

    text: str
    usage: Usage = Usage()
    is_cut: bool = False
    seconds: float = 0.0
    n_attempts: int = 1
    wasted: Usage = Usage()
    is_stored: bool = False
    is_estimated: bool = False


OVER_CONTEXT = "over_context"
REFUSED = "refused"
DENIED = "denied"
UNAVAILABLE = "unavailable"
TIMED_OUT = "timed_out"
ENDPOINT_DOWN = "endpoint_down"
FILTERED = "filtered"
BAD_RESPONSE = "bad_response"
MODEL_CHANGED = "model_changed"
BUDGET_USD = "budget_usd"
BUDGET_GPU_HOURS = "budget_gpu_hours"

ENDING_REASONS = frozenset({ENDPOINT_DOWN, MODEL_CHANGED, BUDGET_USD, BUDGET_GPU_HOURS})
"""Reasons that lie not in the request: every further one would fail alike, so the run should end."""
PASSING_REASONS = frozenset({UNAVAILABLE, TIMED_OUT, BAD_RESPONSE, DENIED})
"""Reasons that lie in the endpoint: asked again another day, the same request may be answered."""


class LlmFailure(msgspec.Struct, frozen=True):
    """Why one request has no answer. `reason` is one of the constants here; `wasted` was or may have been billed."""

    reason: str
    detail: str = ""
    wasted: Usage = Usage()
    seconds: float = 0.0
    n_attempts: int = 0


Result = Answer | LlmFailure

_HEAD = re.compile(r"^(Input:|Output:)", re.MULTILINE)


def completion_text(messages: tuple[Message, ...], prefix: str = "") -> str:
    """The prompt of the completions api: instructions, then inputs with their outputs, the last one open.

    >>> print(completion_text((Message("system", "Add."), Message("user", "1 1"))))
    Add.
    <BLANKLINE>
    Input:
    1 1
    <BLANKLINE>
    Output:
    <BLANKLINE>
    """
    heads = {"system": "", "user": "Input:\n", "assistant": "Output:\n"}
    # A document that has such a line of its own opens no turn with it.
    parts = [heads[message.role] + _HEAD.sub(r" \1", message.content) for message in messages]
    return prefix + "\n\n".join([*parts, "Output:\n"])


COMPLETION_STOP = ("\nInput:",)
"""Where a base model goes on with an example of its own."""

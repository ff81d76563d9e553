"""How long a request is tried: attempts and the waits between them, turns, and when an endpoint is given up."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

from models.llm.breaker import FAILURES_IN_A_ROW, Breaker
from models.llm.records import ENDPOINT_DOWN, MODEL_CHANGED, REFUSED, TIMED_OUT, LlmFailure, Usage
from models.llm.served import Served
from models.llm.settings import LlmSettings
from models.llm.throttle import Throttle
from models.llm.transport import Trouble

T = TypeVar("T")

TURNS_PER_ATTEMPT = 10
"""Times that a request may be sent for each of `llm_attempts`, where it is one of too many and others are answered."""

_MAX_BACKOFF_SECONDS = 30.0
_MAX_TIMEOUTS = 2


class Pace(NamedTuple):
    """How patient a client is: the first wait before another attempt, failures for good in a row until it gives up."""

    backoff_seconds: float = 1.0
    failures_in_a_row: int = FAILURES_IN_A_ROW
    probe_seconds: float = 1.0


@dataclass
class _Tries:
    """What became of one request so far. `n_failed` counts attempts that say something against it."""

    wasted: Usage = field(default_factory=Usage)
    n_timeouts: int = 0
    n_failed: int = 0

    def note(self, trouble: Trouble, most: Usage, *, is_in_line: bool) -> None:
        """Books an attempt that may have cost `most`. Who is in line only waits for its turn."""
        self.wasted += most if trouble.may_be_billed else Usage()
        self.n_timeouts += trouble.reason == TIMED_OUT
        self.n_failed += not is_in_line


class Patience:
    """One endpoint's, shared by all requests to it. For one event loop."""

    def __init__(self, served: Served, settings: LlmSettings, pace: Pace) -> None:
        self._served, self._settings, self._pace = served, settings, pace
        self.throttle = Throttle(settings.llm_requests_in_flight, pace.backoff_seconds)
        self.breaker = Breaker(served.is_there, settings.llm_outage_seconds, pace.failures_in_a_row, pace.probe_seconds)

    async def tried(
        self, attempt_it: Callable[[int, Usage], Awaitable[T]], n_prompt: int, n_answer: int
    ) -> T | LlmFailure:
        """What `attempt_it(attempt, wasted)` returns, tried again after Trouble for as long as that may help.

        What asks for no answer is tried at once, whoever waits.
        """
        tries, n_most = _Tries(), self._settings.llm_attempts * TURNS_PER_ATTEMPT
        for attempt in range(1, n_most + 1):
            if (failure := await self._given_up(tries.wasted, attempt - 1)) is not None:
                return failure
            n_answered = self.throttle.n_answered
            try:
                return await (self._in_turn if n_answer else _at_once)(partial(attempt_it, attempt, tries.wasted))
            except Trouble as trouble:
                is_in_line = trouble.is_too_much and self.throttle.n_answered > n_answered
                tries.note(trouble, Usage(n_prompt, 0, n_answer), is_in_line=is_in_line)
                if trouble.is_lost and not await self.breaker.is_alive():
                    return LlmFailure(ENDPOINT_DOWN, trouble.detail, tries.wasted, 0.0, attempt)
                if attempt == n_most or self._is_hopeless(trouble, tries):
                    return self._failed(trouble, tries.wasted, attempt)
                await asyncio.sleep(max(trouble.wait_seconds, self._backoff_seconds(max(tries.n_failed, 1))))
        raise AssertionError("the last attempt returns")

    async def _given_up(self, wasted: Usage, n_attempts: int) -> LlmFailure | None:
        """Why nothing is sent to the endpoint any more; None where it is."""
        if self._served.other:
            return LlmFailure(MODEL_CHANGED, self._served.other, wasted, 0.0, n_attempts)
        if not await self.breaker.allows():
            return LlmFailure(ENDPOINT_DOWN, self.breaker.why or "no answer", wasted, 0.0, n_attempts)
        return None

    def _is_hopeless(self, trouble: Trouble, tries: _Tries) -> bool:
        n_left = self._settings.llm_attempts - tries.n_failed
        return trouble.is_final or n_left <= 0 or tries.n_timeouts >= _MAX_TIMEOUTS

    def _failed(self, trouble: Trouble, wasted: Usage, n_attempts: int) -> LlmFailure:
        # Who has refused everything so far does not take how requests are put, whatever they ask.
        is_of_this_one = self.throttle.n_answered > 0 or trouble.reason != REFUSED
        self.breaker.record(trouble.is_own_fault and is_of_this_one, trouble.detail)
        return LlmFailure(trouble.reason, trouble.detail, wasted, 0.0, n_attempts)

    async def _in_turn(self, attempt_it: Callable[[], Awaitable[T]]) -> T:
        """One attempt, when it is its turn."""
        await self.throttle.enter()
        end = self.throttle.ended  # also where it is cancelled on its way
        try:
            result = await attempt_it()
            end = self.throttle.answered
            return result
        except Trouble as trouble:
            if trouble.is_too_much:
                end = partial(self.throttle.refused, trouble.wait_seconds)
            raise
        finally:
            end()

    def _backoff_seconds(self, attempt: int) -> float:
        """Before the next attempt: twice as long each time, less a random part of up to half."""
        seconds = min(self._pace.backoff_seconds * 2.0 ** (attempt - 1), _MAX_BACKOFF_SECONDS)
        return seconds * random.uniform(0.5, 1.0)


async def _at_once(attempt_it: Callable[[], Awaitable[T]]) -> T:
    return await attempt_it()

"""Asks an OpenAI-compatible endpoint. Every request has a result of its own; no request, however bad, raises."""

import asyncio
import os
import queue
import threading
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import suppress
from typing import Self, TypeVar

import msgspec

from models.llm import wire
from models.llm.budget import Budget, Refusal, Reservation
from models.llm.connections import Fetched
from models.llm.counting import TEMPLATE_TOKENS, CountTokens, estimated_tokens, surely_fits
from models.llm.patience import Pace, Patience
from models.llm.records import (
    BAD_RESPONSE,
    ENDPOINT_DOWN,
    FILTERED,
    MODEL_CHANGED,
    OVER_CONTEXT,
    Answer,
    LlmFailure,
    Request,
    Result,
    Usage,
)
from models.llm.served import Served, State
from models.llm.settings import LlmBudgetSettings, LlmSettings
from models.llm.transport import Transport, Trouble
from models.llm.wire import Choice, Endpoint

T = TypeVar("T")

COUNTED_AHEAD = 4
"""Prompts that are counted while all slots are taken."""

UNREAD_SHARE = 4
"""One result for this many slots may wait for its reader while all slots are taken."""

_ALIVE_CHECK_SECONDS = 10.0
# How vLLM marks what it gave up on: a request that was dropped, or an engine that failed.
_UNFINISHED = frozenset({"abort", "error"})


def n_held_back(settings: LlmSettings) -> int:
    """Results that a client may have beyond its slots and not have yielded yet."""
    return settings.llm_requests_in_flight // UNREAD_SHARE


class LlmClient:
    """A client of one endpoint, to be shared by all threads of a process. Close it, or use it as a context manager.

    `count_tokens` counts a text with the model's own tokenizer; without it the endpoint's /tokenize is asked.
    Requests run on an event loop in a thread of its own, at most `llm_requests_in_flight` at once for all callers.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        settings: LlmSettings,
        *,
        count_tokens: CountTokens | None = None,
        budget: Budget | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.endpoint, self.settings = endpoint, settings
        self.budget = budget or Budget(LlmBudgetSettings())
        self._count_tokens = count_tokens
        self._transport = Transport(endpoint, settings)
        self._served = Served(endpoint, self._transport.list_models)
        self._patience = Patience(self._served, settings, pace or Pace())
        self._slots = asyncio.Semaphore(settings.llm_requests_in_flight)
        self._settled = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="llm client", daemon=True)
        self._thread.start()
        self._pid = os.getpid()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_down(self) -> bool:
        """Whether the endpoint was given up: a run should end then, with what it has."""
        return self._patience.breaker.is_open

    def ask(self, requests: Sequence[Request]) -> list[Result]:
        """One result for each request, in their order. Safe to call from any number of threads."""
        results = dict(item for item in self.ask_each(requests) if item is not None)
        return [results[number] for number in range(len(requests))]

    def ask_each(
        self, requests: Sequence[Request], tick_seconds: float | None = None
    ) -> Iterator[tuple[int, Result] | None]:
        """Yields number and result of each request as they come, and None each time none came for `tick_seconds`.

        Results that nobody took yet count as under way, but for a few that keep slots busy while a reader works: so a
        slow reader has few of them to lose. Leaving the iterator early cancels what is under way.
        """
        done: queue.SimpleQueue[tuple[int, Result]] = queue.SimpleQueue()
        n_slots = self.settings.llm_requests_in_flight
        room = asyncio.Semaphore(n_slots + n_held_back(self.settings))
        running = asyncio.run_coroutine_threadsafe(self._ask_all(requests, done, room), self._loop)
        try:
            n_left = len(requests)
            while n_left:
                try:
                    item = done.get(timeout=tick_seconds or _ALIVE_CHECK_SECONDS)
                except queue.Empty:
                    if running.done() and done.empty():
                        running.result()  # raises what ended it: somebody closed the client
                    if tick_seconds is not None:
                        yield None
                    continue
                n_left -= 1
                self._loop.call_soon_threadsafe(room.release)
                yield item
        finally:
            running.cancel()

    def close(self) -> None:
        """Cancels what is under way and closes all connections. A forked child leaves its parent's client alone."""
        if os.getpid() != self._pid:  # here nothing runs the loop
            return
        if self._thread is threading.current_thread():  # a collected owner's last wish may be carried out anywhere
            threading.Thread(target=self.close, name="llm client's end").start()
            return
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _shut(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._transport.close()

    async def _ask_all(
        self, requests: Sequence[Request], done: queue.SimpleQueue[tuple[int, Result]], room: asyncio.Semaphore
    ) -> None:
        waiting = iter(enumerate(requests))

        async def work() -> None:
            for number, request in waiting:
                n_prompt = await self._guarded(self._count(request))
                await room.acquire()
                async with self._slots:
                    done.put((number, await self._timed(request, n_prompt)))

        n_workers = min(len(requests), self.settings.llm_requests_in_flight + COUNTED_AHEAD)
        await asyncio.gather(*(work() for _ in range(n_workers)))

    async def _timed(self, request: Request, n_prompt: int | LlmFailure) -> Result:
        started_at = self._loop.time()
        result = n_prompt if isinstance(n_prompt, LlmFailure) else await self._guarded(self._ask(request, n_prompt))
        return msgspec.structs.replace(result, seconds=self._loop.time() - started_at)

    async def _guarded(self, work: Awaitable[T]) -> T | LlmFailure:
        """What `work` comes to, a fault of a library being a failure of its request alone."""
        try:
            return await work
        except Exception as error:
            return LlmFailure(BAD_RESPONSE, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")

    async def _count(self, request: Request) -> int | LlmFailure:
        """The tokens of a prompt that fits the context with its answer. Counted ahead, so that no slot waits for it."""
        n_prompt = await self._patience.tried(lambda attempt, wasted: self._prompt_tokens(request), 0, 0)
        limit = self.endpoint.context_tokens
        if isinstance(n_prompt, int) and n_prompt + request.max_answer_tokens > limit:
            detail = f"{n_prompt} tokens and {request.max_answer_tokens} for the answer exceed {limit}"
            return LlmFailure(OVER_CONTEXT, detail)
        return n_prompt

    async def _ask(self, request: Request, n_prompt: int) -> Result:
        async def send(attempt: int, wasted: Usage) -> Result:
            return await self._send(request, n_prompt, attempt, wasted)

        return await self._patience.tried(send, n_prompt, request.max_answer_tokens)

    async def _send(self, request: Request, n_prompt: int, attempt: int, wasted: Usage) -> Result:
        """One attempt, paid for from the budget. Raises Trouble."""
        reserved = await self._reserve(n_prompt, request.max_answer_tokens)
        if isinstance(reserved, Refusal):
            standing = self.budget.standing(reserved.reason, n_prompt, request.max_answer_tokens)
            return LlmFailure(reserved.reason, standing, wasted, 0.0, attempt - 1)
        billed = reserved.usage  # also where it is cancelled on its way
        try:
            response = await self._transport.generate(request)
            choice = self._choice(response)
            billed = choice.usage or billed
        except Trouble as trouble:
            billed = reserved.usage if trouble.may_be_billed else Usage()
            raise
        finally:
            self.budget.settle(reserved, billed)
            self._wake_waiting()
        self._patience.breaker.record(succeeded=True)
        reason = await self._unsure(response, choice)
        if reason:
            detail = self._served.other or self._patience.breaker.why or "nobody could tell which model had answered"
            return LlmFailure(reason, detail, wasted + billed, 0.0, attempt)
        if choice.finish_reason == wire.FILTER:
            return LlmFailure(FILTERED, "the endpoint's filter held the answer back", wasted + billed, 0.0, attempt)
        # What a server adds beyond its limit, megabytes perhaps, is no part of an answer.
        text = choice.text[: request.max_answer_tokens * wire.MAX_CHARS_PER_TOKEN]
        is_cut = choice.finish_reason == "length" or len(text) < len(choice.text)
        return Answer(text, billed, is_cut, 0.0, attempt, wasted, is_estimated=choice.usage is None)

    def _choice(self, response: Fetched) -> Choice:
        """The finished answer in a response; raises Trouble."""
        choice = wire.parse_choice(response.data)
        if choice is None or choice.finish_reason in _UNFINISHED:
            detail = wire.error_detail(response.data, self.endpoint.key)
            raise Trouble(BAD_RESPONSE, f"a response without a finished answer: {detail}", may_be_billed=True)
        return choice

    async def _unsure(self, response: Fetched, choice: Choice) -> str:
        """Why an answer cannot be said to be of the endpoint's model; empty where it is. Waits out a restart."""
        while (state := await self._served.vouch(response.connection, choice.model)) is State.SILENT:
            if not await self._patience.breaker.is_alive():
                return ENDPOINT_DOWN
        return MODEL_CHANGED if state is State.OTHER else ""

    async def _reserve(self, n_prompt: int, n_answer: int) -> Reservation | Refusal:
        """Sets the cost of a request aside; waits while those under way may leave enough for it."""
        while True:
            settled = self._settled
            reserved = self.budget.reserve(n_prompt, n_answer)
            if isinstance(reserved, Reservation) or reserved.is_final:
                return reserved
            with suppress(TimeoutError):  # another client may share the budget
                await asyncio.wait_for(settled.wait(), timeout=1.0)

    def _wake_waiting(self) -> None:
        self._settled.set()
        self._settled = asyncio.Event()

    async def _prompt_tokens(self, request: Request) -> int:
        if self._count_tokens is None:
            texts = [message.content for message in request.messages]
            if self.budget.is_limited or not surely_fits(
                texts, request.max_answer_tokens, self.endpoint.context_tokens
            ):
                return await self._transport.count_tokens(request)
            return estimated_tokens(texts)  # the bill of a cut connection alone rests on it
        if self.settings.llm_api == "completions":
            return self._count_tokens(str(wire.prompt_of(request, self.settings)["prompt"])) + 1
        text = "\n".join(message.content for message in request.messages)
        return self._count_tokens(text) + TEMPLATE_TOKENS * (len(request.messages) + 1)

"""Money and device time: what a request may cost is set aside before it is sent, so that money is never passed."""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from models.llm.records import BUDGET_GPU_HOURS, BUDGET_USD, Usage
from models.llm.settings import LlmBudgetSettings

_MILLION = 1_000_000
# What fits to the last cent is not refused for the last bit of a float.
_ROUNDING = 1 + 1e-12


class Reservation(NamedTuple):
    """What one request may take at most."""

    usage: Usage


class Refusal(NamedTuple):
    """Why a request may not be sent. `is_final` is False where one that is under way may yet leave enough."""

    reason: str
    is_final: bool


def token_price_usd(settings: LlmBudgetSettings, usage: Usage) -> float:
    """What the tokens cost, at the stated prices.

    >>> prices = LlmBudgetSettings(usd_per_million_prompt_tokens=1.0, usd_per_million_answer_tokens=4.0)
    >>> token_price_usd(prices, Usage(1_000_000, 0, 250_000))
    2.0
    """
    fresh = settings.usd_per_million_prompt_tokens
    cached = fresh if settings.usd_per_million_cached_tokens is None else settings.usd_per_million_cached_tokens
    return (
        (usage.prompt_tokens - usage.cached_prompt_tokens) * fresh
        + usage.cached_prompt_tokens * cached
        + usage.answer_tokens * settings.usd_per_million_answer_tokens
    ) / _MILLION


class Budget:
    """One worker's `share` of the budget. Safe to share between threads.

    Tokens are reserved at the highest price they may have. Device time runs while any request is under way, and counts
    `n_devices` times; since nobody knows beforehand how long a request takes, each one under way when the limit comes
    may pass it. Where money stands for device time too (`usd_per_gpu_hour`), that part may be passed as far.
    """

    def __init__(
        self,
        settings: LlmBudgetSettings,
        share: float = 1.0,
        n_devices: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self._usd = None if settings.budget_usd is None else settings.budget_usd * share
        self._gpu_hours = None if settings.budget_gpu_hours is None else settings.budget_gpu_hours * share
        self._n_devices = n_devices
        self._clock = clock
        self._lock = threading.Lock()
        # Whole tokens, so that no sum of millions of small prices drifts.
        self._usage = Usage()
        self._reserved_prompt = self._reserved_answer = self._n_open = 0
        self._busy_seconds, self._busy_since = 0.0, 0.0

    def reserve(self, prompt_tokens: int, max_answer_tokens: int) -> Reservation | Refusal:
        """Sets aside what the request may cost, or says what it would pass."""
        with self._lock:
            worst = Usage(prompt_tokens, 0, max_answer_tokens)
            if self._gpu_hours is not None and self._device_hours() >= self._gpu_hours:
                return Refusal(BUDGET_GPU_HOURS, True)
            if self._is_passed_with(self._reserved_prompt + prompt_tokens, self._reserved_answer + max_answer_tokens):
                return Refusal(BUDGET_USD, self._is_passed_with(prompt_tokens, max_answer_tokens))
            self._open()
            self._reserved_prompt += prompt_tokens
            self._reserved_answer += max_answer_tokens
            return Reservation(worst)

    def settle(self, reservation: Reservation, usage: Usage) -> None:
        """Books what the request really took; `reservation.usage` where nobody knows, an empty usage for nothing."""
        with self._lock:
            self._n_open -= 1
            if self._n_open == 0:
                self._busy_seconds += self._clock() - self._busy_since
            self._reserved_prompt -= reservation.usage.prompt_tokens
            self._reserved_answer -= reservation.usage.answer_tokens
            self._usage += usage

    def standing(self, reason: str, prompt_tokens: int, max_answer_tokens: int) -> str:
        """How far this process's share of what `reason` names is spent, and what a request may take, in words."""
        with self._lock:
            if reason == BUDGET_GPU_HOURS:
                return f"of its share of {self._gpu_hours:g} hours a process has used {self._device_hours():.4g}"
            most = self._most_usd(prompt_tokens, max_answer_tokens)
            spent = f"of its share of {self._usd:g} USD a process has spent {self._spent_usd():.4g}"
            return f"{spent}, and the next request may take {most:.4g}"

    @property
    def is_limited(self) -> bool:
        """Whether anything is ever refused."""
        return self._usd is not None or self._gpu_hours is not None

    @property
    def usage(self) -> Usage:
        """Tokens booked so far."""
        with self._lock:
            return self._usage

    @property
    def device_hours(self) -> float:
        """Device hours so far, of requests under way too."""
        with self._lock:
            return self._device_hours()

    @property
    def spent_usd(self) -> float:
        """Money so far, without what is only reserved."""
        with self._lock:
            return self._spent_usd()

    def _spent_usd(self) -> float:
        return token_price_usd(self.settings, self._usage) + self._device_hours() * self.settings.usd_per_gpu_hour

    def _is_passed_with(self, prompt_tokens: int, answer_tokens: int) -> bool:
        """Whether money would be passed with so many tokens more, at the highest price they may have."""
        if self._usd is None:
            return False
        return self._spent_usd() + self._most_usd(prompt_tokens, answer_tokens) > self._usd * _ROUNDING

    def _most_usd(self, prompt_tokens: int, answer_tokens: int) -> float:
        fresh = Usage(prompt_tokens, 0, answer_tokens)
        cached = Usage(prompt_tokens, prompt_tokens, answer_tokens)
        return max(token_price_usd(self.settings, usage) for usage in (fresh, cached))

    def _open(self) -> None:
        if self._n_open == 0:
            self._busy_since = self._clock()
        self._n_open += 1

    def _device_hours(self) -> float:
        under_way = self._clock() - self._busy_since if self._n_open else 0.0
        return (self._busy_seconds + under_way) * self._n_devices / 3600

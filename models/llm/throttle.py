"""Fewer requests at once while an endpoint says that there are too many: its limit is for all who ask, not for one."""

import asyncio
import random
from collections.abc import Callable

_MAX_PAUSE_SECONDS = 30.0


class Throttle:
    """How many attempts may be under way. For one event loop.

    They are `n_most`, half as many after each refusal for haste, and one more for each round of answers (additive
    increase, multiplicative decrease, as in TCP).

    After a refusal nobody sends anything for as long as it asks, or for `pause_seconds`, twice as long each time while
    nothing is answered, less a random part of up to half. Refusals that come within a pause are of what was sent
    before it. `n_answered` counts the attempts that were answered.
    """

    def __init__(self, n_most: int, pause_seconds: float, clock: Callable[[], float] | None = None) -> None:
        self._n_most, self._pause_seconds = n_most, pause_seconds
        self._limit, self._n_open, self._n_pauses = float(n_most), 0, 0
        self._resumes_at = 0.0
        self.n_answered = 0
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._changed = asyncio.Event()

    @property
    def n_allowed(self) -> int:
        """Attempts that may be under way now."""
        return int(self._limit)

    async def enter(self) -> None:
        """Waits until an attempt may be made. Each is followed by one of the three below."""
        while True:
            changed, wait_seconds = self._changed, self._resumes_at - self._clock()
            if wait_seconds > 0:
                await asyncio.sleep(wait_seconds)
            elif self._n_open < self.n_allowed:
                self._n_open += 1
                return
            else:
                await changed.wait()

    def answered(self) -> None:
        """An attempt was answered."""
        self.n_answered += 1
        self._n_pauses = 0
        self._limit = min(self._limit + 1 / self._limit, self._n_most)
        self.ended()

    def refused(self, wait_seconds: float) -> None:
        """An attempt was one too many; the endpoint asks to wait so long, or 0."""
        now = self._clock()
        if now >= self._resumes_at:
            self._limit = max(self._limit / 2, 1.0)
            pause_seconds = min(self._pause_seconds * 2.0**self._n_pauses, _MAX_PAUSE_SECONDS)
            self._n_pauses += 1
            self._resumes_at = now + pause_seconds * random.uniform(0.5, 1.0)
        self._resumes_at = max(self._resumes_at, now + wait_seconds)
        self.ended()

    def ended(self) -> None:
        """An attempt ended otherwise."""
        self._n_open -= 1
        self._changed.set()
        self._changed = asyncio.Event()

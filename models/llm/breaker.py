"""Whether the endpoint is alive: one probe for all who are in trouble, and an early end where nothing answers."""

import asyncio
from collections.abc import Awaitable, Callable

FAILURES_IN_A_ROW = 20
_PROBE_SECONDS = 1.0


class Breaker:
    """Opens when the endpoint does not answer for `outage_seconds`, or when request after request fails for good.

    `probe` says whether the endpoint answers at all. While the breaker is open, requests fail at once, except that
    after another `outage_seconds` one of them probes again, and success closes it. `why` is the last failure, in
    words. For one event loop.
    """

    def __init__(
        self,
        probe: Callable[[], Awaitable[bool]],
        outage_seconds: float,
        failures_in_a_row: int = FAILURES_IN_A_ROW,
        probe_seconds: float = _PROBE_SECONDS,
    ) -> None:
        self._probe = probe
        self._outage_seconds = outage_seconds
        self._limit = failures_in_a_row
        self._probe_seconds = probe_seconds
        self.why = ""
        self._n_failures = 0
        self._opened_at: float | None = None
        self._probing: asyncio.Task[bool] | None = None

    @property
    def is_open(self) -> bool:
        return self._opened_at is not None

    async def allows(self) -> bool:
        """Whether a request may be sent; asks the endpoint where the breaker has been open for long enough."""
        if self._opened_at is None:
            return True
        if asyncio.get_running_loop().time() - self._opened_at < self._outage_seconds:
            return False
        return await self.is_alive()

    async def is_alive(self) -> bool:
        """Waits until the endpoint answers again; False, and the breaker opens, when it does not in time."""
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._wait())
        return await asyncio.shield(self._probing)

    def record(self, succeeded: bool, why: str = "") -> None:
        """Counts a request that was answered, or that failed for a reason that may be the endpoint's."""
        self.why = why or self.why
        self._n_failures = 0 if succeeded else self._n_failures + 1
        if succeeded:
            self._opened_at = None
        elif self._n_failures >= self._limit:
            self._open()

    def _open(self) -> None:
        self._opened_at = asyncio.get_running_loop().time()

    async def _wait(self) -> bool:
        loop = asyncio.get_running_loop()
        # One that was found dead is asked once: it has had its time.
        deadline = loop.time() + (0.0 if self.is_open else self._outage_seconds)
        while not await self._probe():
            if loop.time() >= deadline:
                self._open()
                return False
            await asyncio.sleep(min(self._probe_seconds, max(deadline - loop.time(), 0.0)))
        # An endpoint that answers probes and nothing else is as good as dead.
        self._n_failures = 0 if self.is_open else self._n_failures
        self._opened_at = None
        return True

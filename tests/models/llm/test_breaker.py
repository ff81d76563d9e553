"""One probe for all who are in trouble; open after the outage, closed again by the first answer."""

import asyncio

from models.llm.breaker import Breaker


class Endpoint:
    def __init__(self, *answers, then=True):
        self.answers, self.then, self.n_probes = list(answers), then, 0

    async def probe(self):
        self.n_probes += 1
        await asyncio.sleep(0)
        return self.answers.pop(0) if self.answers else self.then


def test_all_who_are_in_trouble_wait_for_one_probe():
    async def go():
        endpoint = Endpoint(False, False, False)
        breaker = Breaker(endpoint.probe, 100.0, probe_seconds=0.0)
        assert all(await asyncio.gather(*(breaker.is_alive() for _ in range(50))))
        assert endpoint.n_probes == 4 and not breaker.is_open

    asyncio.run(go())


def test_it_opens_when_nothing_answers_in_time_and_closes_when_something_does():
    async def go():
        endpoint = Endpoint(then=False)
        breaker = Breaker(endpoint.probe, 0.0, probe_seconds=0.0)
        assert not await breaker.is_alive() and breaker.is_open
        assert not await breaker.allows()  # asked again at once, since no outage is waited for
        endpoint.then = True
        assert await breaker.allows() and not breaker.is_open

    asyncio.run(go())


def test_while_it_is_open_nobody_asks():
    async def go():
        endpoint = Endpoint()
        breaker = Breaker(endpoint.probe, 1000.0, failures_in_a_row=2)
        breaker.record(False)
        assert not breaker.is_open
        breaker.record(False)
        assert breaker.is_open and not await breaker.allows() and endpoint.n_probes == 0
        breaker.record(True)  # one that was under way came back
        assert await breaker.allows()

    asyncio.run(go())


def test_failures_count_only_in_a_row():
    async def go():
        breaker = Breaker(Endpoint().probe, 1000.0, failures_in_a_row=3)
        for succeeded in [False, False, True, False, False, True]:
            breaker.record(succeeded)
        assert not breaker.is_open

    asyncio.run(go())

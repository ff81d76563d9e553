"""Half as many after a refusal, one more for each round of answers, and a pause that is everybody's."""

import asyncio

from models.llm.throttle import Throttle


def throttled(work, n_most=8, pause_seconds=1.0):
    """Runs `work(throttle, now)` on a clock that only sleeping moves."""
    now = [100.0]

    async def sleep(seconds):
        now[0] += seconds

    async def go():
        throttle = Throttle(n_most, pause_seconds, lambda: now[0])
        real, asyncio.sleep = asyncio.sleep, sleep
        try:
            await work(throttle, now)
        finally:
            asyncio.sleep = real

    asyncio.run(go())


def test_refusals_of_one_burst_halve_it_once():
    async def work(throttle, now):
        for _ in range(8):
            await throttle.enter()
        for _ in range(8):
            throttle.refused(0.0)
        assert throttle.n_allowed == 4 and now[0] == 100.0
        await throttle.enter()
        assert 100.5 <= now[0] <= 101.0
        throttle.refused(0.0)
        assert throttle.n_allowed == 2

    throttled(work)


def test_it_never_falls_below_one_and_grows_again_to_all():
    async def work(throttle, now):
        for _ in range(10):
            await throttle.enter()
            throttle.refused(0.0)
        assert throttle.n_allowed == 1
        for _ in range(60):
            await throttle.enter()
            throttle.answered()
        assert throttle.n_allowed == 8 and throttle.n_answered == 60

    throttled(work)


def test_the_wait_that_is_asked_for_is_everybodys_and_pauses_grow_while_nothing_is_answered():
    async def work(throttle, now):
        await throttle.enter()
        throttle.refused(20.0)
        await throttle.enter()
        assert now[0] == 120.0
        for n_pauses in range(1, 9):
            before = now[0]
            throttle.refused(0.0)
            await throttle.enter()
            full = min(2.0**n_pauses, 30.0)
            assert full / 2 <= now[0] - before <= full

    throttled(work)


def test_who_comes_too_many_waits_until_another_has_ended():
    async def work(throttle, now):
        await throttle.enter()
        second = asyncio.create_task(throttle.enter())
        for _ in range(3):
            await asyncio.wait([second], timeout=0)
        assert not second.done()
        throttle.ended()
        await asyncio.wait_for(second, 10)

    throttled(work, n_most=1)

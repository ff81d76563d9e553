"""Work with a language model as generators: they yield requests, are sent results, and return what they made.

So an algorithm of several rounds reads as one function, needs no threads, and many of them share each call.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TypeVar

from models.llm.records import Request, Result

T = TypeVar("T")
Ask = Callable[[Sequence[Request]], Sequence[Result]]
Dialogue = Generator[list[Request], Sequence[Result], T]


def hold(dialogue: Dialogue[T], ask: Ask) -> T:
    """What one dialogue returns."""
    return hold_all([dialogue], ask)[0]


def hold_all(dialogues: Iterable[Dialogue[T]], ask: Ask) -> list[T]:
    """What each dialogue returns, in order. In each round the requests of all that are not done are asked together."""
    whole = together(dialogues)
    try:
        requests = next(whole)
        while True:
            requests = whole.send(ask(requests))
    except StopIteration as stop:
        made: list[T] = stop.value
        return made


def together(dialogues: Iterable[Dialogue[T]]) -> Dialogue[list[T]]:
    """Many dialogues as one, which returns what each of them returns, in order. A round asks what all of them want."""
    running = dict(enumerate(dialogues))
    done: dict[int, T] = {}
    wanted = {number: _step(dialogue, None, number, done) for number, dialogue in running.items()}
    while len(done) < len(running):
        open_ones = [number for number in running if number not in done]
        requests = [request for number in open_ones for request in wanted[number]]
        results = (yield requests) if requests else []
        at = 0
        for number in open_ones:
            own = results[at : at + len(wanted[number])]
            at += len(own)
            wanted[number] = _step(running[number], own, number, done)
    return [done[number] for number in running]


def _step(dialogue: Dialogue[T], results: Sequence[Result] | None, number: int, done: dict[int, T]) -> list[Request]:
    """The requests that a dialogue wants next; none, and its value in `done`, when it is over."""
    try:
        return next(dialogue) if results is None else dialogue.send(results)
    except StopIteration as stop:
        done[number] = stop.value
        return []

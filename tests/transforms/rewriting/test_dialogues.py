"""Dialogues get the results of their own requests, in order, and share each call."""

from hypothesis import given
from hypothesis import strategies as st

from models.llm.records import Answer, Message, Request
from transforms.rewriting.dialogues import hold, hold_all


def counting(name, rounds):
    """Asks for `rounds[i]` answers in round i and returns all it heard."""
    heard = []
    for number, n_requests in enumerate(rounds):
        wanted = [Request((Message("user", f"{name} {number} {i}"),), 1) for i in range(n_requests)]
        results = yield wanted
        heard += [result.text for result in results]
    return heard


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=6))
def test_everybody_hears_the_answers_to_what_they_asked(plans):
    calls = []

    def ask(requests):
        calls.append(len(requests))
        return [Answer(request.messages[0].content) for request in requests]

    heard = hold_all([counting(name, rounds) for name, rounds in enumerate(plans)], ask)
    assert heard == [
        [f"{name} {number} {i}" for number, n in enumerate(rounds) for i in range(n)]
        for name, rounds in enumerate(plans)
    ]
    assert len(calls) <= max(map(len, plans), default=0) and 0 not in calls


def test_one_alone():
    assert hold(counting("a", [2]), lambda requests: [Answer("x")] * 2) == ["x", "x"]

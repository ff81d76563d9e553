"""Whether an endpoint still serves the model it began with: answers are kept under the name of that one alone.

A server that is started again with another model closes its connections. So each connection is vouched for once, after
its first answer: then the endpoint lists the same model as at first. What responses call their model is watched too,
for servers that change it and close nothing; those names are aliases as often as not, and only a change says something.
"""

import asyncio
import re
import weakref
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any

import httpx2

from models.llm import wire
from models.llm.connections import Fetched
from models.llm.wire import Endpoint

Listing = Callable[[], Awaitable[Fetched]]

# A date or a number of a release, such as in gpt-4o-2024-08-06, gpt-4-0613, gemini-1.5-pro-002, mistral:latest.
_RELEASE = r"(?:[-@:_.](?:latest|preview|exp|\d{3,8}|\d\d-\d\d|\d{4}-\d\d-\d\d))*"
_LATEST = re.compile(r"[-:]latest$")


class State(Enum):
    """What an endpoint says of its model: the same as at first, another, or nothing for now."""

    SAME = "same"
    OTHER = "other"
    SILENT = "silent"


class Served:
    """The model of one endpoint, as a client finds it again. For one event loop.

    `other` is what is served instead, in words, once that was seen; it stays so.
    """

    def __init__(self, endpoint: Endpoint, listing: Listing) -> None:
        self.other = ""
        self._endpoint, self._listing = endpoint, listing
        self._answered: weakref.WeakSet[Any] = weakref.WeakSet()
        self._vouched: weakref.WeakSet[Any] = weakref.WeakSet()
        self._looking = asyncio.Lock()
        self._has_named, self._alias = False, ""

    async def is_there(self) -> bool:
        """Whether the endpoint answers at all."""
        return await self._look() is not State.SILENT

    async def vouch(self, connection: object, name: str) -> State:
        """Whether an answer that came over `connection`, by a model of that name, is of the first model."""
        if not self._is_usual(name):
            self.other = self.other or f"answers come from {name!r}"
        if self.other:
            return State.OTHER
        if connection is not None:
            self._answered.add(connection)
        async with self._looking:
            if connection in self._vouched:
                return State.SAME
            answered = list(self._answered)  # before the look: whoever answered is then no later than it
            state = await self._look()
            if state is State.SAME:
                self._vouched.update(answered)
            return state

    async def _look(self) -> State:
        try:
            said = await self._listing()
        except (httpx2.HTTPError, wire.UnreadableError, TimeoutError):
            return State.SILENT
        state, instead = listed_state(self._endpoint, said.status, said.data)
        if state is State.OTHER:
            self.other = self.other or instead
        return State.OTHER if self.other else state

    def _is_usual(self, name: str) -> bool:
        if not name or is_form_of(name, self._endpoint.model) or is_form_of(name, self._endpoint.root):
            self._has_named |= bool(name)
            return True
        if not self._has_named:
            self._has_named, self._alias = True, name
        return name == self._alias


def listed_state(endpoint: Endpoint, status: int, data: bytes) -> tuple[State, str]:
    """What an answer to /models says, and what is served instead of the endpoint's model.

    One that lists nothing is being started; one of another form cannot tell, and is believed to be the same.
    """
    listed = wire.parse_object(data).get("data")
    if status >= 500 or listed == []:
        return State.SILENT, ""
    if status != 200 or not isinstance(listed, list):
        return State.SAME, ""
    served = {wire.words(one["id"]): one for one in listed if isinstance(one, dict) and "id" in one}
    if endpoint.model not in served:
        return State.OTHER, f"it serves {', '.join(served)[:200]}"
    root = wire.words(served[endpoint.model].get("root") or endpoint.model)
    return (State.SAME, "") if root == endpoint.root else (State.OTHER, f"{endpoint.model!r} is {root[:200]!r} there")


def is_form_of(name: str, asked: str) -> bool:
    """Whether a server may call the model `asked` by `name`: without its path, or with a release behind it.

    >>> is_form_of("gpt-4o-2024-08-06", "openai/gpt-4o"), is_form_of("gpt-4o-mini", "gpt-4o")
    (True, False)
    """
    short, base = (text.lower().rstrip("/").rpartition("/")[2] for text in (name, asked))
    return re.fullmatch(re.escape(_LATEST.sub("", base)) + _RELEASE, short) is not None

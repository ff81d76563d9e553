"""Marks that encoder calls leave before they start, so that the bill can tell what interrupted calls wasted."""

import uuid
from collections.abc import Iterable, Iterator

from transforms.context import RunContext

FOLDER = "attempts"


def note_attempt(context: RunContext, n_tokens: int) -> None:
    """Leave a mark that `n_tokens` are about to be encoded."""
    context.store.write_named(f"{context.scratch(FOLDER)}/{n_tokens}-{uuid.uuid4().hex}", b"")


def attempted_tokens(names: Iterable[str]) -> Iterator[int]:
    """The tokens of each attempt, read off the names of the marks.

    >>> list(attempted_tokens(["runs/a/attempts/120-00ff"]))
    [120]
    """
    return (int(name.rsplit("/", 1)[-1].split("-")[0]) for name in names)

"""What a search returns."""

from typing import Any

import msgspec


class Hit(msgspec.Struct, frozen=True):
    """A unit that answers a question, with its place: `text` is `[start, end)` of the document, in code points.

    A text that several documents share is one hit: `uris` has all of them, sorted, and `uri` is the first, whose
    `metadata` this is. `score` is the inner product of the two vectors.
    """

    uri: str
    uris: tuple[str, ...]
    start: int
    end: int
    text: str
    heading_path: tuple[str, ...]
    score: float
    unit_id: str
    metadata: dict[str, Any] = {}

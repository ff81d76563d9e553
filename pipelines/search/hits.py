"""What a search returns."""

from typing import Any

import msgspec

from transforms.elements import CHUNK


class Matched(msgspec.Struct, frozen=True):
    """What was matched in place of the text that is served: a proposition, and the span of the sentences it is from."""

    unit_id: str
    text: str
    start: int
    end: int


class Hit(msgspec.Struct, frozen=True):
    """A unit that answers a question, with its place: `text` is `[start, end)` of the document, in code points.

    Of a hit on propositions, `text` is their passage, and `matched` the best of them, whose score this is. A hit of
    `level` summary has the summary as its `text` and the whole document as its span. `label` is near or far where PIC
    cut the document.

    A text that several documents share is one hit: `uris` has all of them, sorted, and `uri` is the first, or the
    first of those that were searched, whose `metadata` this is. `score` is the inner product of the two vectors.
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
    level: str = CHUNK
    label: str = ""
    matched: Matched | None = None

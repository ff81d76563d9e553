"""What extraction hands on: one record a document, good or bad."""

from collections.abc import Mapping

import msgspec

from transforms.elements import Snapshot


class Extracted(msgspec.Struct, frozen=True):
    """One document of a file. A bad row has a `reason`, a `detail` and no snapshot.

    `row` counts the rows (records) of the file from 0; -1 where the file itself is the document. `is_rest` says that
    a bad row stands for everything from it to the file's end, and that what lies there is not known. `guess` is what
    looks like the id of a malformed row, and may be the id of another one.
    """

    row: int = -1
    key: str | None = None
    snapshot: Snapshot | None = None
    metadata: Mapping[str, str] = {}
    reason: str = ""
    detail: str = ""
    is_rest: bool = False
    guess: str | None = None


def with_count(extracted: Extracted, outcome: str, n: int) -> Extracted:
    """The document with one more outcome, if `n` is not 0 and it has a text at all."""
    if not n or extracted.snapshot is None:
        return extracted
    return msgspec.structs.replace(extracted, snapshot=counted(extracted.snapshot, {outcome: n}))


def counted(snapshot: Snapshot, counts: Mapping[str, int]) -> Snapshot:
    """The snapshot with `counts` beside its own."""
    return msgspec.structs.replace(snapshot, counts={**snapshot.counts, **counts}) if counts else snapshot

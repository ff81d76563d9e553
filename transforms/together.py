"""Records that came about together and go to one key: few elements, and few bytes however many records there are.

All that a runner groups under a key is one record to it, which some limit to megabytes. So what one worker says to a
key goes with the element only while it is small; otherwise it lies in a scratch file, and the element says where.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from transforms.context import RunContext
from transforms.record_coder import RecordCoder
from transforms.records import Record, Several, SeveralWritten

SEVERAL_BYTES = 128 * 1024
"""What records taken together hold at most, before compression; one record alone may be larger."""

INLINE_BYTES = 256
"""Encoded bytes of what one worker says to one key without a file."""

Key = TypeVar("Key")
_CODER = RecordCoder()
_ENCODER = msgspec.msgpack.Encoder()


def passed_on(context: RunContext, by_key: Mapping[Key, Iterable[Record]]) -> Iterator[tuple[Key, Record]]:
    """One element a key, of about `INLINE_BYTES` at most, for `all_records` to read.

    The file is named by its bytes, so that a try that is made again spoils nothing for those who read the first.
    """
    data = bytearray()
    places: list[tuple[Key, int, int]] = []
    for key, records in by_key.items():
        encoded = [_CODER.encode(several) for several in taken_together(records)]
        if len(encoded) == 1 and len(encoded[0]) <= INLINE_BYTES:
            yield key, _CODER.decode(encoded[0])
        elif encoded:
            packed = msgspec.msgpack.encode(encoded)
            places.append((key, len(data), len(packed)))
            data += packed
    if places:
        path = f"{context.scratch('records')}/{hashlib.sha256(data).hexdigest()[:32]}.msgpack"
        context.store.write_named(path, bytes(data))
        yield from ((key, SeveralWritten(path, offset, n_bytes)) for key, offset, n_bytes in places)


def all_records(context: RunContext, records: Iterable[Record]) -> Iterator[Record]:
    """`records`, with those that were passed on together in the places of what stands for them."""
    for record in records:
        match record:
            case Several():
                yield from record.records
            case SeveralWritten():
                data = context.store.read_part(record.path, record.offset, record.n_bytes)
                for encoded in msgspec.msgpack.decode(data, type=list[bytes]):
                    yield from one_by_one([_CODER.decode(encoded)])
            case _:
                yield record


def taken_together(records: Iterable[Record]) -> Iterator[Several]:
    """All of `records`, in order, in as few elements as their sizes allow."""
    together: list[Any] = []
    n_bytes = 0
    for record in records:
        n_bytes += len(_ENCODER.encode(record))
        if together and n_bytes > SEVERAL_BYTES:
            yield Several(tuple(together))
            together, n_bytes = [], len(_ENCODER.encode(record))
        together.append(record)
    if together:
        yield Several(tuple(together))


def one_by_one(records: Iterable[Record]) -> Iterator[Record]:
    """`records`, with those that were taken together in the places of their `Several`."""
    for record in records:
        if isinstance(record, Several):
            yield from record.records
        else:
            yield record

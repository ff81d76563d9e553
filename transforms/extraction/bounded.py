"""Reading with a bound: a gzip bomb or an endless line costs at most the bound, never the memory of a worker."""

import gzip
import io
import zlib
from typing import BinaryIO, cast

from models.errors import ExtractionError

_GZIP_MAGIC = b"\x1f\x8b"
_PIECE_BYTES = 1024 * 1024
READ_ERRORS = (gzip.BadGzipFile, EOFError, zlib.error)


class _Rejoined(io.RawIOBase):
    """A stream with its first bytes put back; for sources that cannot seek."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def decompressed(stream: BinaryIO) -> BinaryIO:
    """The stream itself, or its decompressed bytes where it starts as gzip does, whatever its name says."""
    head = _read_exactly(stream, len(_GZIP_MAGIC))
    if stream.seekable():
        stream.seek(-len(head), io.SEEK_CUR)
        whole = stream
    else:
        whole = cast(BinaryIO, io.BufferedReader(_Rejoined(head, stream)))
    return cast(BinaryIO, gzip.GzipFile(fileobj=whole)) if head == _GZIP_MAGIC else whole


def read_bounded(stream: BinaryIO, max_bytes: int) -> bytes:
    """All bytes of the stream; ExtractionError('too_large') as soon as it passes `max_bytes`."""
    pieces: list[bytes] = []
    n_bytes = 0
    while piece := read_piece(stream, min(_PIECE_BYTES, max_bytes + 1 - n_bytes)):
        pieces.append(piece)
        n_bytes += len(piece)
        if n_bytes > max_bytes:
            raise ExtractionError("too_large", f"more than max_document_bytes = {max_bytes} after decompression")
    return b"".join(pieces)


def read_piece(stream: BinaryIO, n_bytes: int) -> bytes:
    """At most `n_bytes`; a damaged compressed stream is ExtractionError('broken_gzip')."""
    try:
        return stream.read(n_bytes)
    except READ_ERRORS as error:
        raise ExtractionError("broken_gzip", str(error)[:200]) from error


def read_line(stream: BinaryIO, max_bytes: int) -> bytes:
    """The next line, at most `max_bytes` of it; damage as in `read_piece`."""
    try:
        return stream.readline(max_bytes)
    except READ_ERRORS as error:
        raise ExtractionError("broken_gzip", str(error)[:200]) from error


def _read_exactly(stream: BinaryIO, n_bytes: int) -> bytes:
    data = b""
    while len(data) < n_bytes and (piece := stream.read(n_bytes - len(data))):
        data += piece
    return data

"""Bytes to text: the declared charset, else UTF-8, else what a library detects. Never a guess that loses letters."""

import codecs

from models.errors import ExtractionError

VERSION = 1

DETECTION_BYTES = 256 * 1024
_UTF8 = frozenset(("utf-8", "utf8", "utf-8-sig", "utf_8", "u8"))
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(data: bytes, charset: str | None = None) -> str:
    """The text of `data` without a byte order mark; lone surrogates in UTF-8 pass, for `normalise` to count.

    Raises ExtractionError('undecodable') where the declared charset does not fit or none can be found.
    """
    if charset is not None:
        return _decode_as(data, charset)
    marked = _byte_order_mark(data)
    if marked is not None:
        return _decode_as(data, marked)
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return _decode_as(data, detect(data[:DETECTION_BYTES]))


def detect(sample: bytes) -> str:
    """The most likely charset of `sample`, or ExtractionError('undecodable') where it looks like no text at all."""
    from charset_normalizer import from_bytes

    best = from_bytes(sample).best()
    if best is None:
        raise ExtractionError("undecodable", "neither UTF-8 nor a charset that can be detected; declare its charset")
    return best.encoding


def _byte_order_mark(data: bytes) -> str | None:
    return next((charset for mark, charset in _BYTE_ORDER_MARKS if data.startswith(mark)), None)


def _decode_as(data: bytes, charset: str) -> str:
    errors = "surrogatepass" if charset.lower() in _UTF8 else "strict"
    try:
        codec = codecs.lookup(charset)
        if not codec._is_text_encoding:
            raise LookupError(charset)
        return data.decode(charset, errors).removeprefix("\ufeff")
    except (LookupError, UnicodeError, ValueError) as error:
        raise ExtractionError("undecodable", f"charset {charset!r} does not fit: {str(error)[:200]}") from error

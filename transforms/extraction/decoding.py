"""Bytes to text: the declared charset, else UTF-8, else what a library detects. Never a guess that loses letters."""

import codecs

from models.errors import ExtractionError

VERSION = 3

DETECTION_BYTES = 256 * 1024
GUESSED_CHARSET = "guessed_charset"
_UTF8 = frozenset(("utf-8", "utf8", "utf-8-sig", "utf_8", "u8"))
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_WESTERN = "cp1252"
_WESTERN_CHARACTERS = frozenset(
    "àâäáãåæçèéêëìíîïñòóôöõøœùúûüßÀÂÄÁÃÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÖÕØŒÙÚÛÜ€£‘’“”„–—…«»•°©®™§¿¡ºª·\xa0\xad"
)
_HUNGARIAN, _UMLAUTS = frozenset("õûÕÛ"), frozenset("öüÖÜ")
"""How Windows-1252 shows the \u0151 and \u0171 of Windows-1250; hardly a western language has them beside umlauts."""
_COHERENCE_MARGIN = 0.05
"""By so much may the detector like another charset's language better: it is that unsure of short texts."""


def decode(data: bytes, charset: str | None = None) -> tuple[str, dict[str, int]]:
    """The text of `data` without a byte order mark; lone surrogates in UTF-8 pass, for `normalise` to count.

    The counts hold `guessed_charset` where the charset was detected: the text may be wrong then.
    Raises ExtractionError('undecodable') where the declared charset does not fit or none can be found.
    """
    if charset is not None:
        return _decode_as(data, charset), {}
    marked = _byte_order_mark(data)
    if marked is not None:
        return _decode_as(data, marked), {}
    guessed = utf16_without_mark(data[:DETECTION_BYTES])
    if guessed is None:
        try:
            return data.decode("utf-8", "surrogatepass"), {}
        except UnicodeDecodeError:
            guessed = detect(data[:DETECTION_BYTES])
    return _decode_as(data, guessed), {GUESSED_CHARSET: 1}


def detect(sample: bytes) -> str:
    """The most likely charset of `sample`, or ExtractionError('undecodable') where it looks like no text at all."""
    from charset_normalizer import from_bytes

    matches = from_bytes(sample)
    best = matches.best()
    if best is None:
        raise ExtractionError("undecodable", "neither UTF-8 nor a charset that can be detected; declare its charset")
    western = next((match for match in matches if _WESTERN in (match.encoding, *match.could_be_from_charset)), None)
    if western is not None and western.coherence + _COHERENCE_MARGIN >= best.coherence and _reads_as_western(sample):
        return _WESTERN
    return best.encoding


def _reads_as_western(sample: bytes) -> bool:
    """Whether `sample` is Latin text with some of the accents and marks of western European languages, and no others.

    A detector finds charsets of one page of 256 equally likely. They are not: Windows-1252 is what old files in these
    languages are in, and takes the place of Latin-1 (https://encoding.spec.whatwg.org/#names-and-labels).

    >>> _reads_as_western("Café crème".encode("cp1252")), _reads_as_western("Библиотека".encode("cp1251"))
    (True, False)
    """
    try:
        text = sample.decode(_WESTERN)
    except UnicodeDecodeError:
        return False
    beyond = [character for character in text if character > "\x7f"]
    if not _HUNGARIAN.isdisjoint(beyond) and not _UMLAUTS.isdisjoint(beyond):
        return False
    accented = sum(character.isalpha() for character in beyond)
    return set(beyond) <= _WESTERN_CHARACTERS and 3 * accented <= sum(character.isalpha() for character in text)


def utf16_without_mark(sample: bytes) -> str | None:
    """The byte order of UTF-16 without a mark, or None; it would pass as UTF-8 with a NUL at every other place.

    Of the bytes at even or at odd places nearly all are two values, NUL among them (Latin letters, spaces, line feeds),
    and hardly one of the others is NUL.

    >>> utf16_without_mark("Grüße".encode("utf-16-le")), utf16_without_mark("да нет".encode("utf-16-be"))
    ('utf-16-le', 'utf-16-be')
    """
    for charset, high, low in (("utf-16-le", sample[1::2], sample[::2]), ("utf-16-be", sample[::2], sample[1::2])):
        n_nul = high.count(0)
        if n_nul == 0 or len(high) < 2 or 20 * n_nul < len(high) or 20 * low.count(0) > len(low):
            continue
        n_other = max(high.count(value) for value in range(1, 256))
        if 10 * (n_nul + n_other) >= 9 * len(high):
            return charset
    return None


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

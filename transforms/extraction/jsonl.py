"""JSON Lines: one object a line, each line read on its own and bounded."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import msgspec

from models.errors import ExtractionError
from transforms.extraction.bounded import read_line
from transforms.extraction.decoding import decode
from transforms.extraction.records import Extracted, with_count
from transforms.extraction.tables import DOUBLED_COLUMNS, RowReader, check_own, failed_row, guessed_key
from transforms.settings import ReadingSettings

# The rest of an over-long line is read past, up to here; a line beyond it is a bomb and ends the file.
_MIN_LINE_LIMIT_BYTES = 1024**3
_SKIP_BYTES = 1024 * 1024
_NAMES_LOOKED_FOR = 64
_ID_VALUE = rb'\s*:\s*("(?:[^"\\]|\\.){1,4096}"|-?\d{1,40})'


def extract_jsonl(stream: BinaryIO, settings: ReadingSettings, charset: str | None) -> Iterator[Extracted]:
    """A document per line that is not blank; `row` counts those lines. A malformed line is one bad row."""
    reader = RowReader(settings)
    row = 0
    is_first = True
    while line := read_line(stream, settings.max_document_bytes + 1):
        if is_first and charset is None:
            line = line.removeprefix(b"\xef\xbb\xbf")
        is_first = False
        if len(line) > settings.max_document_bytes and not line.endswith(b"\n"):
            _skip_line(stream, settings.max_document_bytes)
            detail = f"a line of more than max_document_bytes = {settings.max_document_bytes}"
            error = ExtractionError("too_large", detail)
            yield failed_row(row, error, guess=_guess(line, settings.id_column))
        elif not line.isspace() and line:
            yield _read(reader, row, line, charset)
        else:
            continue
        row += 1


def _read(reader: RowReader, row: int, line: bytes, charset: str | None) -> Extracted:
    try:
        values = _parse(line, charset)
        n_doubled = _n_doubled(line, values, reader.settings)
        return with_count(reader.read(row, values), DOUBLED_COLUMNS, n_doubled)
    except ExtractionError as error:
        return failed_row(row, error, guess=_guess(line, reader.settings.id_column))


def _guess(line: bytes, id_column: str) -> str | None:
    """The first value under the id's name in a line that is no JSON object.

    >>> _guess(b'{"id": 7, "text": "cut o', "id"), _guess(b'{"text": "a", "id', "id")
    ('7', None)
    """
    name = re.escape(json.dumps(id_column, ensure_ascii=False).encode("utf-8", "replace"))
    found = re.search(name + _ID_VALUE, line)
    return guessed_key(_parse_strictly(found[1])) if found else None


def _parse(line: bytes, charset: str | None) -> dict[str, Any]:
    value = _parse_strictly(line) if charset is None else None
    if value is None:
        value = _parse_leniently(decode(line, charset or "utf-8")[0])
    if not isinstance(value, dict):
        raise ExtractionError("malformed_row", f"a JSON {type(value).__name__}, not an object")
    return value


def _n_doubled(line: bytes, values: Mapping[str, Any], settings: ReadingSettings) -> int:
    """How many names stand in an object again; ExtractionError('doubled_key') for the id's or the text's.

    Parsers keep the last value of a name. Most lines are cleared by a look for each name, without being parsed again.
    """
    is_small = len(values) <= _NAMES_LOOKED_FOR
    if is_small and not any(line.count(b'"%b"' % name.encode("utf-8", "replace")) > 1 for name in values):
        return 0
    try:
        names = [name for name, _ in json.loads(line, object_pairs_hook=lambda pairs: pairs)]
    except (ValueError, RecursionError):  # in another charset, or nested as deeply as only the quick parser goes
        return 0
    check_own(names, settings, "doubled_key")
    return len(names) - len(set(names))


def _parse_strictly(line: bytes) -> Any:
    """Fast; None where the line is not strict JSON in UTF-8, or null."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None


def _parse_leniently(line: str) -> Any:
    """As Python's own parser, which also takes NaN and the escapes of lone surrogates."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        detail = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ExtractionError("malformed_row", detail) from error


def _skip_line(stream: BinaryIO, max_document_bytes: int) -> None:
    limit = max(8 * max_document_bytes, _MIN_LINE_LIMIT_BYTES)
    n_bytes = 0
    while piece := read_line(stream, _SKIP_BYTES):
        n_bytes += len(piece)
        if piece.endswith(b"\n"):
            return
        if n_bytes > limit:
            raise ExtractionError("too_large", f"a line of more than {limit} bytes")

"""CSV with a header row: commas, double quotes, line feeds inside quotes."""

import csv
import io
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import msgspec

from models.errors import ExtractionError
from transforms.extraction.bounded import READ_ERRORS
from transforms.extraction.decoding import DETECTION_BYTES, GUESSED_CHARSET, detect, utf16_without_mark
from transforms.extraction.records import Extracted, counted
from transforms.extraction.tables import RowReader, failed_row, guessed_key, require_columns
from transforms.settings import ReadingSettings

_KEPT_CHARS = 64 * 1024


class _Lines:
    """Lines of a text stream, bounded a record: a quote that is never closed must not take in the whole file."""

    def __init__(self, text: io.TextIOBase, max_chars: int) -> None:
        self._text = text
        self._max_chars = max_chars
        self._n_chars = 0
        self._record: list[str] = []
        self.is_over = False

    def start_record(self) -> None:
        self._n_chars = 0
        self._record.clear()

    def cell(self, column: int) -> str | None:
        """A cell of a record that is malformed, as far as its beginning tells."""
        try:
            cells = next(csv.reader(self._record), [])
        except csv.Error:
            return None
        return cells[column] if column < len(cells) else None

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self._text.readline(self._max_chars + 1 - self._n_chars)
        if self._n_chars < _KEPT_CHARS:
            self._record.append(line[:_KEPT_CHARS])
        self._n_chars += len(line)
        if self._n_chars > self._max_chars:
            raise ExtractionError("too_large", f"a row of more than max_document_bytes = {self._max_chars}")
        if not line:
            self.is_over = True
            raise StopIteration
        return line


def extract_csv(stream: BinaryIO, settings: ReadingSettings, charset: str | None) -> Iterator[Extracted]:
    """A document per row under the header; `row` counts from 0 below it.

    A row that passes the bound, or whose quote is never closed, is the last one and stands for the rest: nothing tells
    where the next one starts. Raises ExtractionError where the header lacks a column or is such a row.
    """
    buffered = io.BufferedReader(cast(io.RawIOBase, stream), max(DETECTION_BYTES, io.DEFAULT_BUFFER_SIZE))
    csv.field_size_limit(max(csv.field_size_limit(), settings.max_document_bytes))
    text: io.TextIOWrapper | None = None
    try:
        text, counts = _as_text(buffered, charset)
        lines = _Lines(text, settings.max_document_bytes)
        records = csv.reader(lines, strict=True)
        header = next(records, [])
        reader = RowReader(settings, require_columns(header, settings))
        for extracted in _rows(records, lines, header, reader):
            yield _with_counts(extracted, counts)
    except csv.Error as error:
        raise ExtractionError("broken_csv", str(error)) from error
    except READ_ERRORS as error:
        raise ExtractionError("broken_gzip", str(error)[:200]) from error
    except UnicodeError as error:
        raise ExtractionError("undecodable", str(error)[:200]) from error
    finally:
        if text is not None:
            text.detach()
        buffered.detach()  # the stream is the caller's to close


def _rows(records: Iterator[list[str]], lines: _Lines, header: list[str], reader: RowReader) -> Iterator[Extracted]:
    row, id_cell = 0, header.index(reader.settings.id_column)
    while True:
        lines.start_record()
        try:
            cells = next(records, None)
        except csv.Error as error:
            if lines.is_over:
                open_quote = ExtractionError("broken_csv", "a quote is never closed; the rest is not read")
                yield _rest(row, open_quote, lines.cell(id_cell))
                return
            malformed = ExtractionError("malformed_row", str(error))
            yield failed_row(row, malformed, guess=_guess(lines.cell(id_cell)))
            row += 1
            continue
        except ExtractionError as error:
            yield _rest(row, error, lines.cell(id_cell))
            return
        if cells is None:
            return
        if cells:
            yield _read(reader, row, header, cells, id_cell)
            row += 1


def _rest(row: int, error: ExtractionError, id_cell: str | None) -> Extracted:
    return msgspec.structs.replace(failed_row(row, error, guess=_guess(id_cell)), is_rest=True)


def _guess(id_cell: str | None) -> str | None:
    return None if id_cell is None or _is_undecodable(id_cell) else guessed_key(id_cell)


def _read(reader: RowReader, row: int, header: list[str], cells: list[str], id_cell: int) -> Extracted:
    if len(cells) > len(header):
        error = ExtractionError("malformed_row", f"{len(cells)} cells under {len(header)} columns")
        return failed_row(row, error, guess=_guess(cells[id_cell]))
    if any(map(_is_undecodable, cells)):
        error = ExtractionError("undecodable", "bytes that are not in the file's charset")
        return failed_row(row, error, _guess(cells[id_cell]) if id_cell < len(cells) else None)
    return reader.read(row, dict(zip(header, cells, strict=False)))


def _is_undecodable(cell: str) -> bool:
    return not cell.isascii() and any("\udc80" <= letter <= "\udcff" for letter in cell)


def _with_counts(extracted: Extracted, counts: dict[str, int]) -> Extracted:
    if not counts or extracted.snapshot is None:
        return extracted
    return msgspec.structs.replace(extracted, snapshot=counted(extracted.snapshot, counts))


def _as_text(stream: Any, charset: str | None) -> tuple[io.TextIOWrapper, dict[str, int]]:
    """The stream as text; bytes outside the charset come out as lone surrogates, for their row to be refused.

    The counts, for every row, hold `guessed_charset` where the charset was detected.
    """
    counts: dict[str, int] = {}
    if charset is None:
        try:
            charset, counts = _charset_of(stream.peek(DETECTION_BYTES)[:DETECTION_BYTES])
        except READ_ERRORS as error:
            raise ExtractionError("broken_gzip", str(error)[:200]) from error
    try:
        return io.TextIOWrapper(stream, encoding=charset, errors="surrogateescape", newline=""), counts
    except LookupError as error:
        raise ExtractionError("undecodable", f"charset {charset!r} is not known") from error


def _charset_of(sample: bytes) -> tuple[str, dict[str, int]]:
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16", {}
    guessed = utf16_without_mark(sample)
    if guessed is None:
        try:
            sample.decode("utf-8")
        except UnicodeDecodeError as error:
            if error.start < len(sample) - 3:  # not merely a letter that the sample's end has cut in two
                guessed = detect(sample)
    return (guessed, {GUESSED_CHARSET: 1}) if guessed else ("utf-8-sig", {})

"""Web archives: a page that was fetched is a document, known by the address it was fetched from."""

from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from models.errors import ExtractionError
from models.extras import require
from transforms.extraction.bounded import READ_ERRORS, read_bounded, read_piece
from transforms.extraction.documents import TEXT_FORMATS, extract_document
from transforms.extraction.formats import format_of
from transforms.extraction.records import Extracted
from transforms.extraction.tables import SeenKeys, failed_row, key_of
from transforms.settings import ReadingSettings

VERSION = 1

_SKIP_BYTES = 1024 * 1024


def extract_warc(stream: BinaryIO, settings: ReadingSettings) -> Iterator[Extracted]:
    """A document per response (status 200) in HTML, plain text or Markdown; `row` counts all records of the archive.

    Other records (requests, images, redirects) are no documents. Raises ExtractionError('broken_warc' or
    'broken_gzip') where the archive cannot be read on, or a record is not as long as it says: it is not whole then, or
    holds what belongs to the next one.
    """
    keys = SeenKeys()
    for row, record in enumerate(_records(stream)):
        if _is_page(record):
            yield _read(row, record, keys, settings)


class _Source:
    """What warcio reads from. Damaged gzip must not look like an end of the archive to it, as EOFError does."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def read(self, n_bytes: int) -> bytes:
        return read_piece(self._stream, n_bytes)


def _records(stream: BinaryIO) -> Iterator[Any]:
    archive = require("warcio.archiveiterator", "formats")
    exceptions = require("warcio.exceptions", "formats")
    row = -1
    try:
        records = archive.ArchiveIterator(_Source(stream), no_record_parse=True)
        records.INC_RECORD = ""  # a warning for stderr; its count is asked for below
        while not records.err_count and (record := next(records, None)) is not None:
            row += 1
            _read_headers(row, record, records.loader)
            yield record
            _check_is_whole(row, record)
    except (exceptions.ArchiveLoadFailed, *READ_ERRORS, ValueError, OSError) as error:
        raise ExtractionError("broken_warc", " ".join(str(error).split())[:200]) from error
    if records.err_count:
        raise ExtractionError("broken_warc", "a record is longer or shorter than its Content-Length")


def _read_headers(row: int, record: Any, loader: Any) -> None:
    """The headers of a response; a record without a length would take in the rest of the archive."""
    headers = record.rec_headers
    length = headers.get_header("length" if record.format == "arc" else "Content-Length") or ""
    if not length.strip().isdecimal():
        raise ExtractionError("broken_warc", f"record {row} has no valid Content-Length, or its header is cut off")
    if record.rec_type != "response":
        return
    uri = headers.get_header("WARC-Target-URI") or headers.get_header("uri")
    if not uri:
        raise ExtractionError("broken_warc", f"record {row} has no WARC-Target-URI, or its header is cut off")
    try:
        record.http_headers = loader.load_http_headers("response", uri, record.raw_stream, record.length)
    except EOFError:
        _check_is_whole(row, record)


def _check_is_whole(row: int, record: Any) -> None:
    while record.raw_stream.read(_SKIP_BYTES):
        pass
    if n_missing := record.raw_stream.limit:
        detail = f"record {row} is cut off, {n_missing} bytes before the end of its Content-Length"
        raise ExtractionError("broken_warc", detail)


def _content_type(record: Any) -> str:
    return record.http_headers.get_header("Content-Type") or ""


def _is_page(record: Any) -> bool:
    if record.rec_type != "response" or record.http_headers is None:
        return False
    return record.http_headers.get_statuscode() == "200" and format_of("", _content_type(record)) in TEXT_FORMATS


def _read(row: int, record: Any, keys: SeenKeys, settings: ReadingSettings) -> Extracted:
    key = None
    try:
        key = key_of(record.rec_headers.get_header("WARC-Target-URI"), "WARC-Target-URI")
        if not keys.is_new(key):
            return Extracted(row, key, reason="duplicate_id", detail=f"an earlier record has {key}"[:200])
        data = read_bounded(cast(BinaryIO, record.content_stream()), settings.max_document_bytes)
        content_type = _content_type(record)
        document = extract_document(data, format_of("", content_type) or "html", content_type, settings)
    except ExtractionError as error:
        return failed_row(row, error, key)
    return Extracted(row, key, document.snapshot, document.metadata)

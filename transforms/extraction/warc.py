"""Web archives: a page that was fetched is a document, known by the address it was fetched from."""

from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from models.errors import ExtractionError
from models.extras import require
from transforms.extraction.bounded import READ_ERRORS, read_bounded
from transforms.extraction.documents import TEXT_FORMATS, extract_document
from transforms.extraction.formats import format_of
from transforms.extraction.records import Extracted
from transforms.extraction.tables import SeenKeys, failed_row, key_of
from transforms.settings import ReadingSettings

VERSION = 1


def extract_warc(stream: BinaryIO, settings: ReadingSettings) -> Iterator[Extracted]:
    """A document per response (status 200) in HTML, plain text or Markdown; `row` counts all records of the archive.

    Other records (requests, images, redirects) are no documents. Raises ExtractionError('broken_warc') where the
    archive cannot be read on.
    """
    keys = SeenKeys()
    for row, record in enumerate(_records(stream)):
        if _is_page(record):
            yield _read(row, record, keys, settings)


def _records(stream: BinaryIO) -> Iterator[Any]:
    archive = require("warcio.archiveiterator", "formats")
    exceptions = require("warcio.exceptions", "formats")
    # An AttributeError is how warcio meets a record without a target address.
    damages = (exceptions.ArchiveLoadFailed, *READ_ERRORS, ValueError, OSError, AttributeError)
    try:
        records = archive.ArchiveIterator(stream)
        while (record := next(records, None)) is not None:
            yield record
    except damages as error:
        raise ExtractionError("broken_warc", " ".join(str(error).split())[:200]) from error


def _content_type(record: Any) -> str:
    return record.http_headers.get_header("Content-Type") or ""


def _is_page(record: Any) -> bool:
    if record.rec_type != "response" or record.http_headers is None:
        return False
    return record.http_headers.get_statuscode() == "200" and format_of("", _content_type(record)) in TEXT_FORMATS


def _read(row: int, record: Any, keys: SeenKeys, settings: ReadingSettings) -> Extracted:
    try:
        key = key_of(record.rec_headers.get_header("WARC-Target-URI"), "WARC-Target-URI")
        if not keys.is_new(key):
            return Extracted(row, key, reason="duplicate_id", detail=f"an earlier record has {key}"[:200])
        data = read_bounded(cast(BinaryIO, record.content_stream()), settings.max_document_bytes)
        content_type = _content_type(record)
        document = extract_document(data, format_of("", content_type) or "html", content_type, settings)
    except ExtractionError as error:
        return failed_row(row, error)
    return Extracted(row, key, document.snapshot, document.metadata)

"""One door to all formats."""

from collections.abc import Iterator
from typing import BinaryIO

from models.errors import ExtractionError
from transforms.extraction.bounded import decompressed, read_bounded
from transforms.extraction.csv_rows import extract_csv
from transforms.extraction.documents import extract_document
from transforms.extraction.formats import declared_charset, format_of
from transforms.extraction.jsonl import extract_jsonl
from transforms.extraction.parquet import extract_parquet
from transforms.extraction.records import Extracted
from transforms.extraction.warc import extract_warc
from transforms.settings import ReadingSettings


def extract_file(
    stream: BinaryIO, uri: str, settings: ReadingSettings, content_type: str | None = None
) -> Iterator[Extracted]:
    """The documents of a file, in order and as a stream; gzip is seen by its first bytes and undone.

    Raises ExtractionError(reason) where the file as a whole cannot be read, for a table possibly after some rows.
    """
    format_name = format_of(uri, content_type)
    if format_name is None:
        raise ExtractionError("unknown_format", f"neither content type {content_type!r} nor the suffix is known")
    source = decompressed(stream)
    charset = declared_charset(content_type)
    if format_name == "jsonl":
        yield from extract_jsonl(source, settings, charset)
    elif format_name == "csv":
        yield from extract_csv(source, settings, charset)
    elif format_name == "parquet":
        yield from extract_parquet(source, settings)
    elif format_name == "warc":
        yield from extract_warc(source, settings)
    else:
        data = read_bounded(source, settings.max_document_bytes)
        yield extract_document(data, format_name, content_type, settings)

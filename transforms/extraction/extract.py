"""One door to all formats."""

from collections.abc import Iterator
from typing import BinaryIO

from models.errors import CorpusmillError, ExtractionError
from transforms.extraction.bounded import decompressed, read_bounded
from transforms.extraction.csv_rows import extract_csv
from transforms.extraction.documents import extract_document
from transforms.extraction.formats import Format, declared_charset, format_of
from transforms.extraction.jsonl import extract_jsonl
from transforms.extraction.parquet import extract_parquet
from transforms.extraction.records import Extracted
from transforms.extraction.warc import extract_warc
from transforms.settings import ReadingSettings


def extract_file(
    stream: BinaryIO, uri: str, settings: ReadingSettings, content_type: str | None = None
) -> Iterator[Extracted]:
    """The documents of a file, in order and as a stream; gzip is seen by its first bytes and undone.

    Raises ExtractionError(reason) where the file as a whole cannot be read, for a table possibly after some rows;
    OSError of the stream itself and MemoryError pass.
    """
    format_name = format_of(uri, content_type)
    if format_name is None:
        raise ExtractionError("unknown_format", f"neither content type {content_type!r} nor the suffix is known")
    try:
        yield from _extract(stream, format_name, settings, content_type)
    except (CorpusmillError, OSError, MemoryError):
        raise
    except Exception as error:  # hostile files reach corners of the libraries that raise anything
        detail = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ExtractionError(f"broken_{format_name}", detail) from error


def _extract(
    stream: BinaryIO, format_name: Format, settings: ReadingSettings, content_type: str | None
) -> Iterator[Extracted]:
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

"""Parquet: rows stream out in small batches, whatever the size of the file's row groups."""

import gzip
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from models.errors import ExtractionError
from transforms.extraction.bounded import read_bounded
from transforms.extraction.records import Extracted
from transforms.extraction.tables import RowReader, require_columns
from transforms.settings import ReadingSettings

_BATCH_ROWS = 256


def extract_parquet(stream: BinaryIO, settings: ReadingSettings) -> Iterator[Extracted]:
    """A document per row. A source that cannot seek, or is compressed as a whole, is held in memory up to the bound."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # A gzip stream says that it can seek, and would be decompressed to its end for that.
    can_seek = stream.seekable() and not isinstance(stream, gzip.GzipFile)
    source = stream if can_seek else io.BytesIO(read_bounded(stream, settings.max_document_bytes))
    try:
        file = pq.ParquetFile(source, pre_buffer=False)
        require_columns(list(file.schema_arrow.names), settings)
        yield from _rows(file, RowReader(settings))
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise ExtractionError("broken_parquet", " ".join(str(error).split())[:200]) from error


def _rows(file: Any, reader: RowReader) -> Iterator[Extracted]:
    row = 0
    for batch in file.iter_batches(batch_size=_BATCH_ROWS, use_threads=False):
        for values in batch.to_pylist():
            yield reader.read(row, values)
            row += 1

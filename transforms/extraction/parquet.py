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
# Nanoseconds, years beyond 9999, unknown time zones (a LookupError), nested values without a cast (a RuntimeError).
_NOT_CONVERTIBLE = (ValueError, ArithmeticError, LookupError, RuntimeError)


def extract_parquet(stream: BinaryIO, settings: ReadingSettings) -> Iterator[Extracted]:
    """A document per row. A source that cannot seek, or is compressed as a whole, is held in memory up to the bound."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # A gzip stream says that it can seek, and would be decompressed to its end for that.
    can_seek = stream.seekable() and not isinstance(stream, gzip.GzipFile)
    source = stream if can_seek else io.BytesIO(read_bounded(stream, settings.max_document_bytes))
    try:
        file = pq.ParquetFile(source, pre_buffer=False)
        counts = require_columns(list(file.schema_arrow.names), settings)
        yield from _rows(file, RowReader(settings, counts), (settings.id_column, settings.text_column))
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise ExtractionError("broken_parquet", " ".join(str(error).split())[:200]) from error


def _rows(file: Any, reader: RowReader, own_columns: tuple[str, str]) -> Iterator[Extracted]:
    row = 0
    for batch in file.iter_batches(batch_size=_BATCH_ROWS, use_threads=False):
        for values in _values(batch, own_columns):
            yield reader.read(row, values)
            row += 1


def _values(batch: Any, own_columns: tuple[str, str]) -> list[dict[str, Any]]:
    """The rows of a batch. A value for which Python has no type comes as text outside `own_columns`."""
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
    except _NOT_CONVERTIBLE:
        names = batch.schema.names
        columns = [
            [_value(scalar, name not in own_columns) for scalar in column]
            for name, column in zip(names, batch.columns, strict=True)
        ]
        rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
    return rows


def _value(scalar: Any, takes_text: bool) -> Any:
    """As a Python value, else as text. The scalar itself, for its reader to refuse, where it is neither."""
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return scalar.as_buffer().to_pybytes() if hasattr(scalar, "as_buffer") else scalar
    except _NOT_CONVERTIBLE:
        return (_as_text(scalar) if takes_text else None) or scalar


def _as_text(scalar: Any) -> str | None:
    import pyarrow as pa

    try:
        text: str = scalar.cast(pa.string()).as_py()
    except _NOT_CONVERTIBLE:
        return None
    if "out of range" in text:  # how Arrow writes a moment that no calendar holds
        return None
    if pa.types.is_duration(scalar.type):
        return f"{text} {scalar.type.unit}"
    return text.replace(" ", "T", 1)  # as dates are written elsewhere

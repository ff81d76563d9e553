"""Tables: a row is a document. What all table formats share; rows stream, and a bad row never fails its file."""

import datetime
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from models.errors import ExtractionError
from transforms.elements import Snapshot
from transforms.extraction.normalising import normalise
from transforms.extraction.plain import plain_blocks
from transforms.extraction.records import Extracted
from transforms.settings import ReadingSettings

VERSION = 1

MAX_KEY_BYTES = 2048
"""Ids travel with every record of their row, up to this many bytes."""

DOUBLED_COLUMNS = "doubled_columns"
_DETAIL_CHARS = 200


class RowReader:
    """Turns the rows of one file into documents: ids checked, texts normalised, other columns kept as metadata.

    `counts` are outcomes of the file that every row bears.
    """

    def __init__(self, settings: ReadingSettings, counts: Mapping[str, int] | None = None) -> None:
        self._settings = settings
        self._counts = counts or {}
        self._keys = SeenKeys()

    @property
    def settings(self) -> ReadingSettings:
        """How rows are read."""
        return self._settings

    def read(self, row: int, values: Mapping[str, Any]) -> Extracted:
        """The document of a row, or the reason why it is none."""
        settings = self._settings
        key = None
        try:
            key = key_of(values.get(settings.id_column), settings.id_column)
            text = _text_of(values.get(settings.text_column), settings)
        except ExtractionError as error:
            return failed_row(row, error, key)
        if not self._keys.is_new(key):
            return Extracted(
                row,
                key,
                reason="duplicate_id",
                detail=f"an earlier row has {settings.id_column} = {key}"[:_DETAIL_CHARS],
            )
        text, counts = normalise(text)
        others = {name: values[name] for name in values if name not in (settings.id_column, settings.text_column)}
        metadata, n_dropped = fit_metadata(others, settings.max_metadata_bytes)
        if n_dropped:
            counts["dropped_metadata"] = n_dropped
        return Extracted(row, key, Snapshot(text, plain_blocks(text), {**counts, **self._counts}), metadata)


class SeenKeys:
    """The keys of one file, as 128-bit digests: about 80 bytes a key, however long the keys are."""

    def __init__(self) -> None:
        self._digests: set[int] = set()

    def is_new(self, key: str) -> bool:
        """Whether the key was not asked for before."""
        digest = int.from_bytes(hashlib.blake2b(key.encode("utf-8"), digest_size=16).digest(), "little")
        n_before = len(self._digests)
        self._digests.add(digest)
        return len(self._digests) > n_before


def failed_row(row: int, error: ExtractionError, key: str | None = None, guess: str | None = None) -> Extracted:
    """The record of a row that could not be read; with its key, if that much is known, since it may be a known row."""
    return Extracted(row, key, reason=error.reason, detail=normalise(error.detail[:_DETAIL_CHARS])[0], guess=guess)


def guessed_key(value: Any) -> str | None:
    """What `key_of` makes of a value that was found in a malformed row, if anything."""
    try:
        return key_of(value, "")
    except ExtractionError:
        return None


def key_of(value: Any, column: str) -> str:
    """A row's id as text; ExtractionError('no_id' or 'id_too_long') where it has none that can be used."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.strip():
        if len(value.encode("utf-8", "surrogatepass")) > MAX_KEY_BYTES:
            raise ExtractionError("id_too_long", f"column {column!r} holds more than {MAX_KEY_BYTES} bytes")
        return normalise(value)[0]
    if value is None or isinstance(value, str):
        raise ExtractionError("no_id", f"column {column!r} is empty or missing; set id_column")
    raise ExtractionError("no_id", f"column {column!r} holds {type(value).__name__}, not a text or a whole number")


def require_columns(names: list[str], settings: ReadingSettings) -> dict[str, int]:
    """What to count for each row: `doubled_columns`, of which the last is taken, as far as they are metadata.

    ExtractionError('missing_column' or 'doubled_column') where a table has not one id and one text column.
    """
    check_own(names, settings, "doubled_column")
    for setting, column in (("id_column", settings.id_column), ("text_column", settings.text_column)):
        if column not in names:
            known = ", ".join(names)[:_DETAIL_CHARS]
            raise ExtractionError("missing_column", f"{setting} = {column!r} is not one of the columns: {known}")
    n_doubled = len(names) - len(set(names))
    return {DOUBLED_COLUMNS: n_doubled} if n_doubled else {}


def check_own(names: Sequence[str], settings: ReadingSettings, reason: str) -> None:
    """ExtractionError(reason) where the id or the text stands under its name more than once: either may be meant."""
    for column in (settings.id_column, settings.text_column):
        if names.count(column) > 1:
            raise ExtractionError(reason, f"{names.count(column)} values are called {column!r}; rename all but one")


def fit_metadata(values: Mapping[str, Any], max_bytes: int) -> tuple[dict[str, str], int]:
    """Values as text, without the empty ones; the largest are left out until the rest, as JSON, fits.

    The second result counts what was left out, values that have no text among them.

    >>> fit_metadata({"year": 2021, "note": None, "long": "x" * 99}, max_bytes=50)
    ({'year': '2021'}, 1)
    """
    texts, n_dropped = _texts(values)
    sizes = {name: len(json.dumps({name: text}, ensure_ascii=False).encode()) for name, text in texts.items()}
    n_bytes = sum(sizes.values())
    n_before = len(texts)
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        if n_bytes <= max_bytes:
            break
        n_bytes -= sizes[name]
        del texts[name]
    return texts, n_dropped + n_before - len(texts)


def _texts(values: Mapping[str, Any]) -> tuple[dict[str, str], int]:
    """Values as text, and how many have none, such as a date that no calendar holds or a time in an unknown zone."""
    texts: dict[str, str] = {}
    n_dropped = 0
    for name, value in values.items():
        if value is None:
            continue
        try:
            texts[normalise(name)[0]] = normalise(_as_text(value))[0]
        except (ValueError, TypeError, ArithmeticError, LookupError, RuntimeError):
            n_dropped += 1
    return texts, n_dropped


def _text_of(value: Any, settings: ReadingSettings) -> str:
    if not isinstance(value, str):
        found = "is empty or missing" if value is None else f"holds {type(value).__name__}, not text"
        raise ExtractionError("no_text", f"column {settings.text_column!r} {found}; set text_column")
    if len(value) > settings.max_document_bytes or (
        len(value) > settings.max_document_bytes // 4
        and len(value.encode("utf-8", "surrogatepass")) > settings.max_document_bytes
    ):
        raise ExtractionError("too_large", f"text of more than max_document_bytes = {settings.max_document_bytes}")
    return value


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return value.hex()
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=_as_text_default)


def _as_text_default(value: Any) -> str:
    return _as_text(value) if isinstance(value, datetime.date | datetime.time | bytes | bytearray) else str(value)

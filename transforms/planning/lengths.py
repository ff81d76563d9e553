"""A corpus as a histogram of document lengths, so that a billion documents are a handful of rows."""

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.errors import SettingsError
from models.text_files import read_text

MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_ROWS = 1_000_000
MAX_COUNT = 10**12
HEADER = ["tokens", "documents"]
_WHOLE = re.compile(r"[0-9]{1,15}")


class Lengths:
    """How many documents have how many tokens: int64 (k,) each, lengths distinct, sorted, and none of zero documents.

    :raises SettingsError: a negative or absurd number, or no documents at all.
    """

    def __init__(self, tokens: Iterable[int], documents: Iterable[int]) -> None:
        pairs: dict[int, int] = {}
        for n_tokens, n_documents in zip(tokens, documents, strict=True):
            _check("tokens per document", n_tokens)
            _check("documents", n_documents)
            pairs[n_tokens] = pairs.get(n_tokens, 0) + n_documents
        rows = sorted((length, count) for length, count in pairs.items() if count)
        if not rows:
            raise SettingsError("documents = 0: a corpus needs at least one document")
        self.tokens: NDArray[np.int64] = np.array([length for length, _ in rows], np.int64)
        self.documents: NDArray[np.int64] = np.array([count for _, count in rows], np.int64)

    @property
    def n_documents(self) -> int:
        return sum(self.documents.tolist())

    @property
    def n_tokens(self) -> int:
        return self.total(self.tokens)

    def total(self, per_document: NDArray[np.int64]) -> int:
        """The sum over all documents of a number that each length has, exact whatever its size."""
        return sum(a * b for a, b in zip(per_document.tolist(), self.documents.tolist(), strict=True))


def read_lengths(path: str | Path) -> Lengths:
    """The histogram in a CSV file: lines of tokens and documents, with or without the header `tokens,documents`.

    :raises SettingsError: in one line, with the number of the bad line.
    """
    rows: list[tuple[int, int]] = []
    for number, cells in enumerate(
        csv.reader(io.StringIO(read_text(Path(path), MAX_FILE_BYTES, "put lengths into bins"))), start=1
    ):
        if not cells or (number == 1 and [cell.strip() for cell in cells] == HEADER):
            continue
        if len(cells) != len(HEADER) or not all(_WHOLE.fullmatch(cell.strip()) for cell in cells):
            raise SettingsError(f"{str(path)!a}, line {number}: needs two whole numbers, tokens and documents")
        rows.append((int(cells[0]), int(cells[1])))
        if len(rows) > MAX_ROWS:
            raise SettingsError(f"{str(path)!a} has over {MAX_ROWS} lines; put lengths into bins")
    return Lengths((tokens for tokens, _ in rows), (documents for _, documents in rows))


def _check(name: str, value: int) -> None:
    if not 0 <= value <= MAX_COUNT:
        raise SettingsError(f"{name} = {value} must be a whole number from 0 to {MAX_COUNT}")

"""The busiest documents, from a file of addresses and how often each was asked for: what is worth a model's time."""

import csv
import math
from pathlib import Path

from models.errors import SettingsError


def busiest(path: str, share: float) -> frozenset[str]:
    """The addresses of the busiest `share` of the documents in the file at `path`, rounded up; ties by address.

    The file is CSV without a header, an address and a number a line; an address that comes twice has both numbers.

    :raises SettingsError: the file cannot be read, a line is no such pair, or `share` is not from 0 to 1.
    """
    if not 0 <= share <= 1:
        raise SettingsError(f"share = {share} must lie between 0 and 1")
    traffic = _read(path)
    n_kept = math.ceil(share * len(traffic) - 1e-9)
    return frozenset(sorted(traffic, key=lambda uri: (-traffic[uri], uri))[:n_kept])


def _read(path: str) -> dict[str, float]:
    traffic: dict[str, float] = {}
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as lines:
            for number, row in enumerate(csv.reader(lines), 1):
                if row:
                    uri, count = _pair(path, number, row)
                    traffic[uri] = traffic.get(uri, 0.0) + count
    except (OSError, ValueError, csv.Error) as error:
        raise SettingsError(f"{path} cannot be read as CSV: {error}; give a file of addresses and numbers") from error
    return traffic


def _pair(path: str, number: int, row: list[str]) -> tuple[str, float]:
    try:
        uri, text = row
        count = float(text)
    except ValueError:
        count = math.nan
    if not math.isfinite(count) or count < 0 or not row[0].strip():
        raise SettingsError(f"{path}, line {number}: {','.join(row)[:100]!r} must be an address and a number from 0 up")
    return uri, count

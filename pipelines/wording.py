"""Small words that every message shares. Imports nothing heavy."""

import difflib
from collections.abc import Iterable


def suggestion(word: str, known: Iterable[str]) -> str:
    """`; did you mean window_tokens?` where a known word is close, else nothing."""
    close = difflib.get_close_matches(word[:100], list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def n_of(number: int, what: str) -> str:
    """A number of things whose plural ends in s.

    >>> n_of(1, "cut"), n_of(1200, "unit")
    ('1 cut', '1,200 units')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def shown(value: object) -> str:
    """A value as a message shows it: on one line, in ASCII, at most 80 characters."""
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:77]}..."

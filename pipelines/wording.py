"""Small words that every message shares. Imports nothing heavy."""

import difflib
from collections.abc import Iterable, Mapping


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


def left_out_in_words(outcomes: Mapping[str, int]) -> str:
    """What a command that measures a corpus left out of it, by reason; empty where it left out nothing.

    >>> left_out_in_words({"copies": 1, "empty": 0, "failed:broken_pdf": 2})
    '1 equal to another, 2 failed: broken pdf'
    """
    named = ((count, "equal to another" if name == "copies" else name) for name, count in outcomes.items() if count)
    return ", ".join(f"{count:,} {name.replace('_', ' ').replace(':', ': ')}" for count, name in named)

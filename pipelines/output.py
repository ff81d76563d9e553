"""What a command prints: one JSON object, or text for a person. Text from documents never reaches a terminal raw."""

import json
import os
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 80
_UNSAFE_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = {"\u200c", "\u200d"}


@dataclass(frozen=True)
class Outcome:
    """A command's answer: `payload` for `--json`, `show` for a person, and the exit code of both."""

    payload: Mapping[str, Any]
    show: Callable[["Console"], None]
    exit_code: int = 0


def print_json(payload: Mapping[str, Any], stream: TextIO) -> None:
    """One object on one line, in ASCII, so that no locale and no terminal can spoil it."""
    stream.write(json.dumps(payload, ensure_ascii=True, allow_nan=False) + "\n")
    stream.flush()


def make_console(stream: TextIO) -> "Console":
    """A console that interprets nothing in what it prints, and is plain and 80 columns wide off a terminal."""
    from rich.console import Console

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:
            raise  # rich would exit here; the caller knows better

    width = None if stream.isatty() else PLAIN_WIDTH
    no_color = True if os.environ.get("NO_COLOR") else None
    return PlainConsole(file=stream, width=width, no_color=no_color, markup=False, emoji=False, highlight=False)


def safe(text: str) -> str:
    r"""`text` on one line, with characters that steer a terminal or reorder its line written as escapes.

    >>> safe("a\nb\x1b[31m\u202e")
    'a b\\x1b[31m\\u202e'
    """
    return "".join(_safe_character(character) for character in " ".join(text.split()))


def safe_lines(text: str) -> list[str]:
    """The lines of `text` as they stand, safe as in `safe`."""
    return ["".join(map(_safe_character, line.expandtabs(4))) for line in text.strip("\n").split("\n")]


def snippet(text: str, n_chars: int) -> str:
    """The start of `text` on one safe line of about `n_chars` characters."""
    line = safe(text[: 2 * n_chars])
    return line if len(line) <= n_chars and len(text) <= 2 * n_chars else line[:n_chars].rstrip() + " ..."


def print_table(console: "Console", columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows under headings. Cells wrap; nothing is cut off."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(Text(column), header_style="bold", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def print_pairs(console: "Console", pairs: Sequence[tuple[str, str]]) -> None:
    """Names and values, one pair a line."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs:
        grid.add_row(Text(name), Text(value))
    console.print(grid)


def print_indented(console: "Console", text: str, n_columns: int = 3) -> None:
    """A paragraph whose lines all begin `n_columns` from the left."""
    from rich.text import Text

    for line in Text(text).wrap(console, console.width - n_columns):
        line.rstrip()
        console.print(" " * n_columns + line.plain, soft_wrap=True)


def complain(message: str) -> None:
    """One line on standard error."""
    print(f"corpusmill: {safe(message)}", file=sys.stderr, flush=True)


def _safe_character(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in _UNSAFE_CATEGORIES:
        return character
    return character.encode("unicode_escape").decode("ascii")

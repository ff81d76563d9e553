"""What one line of Markdown can start, end or be. Every test is linear in the line."""

import re
from typing import NamedTuple

FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_ATX = re.compile(r"(#{1,6})(?:[ \t]|$)")
_MARKER = re.compile(r"([-+*]|(\d{1,9})[.)])(?= |$)")
_SETEXT = re.compile(r"(?:(=+)|-+)[ \t]*$")
_DELIMITER_CELL = re.compile(r":?-+:?$")
_CELL_BORDER = re.compile(r"(?<!\\)\|")

_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|"
    "fieldset|figcaption|figure|footer|form|frame|frameset|h1|h2|h3|h4|h5|h6|head|header|hr|html|iframe|legend|li|link|"
    "main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|"
    "title|tr|track|ul"
)
_ATTRIBUTE = r"[ \t]++[A-Za-z_:][\w.:-]*+(?:[ \t]*+=[ \t]*+(?:[^\s\"'=<>`]++|'[^']*+'|\"[^\"]*+\"))?+"
_ANY_TAG = rf"<(?:[A-Za-z][A-Za-z0-9-]*+(?:{_ATTRIBUTE})*+[ \t]*+/?>|/[A-Za-z][A-Za-z0-9-]*+[ \t]*+>)[ \t]*+$"
_ONLY_AFTER_BREAK = "tag"
_HTML_STARTS = re.compile(
    r"(?P<raw><(?:script|pre|style|textarea)(?=[\s>]|$))|(?P<comment><!--)|(?P<instruction><\?)|(?P<cdata><!\[CDATA\[)|"
    rf"(?P<declaration><![A-Za-z])|(?P<block></?(?:{_TAGS})(?=\s|/?>|$))|(?P<tag>{_ANY_TAG})",
    re.IGNORECASE | re.ASCII,
)
# What ends an HTML block; the kinds that are missing end at a blank line.
HTML_ENDS = {
    "raw": re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    "comment": re.compile("-->"),
    "instruction": re.compile(r"\?>"),
    "cdata": re.compile("]]>"),
    "declaration": re.compile(">"),
}


class ListMarker(NamedTuple):
    """A list marker: `kind` is its bullet or delimiter, `width` the columns from its line's start to its content."""

    kind: str
    width: int
    interrupts_paragraph: bool


def atx_level(line: str) -> int:
    """1 to 6 for an ATX heading, else 0."""
    match = _ATX.match(line)
    return len(match[1]) if match else 0


def setext_level(line: str) -> int:
    """1 or 2 for a heading's underline, else 0."""
    match = _SETEXT.match(line)
    return 0 if match is None else 1 if match[1] else 2


def is_rule(line: str) -> bool:
    """Whether the line is a thematic break: three or more of one of `-*_`, spaced or not.

    >>> is_rule("- - -"), is_rule("--x"), is_rule("--")
    (True, False, False)
    """
    mark = line[0]
    return mark in "-*_" and not line.rstrip(mark + " \t") and line.count(mark) >= 3


def list_marker(line: str, indent: int) -> ListMarker | None:
    """The list marker that `line`, which stands `indent` columns in, starts with."""
    match = _MARKER.match(line)
    if match is None:
        return None
    rest = line[match.end() :]
    n_spaces = len(rest) - len(rest.lstrip(" "))
    is_empty = n_spaces == len(rest)
    padding = 1 if is_empty or n_spaces > 4 else n_spaces
    starts_at_one = match[2] is None or int(match[2]) == 1
    return ListMarker(match[1][-1], indent + match.end() + padding, starts_at_one and not is_empty)


def html_block_kind(line: str, in_paragraph: bool) -> str | None:
    """The kind of HTML block that the line starts; a lone inline tag starts one only outside a paragraph."""
    match = _HTML_STARTS.match(line)
    if match is None or (in_paragraph and match.lastgroup == _ONLY_AFTER_BREAK):
        return None
    return match.lastgroup


def count_cells(row: str) -> int:
    r"""Cells of a table row; escaped bars are text, bars at the ends are borders.

    >>> count_cells("| a | b |"), count_cells(r"a \| b")
    (2, 1)
    """
    row = row.strip()
    n_borders = len(_CELL_BORDER.findall(row))
    outer = row.startswith("|") + (len(row) > 1 and row.endswith("|") and not row.endswith("\\|"))
    return n_borders + 1 - outer


def is_delimiter_row(line: str) -> bool:
    """Whether the line is the separator under a table's header.

    >>> is_delimiter_row("|:--|--:|"), is_delimiter_row("| a |")
    (True, False)
    """
    row = line.strip()
    if row.strip("|-: \t"):
        return False
    cells = row.removeprefix("|").removesuffix("|").split("|")
    return all(_DELIMITER_CELL.match(cell.strip()) for cell in cells)

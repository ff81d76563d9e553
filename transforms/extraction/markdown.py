"""Markdown: the outermost blocks of CommonMark with GFM tables, in one pass over the lines.

Only the outermost level of the block structure is needed. A scanner of its own gives it three to fifteen times faster
than a whole parser and in time linear in the text; markdown-it-py is the oracle in its tests.

Different from CommonMark on purpose: front matter is code; header rows directly above a table's separator all belong to
its header; what is nested more than 100 deep is text; link definitions, HTML blocks and rules are paragraphs, so that
every character other than white space lies in a block.
"""

import re

from transforms.elements import Block, BlockKind, Snapshot
from transforms.extraction import markdown_lines as lines
from transforms.extraction.normalising import normalise

VERSION = 1

MAX_NESTING = 100
_QUOTE = -1
# A run of blank lines, or one line. Possessive: a line of ten million spaces is looked at twice and not squared.
_LINES = re.compile(r"(?P<blank>(?:[ \t]*+\n)++)|[^\n]++\n?")
_FRONT_MATTER = re.compile(
    r"---[ \t]*+\n(?=[^\s:#][^\n:]{0,100}:(?:[ \t]|\n))"
    r"(?:(?!(?:---|\.\.\.)[ \t]*+(?:\n|\Z))[^\n]*+\n)++(?:---|\.\.\.)[ \t]*+(?=\n|\Z)"
)


def extract_markdown(source: str) -> Snapshot:
    """The normalised source itself, with its outermost blocks."""
    text, counts = normalise(source)
    return Snapshot(text, markdown_blocks(text), counts)


def markdown_blocks(text: str) -> tuple[Block, ...]:
    """Headings, paragraphs, lists, quotes, tables and code of a Markdown text, whole lines each, in order."""
    scanner = _Scanner(text)
    start = 0
    front_matter = _FRONT_MATTER.match(text)
    if front_matter is not None:
        scanner.add("code", 0, front_matter.end())
        start = front_matter.end()
    for match in _LINES.finditer(text, start):
        if match.lastgroup == "blank":
            scanner.blank()
        else:
            scanner.line(match.start(), match.end() - match[0].endswith("\n"))
    return scanner.finish()


class _Scanner:
    """The state between two lines: the open containers, the open leaf in the innermost, the open outermost block."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._blocks: list[Block] = []
        self._containers: list[int] = []  # columns that a list item's content stands in from its parent's, or _QUOTE
        self._leaf = ""  # paragraph, table, code, fence, html, or nothing
        self._fence = ""
        self._html_end: re.Pattern[str] | None = None
        self._paragraph_line = ""
        self._is_empty_item = False
        self._kind: BlockKind | None = None
        self._list_kind = ""
        self._start = self._end = self._header_end = self._level = 0

    # -- outermost blocks ----------------------------------------------------------------------------------------------

    def add(self, kind: BlockKind, start: int, end: int, level: int = 0) -> None:
        """Closes the outermost block and opens another."""
        self._flush()
        self._kind, self._start, self._end, self._level, self._header_end = kind, start, end, level, start

    def finish(self) -> tuple[Block, ...]:
        self._flush()
        return tuple(self._blocks)

    def _flush(self) -> None:
        if self._kind is None:
            return
        text, end = self._text, self._end
        while end > self._start and text[end - 1].isspace():
            end -= 1
        if end > self._start:
            self._blocks.append(Block(self._kind, self._start, end, self._level, min(self._header_end, end)))
        self._kind = None

    def _add_leaf(self, leaf: str, kind: BlockKind, start: int, end: int, level: int = 0) -> None:
        """A leaf starts; it is an outermost block only outside all containers, else a part of one."""
        self._leaf = leaf
        if self._containers:
            self._end = end
        else:
            self.add(kind, start, end, level)

    # -- lines ---------------------------------------------------------------------------------------------------------

    def blank(self) -> None:
        """A blank line outside all markers; quotes do not go on without theirs."""
        containers = self._containers
        self._blank_inside(containers.index(_QUOTE) if _QUOTE in containers else len(containers))

    def _blank_inside(self, n_open: int) -> None:
        """A blank line ends paragraphs, tables, some HTML, and an item that started with nothing."""
        self._close(n_open)
        if self._is_empty_item:
            self._containers.pop()
            self._is_empty_item = False
        if self._leaf in ("paragraph", "table") or (self._leaf == "html" and self._html_end is None):
            self._leaf = ""

    def line(self, start: int, end: int) -> None:
        """A line that is not part of a run of blank ones."""
        line = self._text[start:end]
        if "\t" in line:
            line = line.expandtabs(4)
        column, n_open = self._continued(line)
        rest = line[column:]
        if not rest.strip(" "):
            self._end = end
            return self._blank_inside(n_open)
        self._is_empty_item = False
        is_inside = n_open == len(self._containers)
        if is_inside and self._leaf == "fence":
            return self._fence_line(rest, end)
        if is_inside and self._leaf == "html":
            return self._html_line(rest, end)
        return self._structure(rest, n_open, start, end)

    def _continued(self, line: str) -> tuple[int, int]:
        """How far the line continues the open containers: the column after them, and their number."""
        column = n_open = 0
        for width in self._containers:
            rest = line[column : column + max(width, 4)]
            indent = len(rest) - len(rest.lstrip(" "))
            if width == _QUOTE:
                if indent > 3 or rest[indent : indent + 1] != ">":
                    break
                column += indent + 1
                column += line[column : column + 1] == " "
            elif indent >= width:
                column += width
            elif rest.strip(" ") or line[column:].strip(" "):
                break
            n_open += 1
        return column, n_open

    def _fence_line(self, rest: str, end: int) -> None:
        self._end = end
        stripped = rest.strip(" ")
        is_closer = stripped.startswith(self._fence) and not stripped.strip(self._fence[0])
        if is_closer and len(rest) - len(rest.lstrip(" ")) < 4:
            self._leaf = ""

    def _html_line(self, rest: str, end: int) -> None:
        self._end = end
        if self._html_end is not None and self._html_end.search(rest):
            self._leaf = ""

    def _structure(self, rest: str, n_open: int, start: int, end: int) -> None:
        """A line outside fences and HTML: containers that it opens, then one leaf."""
        while True:
            content = rest.lstrip(" ")
            indent = len(rest) - len(content)
            if indent > 3 or not content or content[0].isalpha():
                break
            if self._starts_leaf(content, n_open, start, end):
                return
            width = self._opens_container(content, indent, n_open, start)
            if width == 0:
                break
            rest = rest[width:]
            n_open = len(self._containers)
        self._text_line(rest, indent, n_open, start, end)

    def _text_line(self, rest: str, indent: int, n_open: int, start: int, end: int) -> None:
        """Text, indented code, or the nothing after a bare marker."""
        if not rest.strip(" "):
            self._is_empty_item = self._containers[-1] != _QUOTE
            self._leaf = ""
            self._end = end
        elif self._leaf == "paragraph":
            self._paragraph_line = rest  # also as a lazy continuation: containers that do not go on stay open
            self._end = end
        elif indent > 3:
            is_open = self._leaf == "code" and n_open == len(self._containers)
            self._close(n_open)
            self._continue_or_add(is_open, "code", start, end)
        else:
            is_row = self._leaf == "table" and n_open == len(self._containers)
            self._close(n_open)
            self._paragraph_line = rest
            self._continue_or_add(is_row, "paragraph", start, end)

    def _continue_or_add(self, is_open: bool, kind: BlockKind, start: int, end: int) -> None:
        if is_open:
            self._end = end
        else:
            self._add_leaf(kind, kind, start, end)

    def _close(self, n_open: int) -> None:
        """Ends the containers that this line does not go on with, and the leaf in them."""
        if n_open < len(self._containers):
            del self._containers[n_open:]
            self._leaf = ""

    # -- starts --------------------------------------------------------------------------------------------------------

    def _starts_leaf(self, content: str, n_open: int, start: int, end: int) -> bool:
        """Whether the line is a heading, fence, rule, HTML block, underline or table separator; if so, takes it in."""
        mark = content[0]
        is_below_text = self._leaf == "paragraph" and n_open == len(self._containers)
        if is_below_text and mark in "|:-=" and self._ends_paragraph(content, start, end):
            return True
        if mark == "#":
            level = lines.atx_level(content)
            return level > 0 and self._take("", "heading", n_open, start, end, level)
        if mark in "`~":
            return self._starts_fence(content, n_open, start, end)
        if mark == "<":
            return self._starts_html(content, n_open, start, end)
        return lines.is_rule(content) and self._take("", "paragraph", n_open, start, end)

    def _take(self, leaf: str, kind: BlockKind, n_open: int, start: int, end: int, level: int = 0) -> bool:
        self._close(n_open)
        self._add_leaf(leaf, kind, start, end, level)
        return True

    def _starts_fence(self, content: str, n_open: int, start: int, end: int) -> bool:
        match = lines.FENCE.match(content)
        if match is None:
            return False
        self._fence = match[1] or match[2]
        return self._take("fence", "code", n_open, start, end)

    def _starts_html(self, content: str, n_open: int, start: int, end: int) -> bool:
        kind = lines.html_block_kind(content, self._leaf in ("paragraph", "table"))
        if kind is None:
            return False
        self._html_end = lines.HTML_ENDS.get(kind)
        is_over = self._html_end is not None and self._html_end.search(content) is not None
        return self._take("" if is_over else "html", "paragraph", n_open, start, end)

    def _ends_paragraph(self, content: str, start: int, end: int) -> bool:
        """Whether the line makes a table or a heading of the text above it."""
        return self._starts_table(content, start, end) or self._is_underline(content, end)

    def _is_underline(self, content: str, end: int) -> bool:
        level = lines.setext_level(content)
        if level == 0:
            return False
        self._leaf = ""
        self._end = end
        if not self._containers:
            self._kind, self._level = "heading", level
        return True

    def _starts_table(self, content: str, start: int, end: int) -> bool:
        """Whether the line is a separator that fits the line above it, which then turns from text into a header."""
        n_cells = lines.count_cells(content)
        header = self._paragraph_line
        if "|" not in header or not lines.is_delimiter_row(content) or lines.count_cells(header) != n_cells:
            return False
        if not self._containers:
            header_start = self._first_header_row(start, n_cells)
            if header_start > self._start:
                self._end = header_start - 1
                self.add("table", header_start, end)
            self._kind, self._header_end = "table", end
        self._leaf = "table"
        self._end = end
        return True

    def _first_header_row(self, separator_start: int, n_cells: int) -> int:
        """Start of the first of the rows right above the separator that have borders and as many cells."""
        first = self._text.rfind("\n", 0, separator_start - 1) + 1
        while first > self._start:
            above = self._text.rfind("\n", 0, first - 1) + 1
            row = self._text[above : first - 1].strip()
            if not row.startswith("|") or lines.count_cells(row) != n_cells:
                break
            first = above
        return first

    def _opens_container(self, content: str, indent: int, n_open: int, start: int) -> int:
        """Opens the quote or list item that the line starts; returns the columns of its marker, or 0."""
        if n_open >= MAX_NESTING:
            return 0
        if content[0] == ">":
            self._open(_QUOTE, "quote", "", n_open, start)
            return indent + 1 + (content[1:2] == " ")
        marker = lines.list_marker(content, indent)
        if marker is None:
            return 0
        is_inside_paragraph = self._leaf == "paragraph" and n_open == len(self._containers)
        if is_inside_paragraph and not marker.interrupts_paragraph:
            return 0
        self._open(marker.width, "list", marker.kind, n_open, start)
        return marker.width

    def _open(self, width: int, kind: BlockKind, list_kind: str, n_open: int, start: int) -> None:
        self._close(n_open)
        self._leaf = ""
        goes_on = kind == "list" == self._kind and list_kind == self._list_kind
        if not self._containers and not goes_on:
            self.add(kind, start, start)
            self._list_kind = list_kind
        self._containers.append(width)

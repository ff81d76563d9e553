"""From the events of an HTML parser to blocks of text. Keeps counters and stacks, never a tree."""

from collections.abc import Mapping

from transforms.elements import Block, BlockKind
from transforms.extraction.html_tables import HtmlTable
from transforms.extraction.rendering import TextBuilder

_DROPPED = frozenset(
    ("script", "style", "template", "noscript", "svg", "math", "iframe", "object", "embed")
) | frozenset(("applet", "audio", "video", "canvas", "select", "datalist"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset(("ul", "ol", "menu", "dir"))
_BREAKS: frozenset[str] = frozenset[str]().union(
    ("address", "article", "aside", "body", "center", "dd", "details", "dialog", "div", "dl", "dt", "fieldset"),
    ("figcaption", "figure", "footer", "form", "frameset", "header", "hr", "html", "legend", "main", "nav"),
    ("optgroup", "option", "p", "search", "section", "summary", "tbody", "textarea", "tfoot", "thead", "tr"),
)
_PREFORMATTED = frozenset(("pre", "listing", "xmp", "plaintext"))
_MAX_INDENT_LEVELS = 10


class HtmlBlocks:
    """Target of an lxml parser: `start`, `end` and `data` in document order."""

    def __init__(self) -> None:
        self.depth = 0
        self.title = ""
        self._builder = TextBuilder()
        self._text: list[str] = []
        self._n_dropped = 0
        self._title: list[str] | None = None
        self._heading_level = 0
        self._n_preformatted = 0
        self._lists: list[int] = []  # the number of the last item of an ordered list; -1 in a bulleted one
        self._n_quotes = 0
        self._group: list[str] = []  # the lines of the outermost list or quote that is open
        self._item_prefix = ""
        self._tables: list[HtmlTable | None] = []  # None: laid out by a table, whose cells are plain containers
        self._cell: str | None = None

    # -- events --------------------------------------------------------------------------------------------------------

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.depth += 1
        if self._n_dropped or tag in _DROPPED:
            self._n_dropped += tag in _DROPPED
        elif tag == "br":
            self._text.append("\n")
        elif tag == "title":
            self._title = []
        elif tag in _HEADINGS:
            self._start_heading(_HEADINGS[tag])
        elif tag in _PREFORMATTED:
            self._start_preformatted()
        elif not self._start_table_part(tag):
            self._start_container(tag, attributes)

    def end(self, tag: str) -> None:
        self.depth -= 1
        if self._n_dropped:
            self._n_dropped -= tag in _DROPPED
        elif tag == "title":
            self._end_title()
        elif tag in _HEADINGS:
            self._flush()
            self._heading_level = 0
        elif tag in _PREFORMATTED:
            self._end_preformatted()
        elif not self._end_table_part(tag):
            self._end_container(tag)

    def data(self, text: str) -> None:
        if self._n_dropped:
            return
        if self._title is not None:
            self._title.append(text)
        else:  # after this, a line feed in the text is a line break that the page shows
            self._text.append(text if self._n_preformatted else text.replace("\n", " "))

    def comment(self, text: str) -> None:
        """Comments are dropped."""

    def pi(self, target: str, data: str | None = None) -> None:
        """Processing instructions are dropped."""

    def close(self) -> None:
        """Called by the parser at the end."""

    def finish(self) -> tuple[str, tuple[Block, ...]]:
        """The text and its blocks, with everything that was left open closed."""
        self._end_title()
        while self._tables:
            self._end_table_part("table")
        self._flush()
        self._flush_group()
        return self._builder.finish()

    # -- text ----------------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Ends a paragraph, a heading, a line of a list or quote, or (as a mere space) a line in a cell or heading."""
        if self._cell is not None or self._n_preformatted:
            self._text.append("\n")
            return
        text = _collapsed(self._text)
        self._text.clear()
        if not text:
            return
        if self._heading_level:
            self._flush_group()
            self._builder.add("heading", " ".join(text.split()), self._heading_level)
        elif self._lists:
            prefix = self._item_prefix or "  " * min(len(self._lists), _MAX_INDENT_LEVELS)
            self._item_prefix = ""
            self._group.append(prefix + text.replace("\n", "\n" + " " * len(prefix)))
        elif self._n_quotes:
            self._group.append(text)
        else:
            self._flush_group()
            self._builder.add("paragraph", text)

    def _flush_group(self) -> None:
        """Ends the list or quote block; a heading, table or code block inside one splits it."""
        kind: BlockKind = "quote" if self._n_quotes else "list"
        self._builder.add(kind, "\n".join(self._group))
        self._group.clear()

    # -- elements ------------------------------------------------------------------------------------------------------

    def _start_heading(self, level: int) -> None:
        self._lay_out_by_table()
        self._flush()
        self._heading_level = level

    def _end_title(self) -> None:
        if self._title is not None:
            self.title = self.title or " ".join("".join(self._title).split())
            self._title = None

    def _start_preformatted(self) -> None:
        self._lay_out_by_table()
        if not self._n_preformatted:
            self._flush()
        self._n_preformatted += 1

    def _end_preformatted(self) -> None:
        self._n_preformatted = max(0, self._n_preformatted - 1)
        if not self._n_preformatted:
            text = "".join(self._text).replace("\r\n", "\n").replace("\r", "\n")
            self._text.clear()
            self._flush_group()
            self._builder.add("code", text.strip("\n").rstrip())

    def _start_container(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _LISTS:
            self._flush()
            self._enter_group()
            self._lists.append(0 if tag == "ol" else -1)
        elif tag == "li":
            self._flush()
            self._start_item(attributes.get("value"))
        elif tag == "blockquote":
            self._flush()
            self._enter_group()
            self._n_quotes += 1
        elif tag in _BREAKS:
            self._flush()

    def _end_container(self, tag: str) -> None:
        if tag in _LISTS and self._lists:
            self._flush()
            if len(self._lists) == 1 and not self._n_quotes:
                self._flush_group()
            self._lists.pop()
            self._item_prefix = ""
        elif tag == "blockquote" and self._n_quotes:
            self._flush()
            if self._n_quotes == 1:
                self._flush_group()
            self._n_quotes -= 1
        elif tag == "li" or tag in _BREAKS:
            self._flush()

    def _enter_group(self) -> None:
        if not self._lists and not self._n_quotes:
            self._flush_group()

    def _start_item(self, value: str | None) -> None:
        if not self._lists:
            return
        indent = "  " * min(len(self._lists) - 1, _MAX_INDENT_LEVELS)
        if self._lists[-1] < 0:
            self._item_prefix = indent + "- "
            return
        is_number = value is not None and value.isascii() and value.isdigit() and len(value) < 10
        self._lists[-1] = int(value) if is_number and value is not None else self._lists[-1] + 1
        self._item_prefix = f"{indent}{self._lists[-1]}. "

    # -- tables --------------------------------------------------------------------------------------------------------

    def _start_table_part(self, tag: str) -> bool:
        """Whether the tag belongs to a table that holds data."""
        if tag == "table":
            self._lay_out_by_table()
            self._flush()
            self._tables.append(HtmlTable())
            return True
        table = self._tables[-1] if self._tables else None
        if table is None:
            if tag in ("td", "th", "caption"):
                self._flush()
            return False
        if tag in ("td", "th"):
            self._end_cell(table)
            self._flush()  # text between the cells stands in front of the table
            self._cell = tag
        elif tag == "tr":
            self._end_cell(table)
            table.start_row()
        elif tag == "thead":
            table.start_head()
        return tag in ("td", "th", "tr", "thead")

    def _end_table_part(self, tag: str) -> bool:
        """Whether the tag belonged to a table that holds data."""
        if tag == "table" and self._tables:
            table = self._tables[-1]
            if table is not None:
                self._end_cell(table)
                self._emit(table)
            self._flush()
            self._tables.pop()
            return True
        table = self._tables[-1] if self._tables else None
        if table is None:
            return False
        if tag in ("td", "th", "tr"):
            self._end_cell(table)
        elif tag == "caption":
            self._flush()
        elif tag == "thead":
            self._end_cell(table)
            table.end_head()
        return tag in ("td", "th", "tr", "thead", "caption")

    def _end_cell(self, table: HtmlTable) -> None:
        if self._cell is not None:
            table.add_cell(" ".join("".join(self._text).split()), self._cell == "th")
            self._text.clear()
            self._cell = None

    def _emit(self, table: HtmlTable) -> None:
        text, n_header_chars = table.render()
        if text:
            self._flush_group()
            self._builder.add("table", text, 0, n_header_chars)

    def _lay_out_by_table(self) -> None:
        """A heading, code or another table inside a table: the outer one is layout, its cells are plain containers."""
        if self._tables and self._tables[-1] is not None:
            table, self._tables[-1] = self._tables[-1], None
            self._cell = None
            self._emit(table)


def _collapsed(pieces: list[str]) -> str:
    """The text as a browser shows it: white space collapsed, line breaks kept where `br` stood."""
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return "\n".join(line for line in lines if line)

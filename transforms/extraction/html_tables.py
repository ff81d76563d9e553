"""HTML tables as lines of Markdown: `| a | b |`, with a separator under the header rows."""


class HtmlTable:
    """The rows of one table that is being read."""

    def __init__(self) -> None:
        self._rows: list[list[str]] = []
        self._n_header_rows = 0
        self._row_is_header = True
        self._in_head = False
        self._row: list[str] | None = None

    def start_head(self) -> None:
        self._in_head = True

    def end_head(self) -> None:
        self.end_row()
        self._in_head = False

    def start_row(self) -> None:
        self.end_row()
        self._row = []
        self._row_is_header = True

    def add_cell(self, text: str, is_header: bool) -> None:
        """Adds a cell's text, white space already collapsed."""
        if self._row is None:
            self.start_row()
        assert self._row is not None
        self._row.append(text.replace("|", "\\|"))
        self._row_is_header = self._row_is_header and is_header

    def end_row(self) -> None:
        """Takes the row in; it is a header row in `thead`, or where all rows so far hold header cells only."""
        row, self._row = self._row, None
        if not row or not any(row):
            return
        if (self._in_head or self._row_is_header) and self._n_header_rows == len(self._rows):
            self._n_header_rows += 1
        self._rows.append(row)

    def render(self) -> tuple[str, int]:
        """The table's text, and how many characters of it are header rows with their separator."""
        self.end_row()
        rows = [f"| {' | '.join(row)} |" for row in self._rows]
        n_header_rows = self._n_header_rows if self._n_header_rows < len(rows) else 0
        if n_header_rows == 0:
            return "\n".join(rows), 0
        n_cells = max(len(row) for row in self._rows[:n_header_rows])
        rows.insert(n_header_rows, "|" + " --- |" * n_cells)
        return "\n".join(rows), len("\n".join(rows[: n_header_rows + 1]))

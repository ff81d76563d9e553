"""Text grows piece by piece, and its blocks with it, so that every span is exact by construction."""

from transforms.elements import Block, BlockKind

SEPARATOR = "\n\n"


class TextBuilder:
    """Collects blocks of text, separated by an empty line each."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._blocks: list[Block] = []
        self._length = 0

    def add(self, kind: BlockKind, text: str, level: int = 0, n_header_chars: int = 0) -> None:
        """Appends a block; a blank one is left out."""
        if not text or text.isspace():
            return
        self.skip_separator()
        start = self._length
        self._append(text)
        self._blocks.append(Block(kind, start, self._length, level, start + n_header_chars))

    def skip_separator(self) -> int:
        """Appends the separator that is due in front of the next block; returns that block's start."""
        if self._length and self._pieces[-1] is not SEPARATOR:
            self._append(SEPARATOR)
        return self._length

    def add_page(self, start: int, n_blocks_before: int) -> None:
        """Puts a page block around everything from `start`, in front of its own blocks; an empty page has none."""
        if self.n_blocks > n_blocks_before:
            self._blocks.insert(n_blocks_before, Block("page", start, self._length, 0, start))

    @property
    def n_blocks(self) -> int:
        return len(self._blocks)

    @property
    def n_chars(self) -> int:
        return self._length

    def finish(self) -> tuple[str, tuple[Block, ...]]:
        """The text and its blocks."""
        if self._pieces and self._pieces[-1] is SEPARATOR:
            self._pieces.pop()
        return "".join(self._pieces), tuple(self._blocks)

    def _append(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

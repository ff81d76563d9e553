"""Whether the end of a line ends a sentence: headings, list items and rows do, a line wrapped at a width does not."""

import re

import numpy as np
from numpy.typing import NDArray

from transforms.sentences.stops import WIDE

_ITEM = re.compile(
    r"(?:[-*+•‣◦▪·■●]|#{1,6}|\(?\d{1,3}[.)]|\d+(?:\.\d+)+\.?|[a-z]\)|\([a-zA-Z0-9]{1,4}\)|§+|>+|\|)(?:\s|\Z)|\|"
)
_RULE = re.compile(r"[=\-_*~]{3,}\Z")
_HEADING = re.compile(r"#{1,6}\s")
_FIRST_WORD = re.compile(r"\S{1,40}")
_GOES_ON = frozenset(",;-–—(/&،、，；")
MIN_WRAP_CHARS = 40
_MAX_HEAD_CHARS = 64


class Lines:
    """The lines of one text. A block is a run of lines without a blank one; it is as wide as its longest line."""

    def __init__(self, text: str) -> None:
        self._text = text
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        self._ends = np.append(np.flatnonzero(codes == ord("\n")), len(text))
        self._widths = _block_widths(self._ends)

    def break_at(self, newline: int) -> bool:
        """Whether a sentence ends at the line feed at `newline`, which no blank line follows."""
        row = int(self._ends.searchsorted(newline))
        start = int(self._ends[row - 1]) + 1 if row else 0
        line = self._text[start:newline].strip()
        following_end = int(self._ends[row + 1])
        head = self._text[newline + 1 : min(following_end, newline + 1 + _MAX_HEAD_CHARS)].strip()
        if not line or not head:
            return True
        if _RULE.match(head):
            return False
        if _ITEM.match(head) or _RULE.match(line[:_MAX_HEAD_CHARS]) or _HEADING.match(line) or line[0] == "|":
            return True
        if head[0].islower() or line[-1] in _GOES_ON:
            return False
        return not self._is_wrapped(newline - start, head, int(self._widths[row]))

    def _is_wrapped(self, n_chars: int, head: str, width: int) -> bool:
        """Whether the next line's first word did not fit into the block's width."""
        if WIDE.match(head):
            return 2 * width >= MIN_WRAP_CHARS and n_chars + 2 > width
        word = _FIRST_WORD.match(head)
        return width >= MIN_WRAP_CHARS and n_chars + 1 + len(word[0] if word else "") > width


def _block_widths(ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each line the length of the longest line of its block, int64 (n_lines,)."""
    lengths = np.diff(ends, prepend=-1) - 1
    firsts = np.flatnonzero(np.append(True, (lengths[:-1] == 0) | (lengths[1:] == 0)))
    widest = np.maximum.reduceat(lengths, firsts)
    return np.repeat(widest, np.diff(firsts, append=len(lengths)))

"""The path of headings that holds at any place of a document."""

from bisect import bisect_right
from collections import Counter
from typing import NamedTuple

from transforms.elements import Block, Snapshot
from transforms.extraction.headings import heading_text

VERSION = 1

# A path is repeated on every unit below it, so hostile headings must not multiply.
MAX_HEADING_CHARS = 200
MAX_PATH_LENGTH = 16


class Heading(NamedTuple):
    """A heading's name and where its block ends."""

    name: str
    end: int
    level: int


class HeadingPaths:
    """Looks up the headings above a place: the nearest before it, and those of lower levels above that one."""

    def __init__(self, snapshot: Snapshot, counts: Counter[str]) -> None:
        self._starts = [0]
        self._paths: list[tuple[Heading, ...]] = [()]
        for block in snapshot.blocks:
            if block.kind == "heading" and (heading := _heading(snapshot, block, counts)).name:
                path = self._paths[-1]
                while path and path[-1].level >= heading.level:  # levels rise along a path
                    path = path[:-1]
                self._starts.append(block.start)
                self._paths.append((*path[-MAX_PATH_LENGTH + 1 :], heading))

    def at(self, position: int) -> tuple[str, ...]:
        """The names of the headings above `position`, outermost first; a heading is above itself."""
        return tuple([heading.name for heading in self.headings_at(position)])

    def headings_at(self, position: int) -> tuple[Heading, ...]:
        """As `at`, with their places."""
        return self._paths[bisect_right(self._starts, position) - 1]


def _heading(snapshot: Snapshot, block: Block, counts: Counter[str]) -> Heading:
    name = heading_text(snapshot, block)
    if len(name) > MAX_HEADING_CHARS:
        counts["trimmed_headings"] += 1
        name = name[:MAX_HEADING_CHARS].rstrip()
    return Heading(name, block.end, block.level)

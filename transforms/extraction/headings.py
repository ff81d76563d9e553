"""What a heading says, without the markup around it."""

import re
from functools import cache
from typing import TYPE_CHECKING

from transforms.elements import Block, Snapshot

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Most headings: hashes, a space, and words with single spaces between and nothing to take out.
_PLAIN_ATX = re.compile(r"(#{1,6}) ([^\s#\\`*_\[\]<>&!]++(?: [^\s#\\`*_\[\]<>&!]++)*+)")
_ATX = re.compile(r"[ ]{0,3}(#{1,6})(?:[ \t]+|$)")
_SETEXT_UNDERLINE = re.compile(r"\n[ ]{0,3}(?:=+|-+)[ \t]*$")
_INLINE_MARKUP = re.compile(r"[\\`*_\[\]<>&!]")
# Inline rules are not linear on hostile input. A heading this long is no name anyway and is kept as it is written.
_MAX_INLINE_CHARS = 1000


def heading_text(snapshot: Snapshot, block: Block) -> str:
    """The heading's words on one line: without hashes, underline, emphasis and link targets.

    >>> text = "## F## [home](/x) ##"
    >>> heading_text(Snapshot(text), Block("heading", 0, len(text), level=2))
    'F## home'
    """
    source = snapshot.text[block.start : block.end]
    plain = _PLAIN_ATX.fullmatch(source)
    if plain and len(plain[1]) == block.level:
        return plain[2]
    name = _markdown_name(source, block.level)
    if name is None:
        return " ".join(source.split())
    if _INLINE_MARKUP.search(name) and len(name) <= _MAX_INLINE_CHARS:
        name = _without_inline_markup(name)
    return " ".join(name.split())


def _markdown_name(source: str, level: int) -> str | None:
    """The heading without its hashes or underline; None where it has neither, as in HTML, PDF and plain text."""
    hashes = _ATX.match(source)
    if hashes and len(hashes[1]) == level and "\n" not in source:
        stripped = source[hashes.end() :].rstrip(" \t")
        without = stripped.rstrip("#")
        return without.rstrip(" \t") if not without or without[-1] in " \t" else stripped
    underline = source.rfind("\n")
    if underline > 0 and _SETEXT_UNDERLINE.match(source, underline):
        return source[:underline]
    return None


def _without_inline_markup(name: str) -> str:
    pieces = []
    for token in _inline_parser().parseInline(name)[0].children or ():
        if token.type in ("text", "code_inline", "image", "text_special"):
            pieces.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
    return "".join(pieces)


@cache
def _inline_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").disable(["html_inline"])

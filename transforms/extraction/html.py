"""HTML: the text a reader sees, with headings, lists, quotes, tables and code as blocks.

lxml's event interface reads it: libxml2's HTML5 tokenizer in C, and no tree, so neither a depth of ten thousand nor the
formatting elements that a tree builder must copy cost more than their own length.
"""

import codecs
import re
from typing import Any

from models.errors import ExtractionError
from transforms.elements import Snapshot
from transforms.extraction.html_blocks import HtmlBlocks
from transforms.extraction.normalising import normalise, replace_forbidden

VERSION = 1

_PIECE_CHARS = 32 * 1024
# libxml2 looks for the element that an end tag closes through all open ones. This bounds end tags times depth, about
# 20 seconds; a real page of the default 64 MiB stays far below it.
MAX_END_TAG_STEPS = 4_000_000_000
_META_BYTES = 4096
_META_CHARSET = re.compile(rb"<meta[^>]{0,512}?charset\s{0,16}=\s{0,16}[\"']?\s{0,16}([A-Za-z0-9_.:-]{1,40})", re.I)


def declared_html_charset(data: bytes) -> str | None:
    """The charset that a `meta` element near the start declares, unless a byte order mark says it better.

    >>> declared_html_charset(b'<meta charset="iso-8859-2">')
    'iso-8859-2'
    """
    if data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    match = _META_CHARSET.search(data[:_META_BYTES])
    charset = match[1].decode("ascii") if match else None
    # A page that was read as bytes with ASCII tags is not UTF-16, whatever it says; the standard says UTF-8 then.
    return "utf-8" if charset and charset.lower().startswith("utf-16") else charset


def extract_html(source: str) -> tuple[Snapshot, dict[str, str]]:
    """The page's text with its blocks, and its `title` as metadata; scripts and styles are dropped."""
    source, counts = normalise(source)
    blocks = HtmlBlocks()
    _feed(source, blocks)
    text, spans = blocks.finish()
    text, late_counts = replace_forbidden(text)
    for name, count in late_counts.items():
        counts[name] = counts.get(name, 0) + count
    title = replace_forbidden(blocks.title)[0]
    return Snapshot(text, spans, counts), {"title": title} if title else {}


def _feed(source: str, blocks: HtmlBlocks) -> None:
    from lxml import etree

    parser: Any = etree.HTMLParser(target=blocks, huge_tree=True, encoding="utf-8")
    n_steps = 0
    try:
        for start in range(0, len(source), _PIECE_CHARS):
            piece = source[start : start + _PIECE_CHARS]
            parser.feed(piece.encode("utf-8"))
            n_steps += blocks.depth * piece.count("</")
            if n_steps > MAX_END_TAG_STEPS:
                raise ExtractionError("too_deep", f"{blocks.depth} elements are open at once")
        parser.close()
    except etree.LxmlError as error:
        if source.strip():
            raise ExtractionError("broken_html", str(error)[:200]) from error

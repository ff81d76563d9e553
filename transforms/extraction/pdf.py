"""PDF: the text of each page through PDFium, the reader of Chrome; paragraphs from the distances between lines."""

import re
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from models.errors import ExtractionError
from models.extras import require
from transforms.elements import Snapshot
from transforms.extraction.normalising import normalise, replace_forbidden
from transforms.extraction.rendering import TextBuilder

VERSION = 1

_PDFIUM_LOCK = threading.Lock()  # PDFium has global state and must not be entered twice
_WRONG_PASSWORD = 4
# PDFium writes a hyphen that ends a line as one of these.
_HYPHEN_AT_LINE_END = re.compile("[\ufffe\x02]\r?\n?")
_PARAGRAPH_GAP = 1.4  # in usual line distances


def extract_pdf(data: bytes, max_chars: int) -> Snapshot:
    """The document's text, with a block for each page that has text, and its paragraphs.

    Pages without text (scans) are counted. Raises ExtractionError('broken_pdf', 'encrypted_pdf', 'too_large').
    """
    pdfium = require("pypdfium2", "formats")
    with _PDFIUM_LOCK:
        try:
            document = pdfium.PdfDocument(data)
        except pdfium.PdfiumError as error:
            is_locked = getattr(error, "err_code", None) == _WRONG_PASSWORD
            raise ExtractionError("encrypted_pdf" if is_locked else "broken_pdf", str(error)[:200]) from error
        try:
            return _read(document, max_chars)
        except pdfium.PdfiumError as error:
            raise ExtractionError("broken_pdf", str(error)[:200]) from error
        finally:
            document.close()


def _read(document: Any, max_chars: int) -> Snapshot:
    builder = TextBuilder()
    counts: dict[str, int] = {}
    for number in range(len(document)):
        start, n_blocks = builder.n_chars, builder.n_blocks
        for paragraph in _page_paragraphs(document, number, counts):
            if builder.n_blocks == n_blocks:
                start = builder.skip_separator()
            builder.add("paragraph", paragraph)
        if builder.n_blocks == n_blocks:
            _count(counts, "pages_without_text", 1)
        builder.add_page(start, n_blocks)
        if builder.n_chars > max_chars:
            raise ExtractionError("too_large", f"text of more than max_document_bytes = {max_chars}")
    text, blocks = builder.finish()
    return Snapshot(text, blocks, counts)


def _page_paragraphs(document: Any, number: int, counts: dict[str, int]) -> Iterator[str]:
    page = document[number]
    text_page = page.get_textpage()
    try:
        lines = list(_lines(text_page))
    finally:
        text_page.close()
        page.close()
    for paragraph in _paragraphs(lines):
        joined, n_joined = _HYPHEN_AT_LINE_END.subn("", paragraph)
        text, replaced = replace_forbidden(normalise(joined)[0])
        for name, count in {"joined_hyphens": n_joined, **replaced}.items():
            _count(counts, name, count)
        if text.strip():
            yield text.strip()


def _lines(text_page: Any) -> Iterator[tuple[str, float]]:
    """The page's lines with the height (in points, from below) of their first letter's lower edge."""
    text = text_page.get_text_range()
    is_exact = len(text) == text_page.count_chars()  # else PDFium's indices are not those of the text
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        line = text[start:end]
        if line.strip():
            first = start + len(line) - len(line.lstrip())
            yield line, text_page.get_charbox(first, loose=True)[1] if is_exact else 0.0
        start = end


def _paragraphs(lines: list[tuple[str, float]]) -> list[str]:
    """Joins lines; a gap clearly wider than usual, or a jump upwards (the next column), starts a paragraph."""
    drops = [above - below for (_, above), (_, below) in pairwise(lines)]
    downward = sorted(drop for drop in drops if drop > 1) or [0.0]
    usual = downward[len(downward) // 4]  # a low quartile: on a short page half of the distances are gaps
    paragraphs: list[list[str]] = []
    for (line, _), drop in zip(lines, [float("inf"), *drops], strict=False):  # no lines, no first drop
        if drop > _PARAGRAPH_GAP * usual + 0.5 or drop < -1:
            paragraphs.append([])
        paragraphs[-1].append(line)
    return ["".join(lines_of_one) for lines_of_one in paragraphs]


def _count(counts: dict[str, int], name: str, count: int) -> None:
    if count:
        counts[name] = counts.get(name, 0) + count

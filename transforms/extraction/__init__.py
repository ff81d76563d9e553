"""Bytes to snapshots: one immutable text a document, with the author's own structure as exact spans."""

from transforms.extraction.extract import extract_file
from transforms.extraction.formats import format_of, is_table
from transforms.extraction.headings import heading_text
from transforms.extraction.identity import content_id, extractor_identity
from transforms.extraction.records import Extracted

__all__ = ["Extracted", "content_id", "extract_file", "extractor_identity", "format_of", "heading_text", "is_table"]

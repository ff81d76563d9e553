"""Formats in which a file, or a record of a web archive, is one document."""

from models.errors import ExtractionError
from transforms.extraction.decoding import decode
from transforms.extraction.formats import Format, declared_charset
from transforms.extraction.html import declared_html_charset, extract_html
from transforms.extraction.markdown import extract_markdown
from transforms.extraction.pdf import extract_pdf
from transforms.extraction.plain import extract_plain
from transforms.extraction.records import Extracted, counted
from transforms.extraction.tables import fit_metadata
from transforms.settings import ReadingSettings

TEXT_FORMATS = frozenset(("plain", "markdown", "html"))


def extract_document(
    data: bytes, format_name: Format, content_type: str | None, settings: ReadingSettings
) -> Extracted:
    """The document in `data`, or ExtractionError with the reason why there is none."""
    charset = declared_charset(content_type)
    if format_name == "pdf":
        return Extracted(snapshot=extract_pdf(data, settings.max_document_bytes))
    if format_name not in TEXT_FORMATS:
        raise ExtractionError("unknown_format", f"{format_name} is not the format of a single document")
    if format_name == "html":
        charset = charset or declared_html_charset(data)
    text, counts = decode(data, charset)
    metadata: dict[str, str] = {}
    if format_name == "html":
        snapshot, metadata = extract_html(text)
        metadata = fit_metadata(metadata, settings.max_metadata_bytes)[0]
    else:
        snapshot = extract_plain(text) if format_name == "plain" else extract_markdown(text)
    return Extracted(snapshot=counted(snapshot, counts), metadata=metadata)

"""Which format a file has: by content type, then by suffix."""

from typing import Literal

Format = Literal["plain", "markdown", "html", "pdf", "jsonl", "csv", "parquet", "warc"]

_BY_CONTENT_TYPE: dict[str, Format] = {
    "text/plain": "plain",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
    "application/jsonl": "jsonl",
    "application/jsonlines": "jsonl",
    "application/x-jsonlines": "jsonl",
    "application/x-ndjson": "jsonl",
    "application/ndjson": "jsonl",
    "text/csv": "csv",
    "application/csv": "csv",
    "application/vnd.apache.parquet": "parquet",
    "application/x-parquet": "parquet",
    "application/warc": "warc",
}

_BY_SUFFIX: dict[str, Format] = {
    "txt": "plain",
    "text": "plain",
    "md": "markdown",
    "markdown": "markdown",
    "html": "html",
    "htm": "html",
    "xhtml": "html",
    "pdf": "pdf",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "csv": "csv",
    "parquet": "parquet",
    "warc": "warc",
}

_COMPRESSIONS = ("gz", "gzip")
_TABLES = frozenset(("jsonl", "csv", "parquet", "warc"))


def format_of(uri: str, content_type: str | None = None) -> Format | None:
    """The format by content type, else by suffix (a `.gz` behind it is looked through); None where neither is known.

    >>> format_of("a/b.MD.gz"), format_of("page", "text/html; charset=utf-8"), format_of("a/b.exe")
    ('markdown', 'html', None)
    """
    named = _BY_CONTENT_TYPE.get((content_type or "").split(";")[0].strip().lower())
    if named is not None:
        return named
    parts = uri.replace("\\", "/").rsplit("/", 1)[-1].lower().split(".")
    if len(parts) > 2 and parts[-1] in _COMPRESSIONS:
        parts.pop()
    return _BY_SUFFIX.get(parts[-1]) if len(parts) > 1 else None


def is_table(format_name: str) -> bool:
    """Whether a file of this format holds many documents (rows of a table, records of a web archive).

    >>> is_table("csv"), is_table("pdf")
    (True, False)
    """
    return format_name in _TABLES


def declared_charset(content_type: str | None) -> str | None:
    """The charset parameter of a content type.

    >>> declared_charset('text/html; Charset="ISO-8859-1"')
    'ISO-8859-1'
    """
    for parameter in (content_type or "").split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip():
            return value.strip().strip("'\"")
    return None

"""What a model is shown of a document beside the passage: how it begins, and what stands right before the passage."""

from collections.abc import Sequence

VERSION = 2
MAX_HEADINGS_CHARS = 600
_ELLIPSIS = " … "


def shown_around(text: str, start: int, max_chars: int) -> str:
    """At most `max_chars` of what stands before `text[start:]`: all of it, or its beginning and its end, on one line.

    >>> shown_around("The mill. It is old. It turns.", 21, 100)
    'The mill. It is old.'
    >>> shown_around("The mill. It is old. It turns.", 21, 13)
    'The m … old.'
    """
    if start <= max_chars:
        return " ".join(text[:start].split())
    half = max(max_chars - len(_ELLIPSIS), 0) // 2
    first, last = text[:half], text[start - half : start] if half else ""
    return " ".join(f"{first.rstrip()}{_ELLIPSIS}{last.lstrip()}".split()) if half else ""


def shown_headings(heading_path: Sequence[str]) -> str:
    """A heading path on one line of at most `MAX_HEADINGS_CHARS`: all of it, or its beginning and its end.

    Every passage below a heading is shown with it, and a heading may be as long as a document.

    >>> shown_headings(["Harrow line", "Night service"])
    'Harrow line > Night service'
    """
    line = " > ".join(" ".join(heading.split()) for heading in heading_path)
    half = (MAX_HEADINGS_CHARS - len(_ELLIPSIS)) // 2
    return line if len(line) <= MAX_HEADINGS_CHARS else f"{line[:half]}{_ELLIPSIS}{line[-half:]}"

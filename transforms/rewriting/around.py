"""What a model is shown of a document beside the passage: how it begins, and what stands right before the passage."""

VERSION = 1
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

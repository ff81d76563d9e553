"""One spelling of line ends, and nothing in a snapshot that a file, a coder or a tokenizer would choke on."""

import re

VERSION = 1

REPLACEMENT = "\ufffd"
_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise(text: str) -> tuple[str, dict[str, int]]:
    r"""The text with LF line ends and U+FFFD for NUL and lone surrogates, and the counts of what was replaced.

    >>> normalise("a\r\nb\rc\0")
    ('a\nb\nc�', {'replaced_nul': 1})
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return replace_forbidden(text)


def replace_forbidden(text: str) -> tuple[str, dict[str, int]]:
    """NUL and lone surrogates as U+FFFD, one for one, so that no offset moves, and their counts."""
    counts = {}
    n_nul = text.count("\0")
    if n_nul:
        text = text.replace("\0", REPLACEMENT)
        counts["replaced_nul"] = n_nul
    if not _encodes(text):
        text, counts["replaced_surrogate"] = _SURROGATE.subn(REPLACEMENT, text)
    return text, counts


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True

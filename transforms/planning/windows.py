"""Fixed windows of `window_tokens` of which neighbours share `overlap_tokens`: counts, tokens, and what they sever.

Starts are 0, S, 2S, ... with stride S = L - o, up to the first window that reaches the end of the document. The
formulas follow by counting; they hold per document, and never for documents laid end to end.
"""

import numpy as np
from numpy.typing import NDArray

from models.errors import SettingsError

Tokens = NDArray[np.int64]


def window_count(document_tokens: int, window_tokens: int, overlap_tokens: int = 0) -> int:
    """Windows over one document: 0 for T = 0, 1 for T <= L, else ceil((T - o) / (L - o)).

    :raises SettingsError: not 1 <= L, not 0 <= o < L, or T < 0.

    >>> window_count(4000, 512, 64), window_count(50, 512, 64), window_count(0, 512, 64)
    (9, 1, 0)
    """
    check_window(window_tokens, overlap_tokens)
    if document_tokens < 0:
        raise SettingsError(f"document_tokens = {document_tokens} is below 0; a length is a number of tokens")
    return max(int(document_tokens > 0), -((overlap_tokens - document_tokens) // (window_tokens - overlap_tokens)))


def window_counts(document_tokens: Tokens, window_tokens: int, overlap_tokens: int = 0) -> Tokens:
    """`window_count` of each length in `document_tokens`, int64 (k,)."""
    check_window(window_tokens, overlap_tokens)
    counts = -((overlap_tokens - document_tokens) // (window_tokens - overlap_tokens))
    return np.maximum((document_tokens > 0).astype(np.int64), counts)


def embedded_tokens(document_tokens: int, window_tokens: int, overlap_tokens: int = 0) -> int:
    """Tokens in all windows of one document, unpadded: exactly T + (n - 1) o.

    >>> embedded_tokens(4000, 512, 64)
    4512
    """
    n_windows = window_count(document_tokens, window_tokens, overlap_tokens)
    return document_tokens + max(0, n_windows - 1) * overlap_tokens


def padded_slots(document_tokens: int, window_tokens: int, overlap_tokens: int = 0) -> int:
    """Slots when every window is padded to its full length: n L.

    >>> padded_slots(4000, 512, 64)
    4608
    """
    return window_count(document_tokens, window_tokens, overlap_tokens) * window_tokens


def last_window_tokens(document_tokens: Tokens, window_tokens: int, overlap_tokens: int = 0) -> Tokens:
    """Tokens of the last window of each document, int64 (k,): T - (n - 1) (L - o); 0 for an empty document."""
    counts = window_counts(document_tokens, window_tokens, overlap_tokens)
    last: Tokens = document_tokens - np.maximum(0, counts - 1) * (window_tokens - overlap_tokens)
    return last


def inflation(document_tokens: int, window_tokens: int, overlap_tokens: int = 0) -> float:
    """Embedded tokens over the document's own, exact for one document.

    :raises SettingsError: an empty document, which has no such ratio.

    >>> inflation(4000, 512, 64)
    1.128
    """
    if document_tokens < 1:
        raise SettingsError(f"document_tokens = {document_tokens} has no inflation; give a document with tokens")
    return embedded_tokens(document_tokens, window_tokens, overlap_tokens) / document_tokens


def long_document_inflation(window_tokens: int, overlap_tokens: int) -> float:
    """What `inflation` tends to as documents grow: L / (L - o). An approximation, never below the exact figure."""
    check_window(window_tokens, overlap_tokens)
    return window_tokens / (window_tokens - overlap_tokens)


def severance_probability(span_tokens: int, window_tokens: int, overlap_tokens: int = 0) -> float:
    """Probability that no window holds a span of s tokens whole, its start being uniform over a stride.

    min(1, max(0, (s - o - 1) / (L - o))) for s <= L, and 1 for s > L. Spans of up to o + 1 tokens are safe.

    >>> severance_probability(40, 512), severance_probability(40, 512, 39), severance_probability(600, 512, 64)
    (0.076171875, 0.0, 1.0)
    """
    check_window(window_tokens, overlap_tokens)
    _check_span(span_tokens)
    if span_tokens > window_tokens:
        return 1.0
    return min(1.0, max(0.0, (span_tokens - overlap_tokens - 1) / (window_tokens - overlap_tokens)))


def intact_probability(span_tokens: int, window_tokens: int, overlap_tokens: int = 0) -> float:
    """Probability that some window holds the span whole: min(1, (L - s + 1) / (L - o)), and 0 for s > L.

    >>> intact_probability(80, 512)
    0.845703125
    """
    check_window(window_tokens, overlap_tokens)
    _check_span(span_tokens)
    return min(1.0, max(0.0, (window_tokens - span_tokens + 1) / (window_tokens - overlap_tokens)))


def sufficient_overlap(span_tokens: int) -> int:
    """The smallest overlap under which no span of s tokens is severed, for windows of at least s tokens: s - 1.

    >>> sufficient_overlap(40)
    39
    """
    _check_span(span_tokens)
    return span_tokens - 1


def check_window(window_tokens: int, overlap_tokens: int) -> None:
    """SettingsError unless 1 <= L and 0 <= o < L: a window must hold something, and advance."""
    if window_tokens < 1:
        raise SettingsError(f"window_tokens = {window_tokens} must be a whole number above 0")
    if not 0 <= overlap_tokens < window_tokens:
        raise SettingsError(
            f"overlap_tokens = {overlap_tokens} must be from 0 to {window_tokens - 1}, below the window; "
            "a window must advance"
        )


def _check_span(span_tokens: int) -> None:
    if span_tokens < 1:
        raise SettingsError(f"span_tokens = {span_tokens} must be a whole number above 0")

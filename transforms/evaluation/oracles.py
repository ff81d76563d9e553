"""What fixed windows could reach at best: an oracle that returns the window with the largest part of the answer.

An answer of `g` tokens lies at a phase uniform over the `L` starts modulo the window; windows do not overlap. For
`L - g + 1` phases it is whole, and each of the other `g - 1` cuts it once into parts of `j` and `g - j`.
"""

import numpy as np
from numpy.typing import NDArray

from models.errors import SettingsError


def best_part_recall(gold_tokens: int) -> float:
    """Mean share of the larger part of an answer that is cut once, over its interior cuts."""
    return float(_larger_parts(gold_tokens).mean() / gold_tokens)


def best_part_recall_continuous(n_parts: int) -> float:
    """Mean share of the largest of `n_parts` parts cut uniformly at random: `H(n) / n`, the broken stick."""
    return float(np.sum(1 / np.arange(1, n_parts + 1)) / n_parts)


def oracle_recall(window_tokens: int, gold_tokens: int) -> float:
    """Mean recall of the oracle: `1 - sum(g - max(j, g - j)) / (L g)` over the interior cuts j."""
    _check(window_tokens, gold_tokens)
    lost = gold_tokens - _larger_parts(gold_tokens)
    return float(1 - lost.sum() / (window_tokens * gold_tokens))


def oracle_iou(window_tokens: int, gold_tokens: int) -> float:
    """Mean IoU of the oracle over the `L` phases; `p / (L + g - p)` where the window holds a part of `p` tokens."""
    _check(window_tokens, gold_tokens)
    parts = _larger_parts(gold_tokens)
    whole = (window_tokens - gold_tokens + 1) * gold_tokens / window_tokens
    return float((whole + np.sum(parts / (window_tokens + gold_tokens - parts))) / window_tokens)


def _larger_parts(gold_tokens: int) -> NDArray[np.int64]:
    cuts = np.arange(1, gold_tokens)
    return np.maximum(cuts, gold_tokens - cuts)


def _check(window_tokens: int, gold_tokens: int) -> None:
    if not 1 < gold_tokens <= window_tokens:
        raise SettingsError(f"gold_tokens = {gold_tokens} must be above 1 and at most window_tokens = {window_tokens}")

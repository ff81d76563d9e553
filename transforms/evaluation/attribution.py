"""What a sweep of three arms says: A large chunks under a short limit, B small chunks, C the spans of A read whole.

`C - A` is what truncation cost and `B - C` what dilution cost. They add up to `B - A` by construction; what checks them
are intervals, equal questions, and the control: documents that fit the short limit, on which A and C must agree.
"""

from collections.abc import Sequence
from typing import NamedTuple

from models.errors import SettingsError


class Attribution(NamedTuple):
    """Differences of a metric between the arms, in its own unit."""

    truncation: float
    dilution: float
    total: float


def attribute(arm_a: float, arm_b: float, arm_c: float) -> Attribution:
    """`C - A`, `B - C` and `B - A`."""
    return Attribution(arm_c - arm_a, arm_b - arm_c, arm_b - arm_a)


def remaining_gap(control_level: float, long_documents: float) -> float:
    """What an arm leaves against the level of documents that are read whole: unexplained by either cause."""
    return control_level - long_documents


def control_movement(control: Sequence[float]) -> float:
    """The largest difference between arms on the control; beyond noise it makes an attribution invalid."""
    return max(control) - min(control)


def evidence_tokens(k: int, tokens_per_unit: float) -> float:
    """Tokens of a prompt that `k` units take."""
    return k * tokens_per_unit


def length_growth(mean_tokens_before: float, mean_tokens_after: float) -> float:
    """By what factor the text retrieved at equal k grows with the mean unit."""
    return mean_tokens_after / mean_tokens_before


def overlap_of_share(window_tokens: int, overlap_share: float) -> int:
    """The overlap of an arm that states it as a share of its window, in whole tokens, rounded down.

    :raises SettingsError: a share outside [0, 1): the window would not advance.
    """
    if not 0 <= overlap_share < 1:
        raise SettingsError(f"overlap_share = {overlap_share} must be from 0 to below 1")
    return int(window_tokens * overlap_share)


def overlap_share(window_tokens: int, overlap_tokens: int) -> float:
    """The share of a window that it has in common with the one before."""
    return overlap_tokens / window_tokens

"""What somebody expects of a sweep, as ranges that are set down before it runs."""

from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple, get_args

from models.errors import SettingsError
from transforms.evaluation.statistics import Estimate

Quantity = Literal["C - A", "B - C", "B - A"]
QUANTITIES: tuple[str, ...] = get_args(Quantity)


class Hypothesis(NamedTuple):
    """`quantity`, a difference of `metric` between two arms, will lie in [low, high)."""

    name: str
    quantity: str
    metric: str
    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether the range has `value`; a range that ends at 1, the largest difference there is, has its end too."""
        return self.low <= value < self.high or value == self.high == 1


class Verdict(NamedTuple):
    """What became of the hypotheses about one quantity.

    `hit` is the name of the range that has the mean, None where none has it. `touched` are all the ranges that the
    interval reaches, of which more than one means that the questions are too few to tell them apart.
    """

    quantity: str
    metric: str
    estimate: Estimate
    hit: str | None
    touched: tuple[str, ...]


def check_hypotheses(hypotheses: Sequence[Hypothesis], metrics: Sequence[str]) -> None:
    """SettingsError for none at all, a range that cannot be, a name used twice, or two ranges that overlap."""
    if not hypotheses:
        raise SettingsError("no hypothesis; write down at least one range before the sweep runs")
    for one in hypotheses:
        _check(one, metrics)
    for first, second in combinations(hypotheses, 2):
        if first.name == second.name:
            raise SettingsError(f"two hypotheses are called {first.name!a}; give each a name of its own")
        is_same = first[1:3] == second[1:3]
        if is_same and max(first.low, second.low) < min(first.high, second.high):
            raise SettingsError(
                f"hypotheses {first.name!a} and {second.name!a} overlap: [{first.low:g}, {first.high:g}) and "
                f"[{second.low:g}, {second.high:g}) of {first.metric} {first.quantity}; no result could tell them apart"
            )


def judge(hypotheses: Sequence[Hypothesis], quantity: str, metric: str, estimate: Estimate) -> Verdict:
    """Which of the ranges about a quantity the result hit."""
    asked = [one for one in hypotheses if (one.quantity, one.metric) == (quantity, metric)]
    hit = next((one.name for one in asked if one.holds(estimate.mean)), None)
    touched = tuple(one.name for one in asked if one.holds(estimate.low) or estimate.low < one.low <= estimate.high)
    return Verdict(quantity, metric, estimate, hit, touched)


def _check(one: Hypothesis, metrics: Sequence[str]) -> None:
    if not one.name.strip():
        raise SettingsError("a hypothesis has no name; give it one")
    if one.quantity not in QUANTITIES:
        raise SettingsError(
            f"hypothesis {one.name!a}: quantity = {one.quantity!a} must be one of {', '.join(QUANTITIES)}"
        )
    if one.metric not in metrics:
        raise SettingsError(f"hypothesis {one.name!a}: metric = {one.metric!a} must be one of {', '.join(metrics)}")
    if not -1 <= one.low < one.high <= 1:
        raise SettingsError(
            f"hypothesis {one.name!a}: low = {one.low:g} must be below high = {one.high:g}, both from -1 to 1"
        )

"""The plot of a sweep: the arms, and the curve over sizes."""

from collections.abc import Iterator, Sequence
from math import log2

from pipelines import svg
from pipelines.evaluation.measuring import WITHIN_BUDGET
from pipelines.sweep.analysis import ALL, ArmFindings, Findings
from pipelines.sweep.arms import LONG, SHORT
from transforms.evaluation.statistics import Estimate

WIDTH, HEIGHT = 860, 380
_TOP, _BOTTOM = 70, 310
_ARMS, _CURVE = (70, 350), (440, 830)
_COLOURS = {SHORT: "#b4480e", LONG: "#1f5f99"}
_SHIFT = {SHORT: -5, LONG: 5}
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def draw(findings: Findings, budget_tokens: int) -> str:
    """Recall within the budget, with intervals: of A, B and C on the left, by size and encoder on the right."""
    n = findings.n_questions[ALL]
    title = f"Recall within {budget_tokens:,} tokens, {n:,} questions, with 95 % intervals"
    parts = [
        svg.words(_ARMS[0], 26, title, size=16, anchor="start"),
        *_legend(),
        *_axis(_ARMS),
        *_arms(findings.arms),
        *_axis(_CURVE),
        *_curve(findings.curve),
    ]
    return svg.page(WIDTH, HEIGHT, parts)


def _arms(arms: Sequence[ArmFindings]) -> Iterator[str]:
    step = (_ARMS[1] - _ARMS[0]) / len(arms)
    for number, arm in enumerate(arms):
        x = _ARMS[0] + (number + 0.5) * step
        estimate = _recall(arm)
        yield from _point(x, estimate, _COLOURS[arm.plan.reader])
        yield svg.words(x + 9, _y(estimate.mean) + 4, f"{estimate.mean:.2f}", anchor="start")
        yield svg.words(x, _BOTTOM + 20, arm.plan.name)
        yield svg.words(x, _BOTTOM + 38, f"{arm.plan.size_tokens:,} tokens", size=11)


def _curve(curve: Sequence[ArmFindings]) -> Iterator[str]:
    sizes = sorted({arm.plan.size_tokens for arm in curve})
    yield svg.words(sum(_CURVE) / 2, _BOTTOM + 42, "tokens of an input, at most", size=11)
    for size in sizes:
        yield svg.words(_x(size, sizes), _BOTTOM + 20, f"{size:,}")
    for reader in (SHORT, LONG):
        own = sorted((arm for arm in curve if arm.plan.reader == reader), key=lambda arm: arm.plan.size_tokens)
        places = [(_x(arm.plan.size_tokens, sizes) + _SHIFT[reader], _recall(arm)) for arm in own]
        yield svg.path([(x, _y(estimate.mean)) for x, estimate in places], _COLOURS[reader])
        for x, estimate in places:
            yield from _point(x, estimate, _COLOURS[reader])


def _point(x: float, estimate: Estimate, colour: str) -> Iterator[str]:
    low, high = _y(estimate.low), _y(estimate.high)
    yield svg.line((x, low), (x, high), colour, 2)
    for y in (low, high):
        yield svg.line((x - 4, y), (x + 4, y), colour, 2)
    yield svg.dot(x, _y(estimate.mean), colour)


def _axis(panel: tuple[int, int]) -> Iterator[str]:
    for tick in _TICKS:
        y = _y(tick)
        yield svg.line((panel[0], y), (panel[1], y), "#ddd")
        yield svg.words(panel[0] - 8, y + 4, f"{tick:.2f}", anchor="end", size=11)


def _legend() -> Iterator[str]:
    for number, (reader, colour) in enumerate(_COLOURS.items()):
        x = _ARMS[0] + 6 + 150 * number
        yield svg.dot(x, 46, colour)
        yield svg.words(x + 10, 50, f"{reader} encoder", anchor="start", size=12)


def _recall(arm: ArmFindings) -> Estimate:
    return arm.estimates[ALL][WITHIN_BUDGET]["recall"]


def _y(share: float) -> float:
    return _BOTTOM - share * (_BOTTOM - _TOP)


def _x(size: int, sizes: Sequence[int]) -> float:
    """Sizes stand at their logarithms, with room at both ends."""
    first, last = log2(sizes[0]), log2(sizes[-1])
    share = (log2(size) - first) / (last - first) if last > first else 0.5
    return _CURVE[0] + 30 + share * (_CURVE[1] - _CURVE[0] - 60)

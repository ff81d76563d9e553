"""The plot of a sweep as SVG, written by hand so that it needs no library: the arms, and the curve over sizes."""

from collections.abc import Iterator, Sequence
from html import escape
from math import log2

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
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="13" fill="#222">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        _text(_ARMS[0], 26, title, size=16, anchor="start"),
        *_legend(),
        *_axis(_ARMS),
        *_arms(findings.arms),
        *_axis(_CURVE),
        *_curve(findings.curve),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _arms(arms: Sequence[ArmFindings]) -> Iterator[str]:
    step = (_ARMS[1] - _ARMS[0]) / len(arms)
    for number, arm in enumerate(arms):
        x = _ARMS[0] + (number + 0.5) * step
        estimate = _recall(arm)
        yield from _point(x, estimate, _COLOURS[arm.plan.reader])
        yield _text(x + 9, _y(estimate.mean) + 4, f"{estimate.mean:.2f}", anchor="start")
        yield _text(x, _BOTTOM + 20, arm.plan.name)
        yield _text(x, _BOTTOM + 38, f"{arm.plan.size_tokens:,} tokens", size=11)


def _curve(curve: Sequence[ArmFindings]) -> Iterator[str]:
    sizes = sorted({arm.plan.size_tokens for arm in curve})
    yield _text(sum(_CURVE) / 2, _BOTTOM + 42, "tokens of an input, at most", size=11)
    for size in sizes:
        yield _text(_x(size, sizes), _BOTTOM + 20, f"{size:,}")
    for reader in (SHORT, LONG):
        own = sorted((arm for arm in curve if arm.plan.reader == reader), key=lambda arm: arm.plan.size_tokens)
        places = [(_x(arm.plan.size_tokens, sizes) + _SHIFT[reader], _recall(arm)) for arm in own]
        line = " ".join(f"{x:.1f},{_y(estimate.mean):.1f}" for x, estimate in places)
        yield f'<polyline points="{line}" fill="none" stroke="{_COLOURS[reader]}" stroke-width="1.5"/>'
        for x, estimate in places:
            yield from _point(x, estimate, _COLOURS[reader])


def _point(x: float, estimate: Estimate, colour: str) -> Iterator[str]:
    low, high = _y(estimate.low), _y(estimate.high)
    yield f'<line x1="{x:.1f}" y1="{low:.1f}" x2="{x:.1f}" y2="{high:.1f}" stroke="{colour}" stroke-width="2"/>'
    for y in (low, high):
        yield f'<line x1="{x - 4:.1f}" y1="{y:.1f}" x2="{x + 4:.1f}" y2="{y:.1f}" stroke="{colour}" stroke-width="2"/>'
    yield f'<circle cx="{x:.1f}" cy="{_y(estimate.mean):.1f}" r="4.5" fill="{colour}"/>'


def _axis(panel: tuple[int, int]) -> Iterator[str]:
    for tick in _TICKS:
        y = _y(tick)
        yield f'<line x1="{panel[0]}" y1="{y:.1f}" x2="{panel[1]}" y2="{y:.1f}" stroke="#ddd"/>'
        yield _text(panel[0] - 8, y + 4, f"{tick:.2f}", anchor="end", size=11)


def _legend() -> Iterator[str]:
    for number, (reader, colour) in enumerate(_COLOURS.items()):
        x = _ARMS[0] + 6 + 150 * number
        yield f'<circle cx="{x}" cy="46" r="4.5" fill="{colour}"/>'
        yield _text(x + 10, 50, f"{reader} encoder", anchor="start", size=12)


def _text(x: float, y: float, text: str, *, anchor: str = "middle", size: int = 13) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def _recall(arm: ArmFindings) -> Estimate:
    return arm.estimates[ALL][WITHIN_BUDGET]["recall"]


def _y(share: float) -> float:
    return _BOTTOM - share * (_BOTTOM - _TOP)


def _x(size: int, sizes: Sequence[int]) -> float:
    """Sizes stand at their logarithms, with room at both ends."""
    first, last = log2(sizes[0]), log2(sizes[-1])
    share = (log2(size) - first) / (last - first) if last > first else 0.5
    return _CURVE[0] + 30 + share * (_CURVE[1] - _CURVE[0] - 60)

"""Plots as SVG, written by hand so that they need no library: what the plots of this program share."""

from collections.abc import Iterable
from html import escape


def page(width: int, height: int, parts: Iterable[str]) -> str:
    """A picture of `parts` on white, in pixels."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="13" fill="#222">'
    )
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="#fff"/>', *parts, "</svg>"]) + "\n"


def words(x: float, y: float, text: str, *, anchor: str = "middle", size: int = 13) -> str:
    """`text` at (x, y), its baseline. Text of documents has to be safe already (`pipelines.output.safe`)."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def line(start: tuple[float, float], end: tuple[float, float], colour: str, width: float = 1, dashes: str = "") -> str:
    """A straight line, dashed where `dashes` has lengths."""
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" '
        f'stroke="{colour}" stroke-width="{width:g}"{dashed}/>'
    )


def dot(x: float, y: float, colour: str, *, radius: float = 4.5, title: str = "") -> str:
    """A dot; a viewer shows `title`, which has to be safe already, when it is pointed at."""
    place = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}"'
    return f"{place}><title>{escape(title)}</title></circle>" if title else f"{place}/>"


def path(points: Iterable[tuple[float, float]], colour: str, width: float = 1.5) -> str:
    """Points, each joined with the next."""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width:g}"/>'

"""The plot of why documents were cut where they were: the scores of their sentences, the threshold and the cuts."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from models.errors import SettingsError
from pipelines import svg
from pipelines.explain_view import rule
from pipelines.output import safe, snippet
from pipelines.wording import n_of

if TYPE_CHECKING:
    from transforms.chunkers.explaining import Explanation, Sentence

WIDTH, PANEL_HEIGHT = 960, 240
MAX_PANELS = 20
MAX_DOTS = 2_000
"""Sentences of one document up to which each has a dot that tells its text."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 930, 60, 200
_LINE, _CUT, _THRESHOLD = "#1f5f99", "#b4480e", "#555"
_LABELS = {"near": "#1f5f99", "far": "#8a8a8a"}
_TITLE_CHARS, _NAME_CHARS = 120, 60


class Explained(NamedTuple):
    """A document under the name that a person knows it by, and why it was cut where it was."""

    name: str
    text: str
    explanation: "Explanation"


def write_plot(path: Path, documents: Sequence[Explained]) -> None:
    """Write the plot of the first `MAX_PANELS` documents to `path`.

    :raises SettingsError: in one line, where it is no .svg file or cannot be written.
    """
    if path.suffix.lower() != ".svg":
        raise SettingsError(f"{str(path)!a} is no name of a plot; end it in .svg")
    try:
        path.write_text(draw(documents), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{str(path)!a} cannot be written: {error.strerror}") from error


def draw(documents: Sequence[Explained]) -> str:
    """A panel for each of the first `MAX_PANELS` documents, as SVG: sentences from left to right, scores upwards."""
    parts: list[str] = []
    shown = documents[:MAX_PANELS]
    for number, document in enumerate(shown):
        parts += [f'<g transform="translate(0,{number * PANEL_HEIGHT})">', *_panel(document), "</g>"]
    height = max(1, len(shown)) * PANEL_HEIGHT
    if len(documents) > len(shown):
        height += 30
        more = f"and {n_of(len(documents) - len(shown), 'document')} more"
        parts.append(svg.words(_LEFT, height - 12, more, anchor="start"))
    return svg.page(WIDTH, height, parts)


class _Scale(NamedTuple):
    """Where the sentence at an index and a score stand in a panel. A gap is half a step behind its sentence."""

    n_sentences: int
    low: float
    high: float

    def x(self, index: float) -> float:
        return _LEFT + (index + 0.5) / self.n_sentences * (_RIGHT - _LEFT)

    def y(self, score: float) -> float:
        return _BOTTOM - (score - self.low) / ((self.high - self.low) or 1.0) * (_BOTTOM - _TOP)


def _panel(document: Explained) -> Iterator[str]:
    found = document.explanation
    scores = [row.score for row in found.sentences if row.score is not None]
    known = [*scores, 0.0, *(() if found.threshold is None else (found.threshold,))]
    scale = _Scale(max(1, len(found.sentences)), min(known), max(known))
    n_cuts = sum(row.is_cut for row in found.sentences)
    counts = f"{n_of(len(found.sentences), 'sentence')}, {n_of(n_cuts, 'cut')}: {safe(rule(found))}"
    yield svg.words(_LEFT, 24, snippet(document.name, _NAME_CHARS), anchor="start", size=15)
    yield svg.words(_LEFT, 44, counts, anchor="start", size=12)
    yield from _axes(scale, has_scores=bool(scores))
    yield from _legend({row.label for row in found.sentences})
    yield from (_cut(scale, index) for index, row in enumerate(found.sentences) if row.is_cut)
    if found.threshold is not None:
        y = scale.y(found.threshold)
        yield svg.line((_LEFT, y), (_RIGHT, y), _THRESHOLD, dashes="6 4")
        yield svg.words(_RIGHT, y - 5, f"{found.threshold:.4f}", anchor="end", size=11)
    yield from _scores(scale, document)


def _axes(scale: _Scale, *, has_scores: bool) -> Iterator[str]:
    yield svg.line((_LEFT, _BOTTOM), (_RIGHT, _BOTTOM), "#ddd")
    for score in sorted({scale.low, scale.high}) if has_scores else ():
        yield svg.words(_LEFT - 8, scale.y(score) + 4, f"{score:.2f}", anchor="end", size=11)
    for index in sorted({0, scale.n_sentences - 1}):
        yield svg.words(scale.x(index), _BOTTOM + 18, f"{index + 1:,}", size=11)
    yield svg.words((_LEFT + _RIGHT) / 2, _BOTTOM + 18, "sentence", size=11)


def _legend(labels: set[str]) -> Iterator[str]:
    for number, label in enumerate(label for label in _LABELS if label in labels):
        x = _RIGHT - 110 + 60 * number
        yield svg.dot(x, 40, _LABELS[label], radius=3)
        yield svg.words(x + 8, 44, label, anchor="start", size=12)


def _cut(scale: _Scale, index: int) -> str:
    x = scale.x(index + 0.5)
    return svg.line((x, _TOP), (x, _BOTTOM), _CUT)


def _scores(scale: _Scale, document: Explained) -> Iterator[str]:
    rows = document.explanation.sentences
    # A distance is that of the gap behind its sentence; a similarity is the sentence's own.
    shift = 0.0 if document.explanation.measure == "similarity" else 0.5
    places = [(scale.x(at + shift), scale.y(row.score)) for at, row in enumerate(rows) if row.score is not None]
    if len(places) > 1:
        yield svg.path(places, _LINE, 1)
    if len(rows) > MAX_DOTS:
        return
    for at, row in enumerate(rows):
        if row.score is None and places:
            continue
        x, y = (scale.x(at), _BOTTOM) if row.score is None else (scale.x(at + shift), scale.y(row.score))
        yield svg.dot(x, y, _LABELS.get(row.label, _LINE), radius=3, title=_title(document.text, at, row))


def _title(text: str, index: int, row: "Sentence") -> str:
    said = [f"{index + 1}", "" if row.score is None else f"{row.score:.4f}", row.label]
    return f"{' '.join(part for part in said if part)}: {snippet(text[row.start : row.end], _TITLE_CHARS)}"

"""Why a document was cut where it was, for a person: every sentence with its score as a bar, and the cuts."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pipelines.output import safe, snippet
from pipelines.wording import n_of

if TYPE_CHECKING:
    from rich.console import Console

    from transforms.chunkers.explaining import Explanation, Sentence

BAR_CELLS = 20
_SNIPPET_CHARS = 38
_ANCHOR_CHARS = 200
_EIGHTHS = " ▏▎▍▌▋▊▉"
_FULL, _MARK = "█", "┆"


def explanation_json(key: str | None, explanation: "Explanation") -> dict[str, Any]:
    """The documented keys of one of `explanations[]`."""
    return {
        "key": key,
        "chunker": explanation.chunker,
        "measure": explanation.measure,
        "threshold": explanation.threshold,
        "sentences": [
            {
                "start": row.start,
                "end": row.end,
                "tokens": row.n_tokens,
                "score": row.score,
                "is_cut": row.is_cut,
                "label": row.label,
            }
            for row in explanation.sentences
        ],
        "anchor": explanation.anchor,
    }


def show_explanation(text: str, explanation: "Explanation", console: "Console") -> None:
    """A line for each sentence: its score as a bar with the threshold in it; a rule for each cut.

    Bars begin at 0, or at the lowest score where one is below, as of gradients and similarities.
    """
    n_cuts = sum(row.is_cut for row in explanation.sentences)
    console.print(
        f"{n_of(len(explanation.sentences), 'sentence')}, {n_of(n_cuts, 'cut')}: {safe(rule(explanation))}",
        soft_wrap=True,
    )
    if explanation.anchor:
        console.print(f"  near or far from: {snippet(explanation.anchor, _ANCHOR_CHARS)}", soft_wrap=True)
    for line, style in _lines(text, explanation):
        console.print(line, style=style, soft_wrap=True)


def rule(explanation: "Explanation") -> str:
    """What makes a cut."""
    threshold = explanation.threshold
    if explanation.measure == "model":
        return "after the sentences that the model named"
    if threshold is None:
        return "nothing to tell apart"
    if explanation.measure == "similarity":
        return f"similarity changes sides of {threshold:.4f}"
    return f"{explanation.measure} above {threshold:.4f}"


def bar(share: float, mark: float | None = None, n_cells: int = BAR_CELLS) -> str:
    """A bar of `share` (0 to 1) of `n_cells`, in eighths of a cell, with a mark at another share.

    >>> bar(0.25, 0.75, 4)
    '█  ┆'
    """
    n_eighths = round(max(0.0, min(share, 1.0)) * n_cells * 8)
    cells = list(_FULL * (n_eighths // 8))
    if n_eighths % 8:
        cells.append(_EIGHTHS[n_eighths % 8])
    cells += " " * (n_cells - len(cells))
    if mark is not None and 0 <= mark <= 1:
        cells[min(int(mark * n_cells), n_cells - 1)] = _MARK
    return "".join(cells)


def _lines(text: str, explanation: "Explanation") -> Iterator[tuple[str, str]]:
    scores = [row.score for row in explanation.sentences if row.score is not None]
    known = [*scores, 0.0, *(() if explanation.threshold is None else (explanation.threshold,))]
    low, width = min(known), (max(known) - min(known)) or 1.0
    mark = None if explanation.threshold is None else (explanation.threshold - low) / width
    for number, row in enumerate(explanation.sentences, start=1):
        share = None if row.score is None else (row.score - low) / width
        yield _line(number, text, row, share, mark), "bold" if row.is_cut else ""
        if row.is_cut:
            yield "-" * 78, "cyan"


def _line(number: int, text: str, row: "Sentence", share: float | None, mark: float | None) -> str:
    score = " " * (BAR_CELLS + 8) if share is None else f"{row.score:7.4f} {bar(share, mark)}"
    score += f" {row.label:4}" if row.label else ""
    return f"{number:5} {score}  {snippet(text[row.start : row.end], _SNIPPET_CHARS)}".rstrip()

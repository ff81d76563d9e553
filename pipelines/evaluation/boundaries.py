"""A chunker's cuts compared with the sections of marked texts.

A marked text is UTF-8 and has a unit (a sentence, a paragraph) on each line. A line that begins with `========` opens a
section; a number between commas after it, as in `========,2,Title.`, is the section's level. The chunker is given the
lines without the marks. A cut belongs to the gap between two lines that is nearest to where a chunk begins; chunks that
begin in the first line, or several in one gap, count as no cut and as one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from models.encoder import encoder_prompts
from models.errors import SettingsError
from models.settings import EncoderSettings
from models.text_files import read_text
from pipelines.output import print_pairs, print_table, safe
from pipelines.wording import n_of
from transforms.elements import Unit
from transforms.evaluation.boundaries import Disagreements, Gaps, all_boundaries, compare, no_boundaries, window_units
from transforms.extraction.plain import extract_plain
from transforms.settings import ChunkingSettings, SemanticSettings

if TYPE_CHECKING:
    from rich.console import Console

    from transforms.chunking import Cutter, Questioning

MARK = "========"
MAX_TEXT_BYTES = 64 * 1024 * 1024
NAMES = ("chunker", "no_boundaries", "all_boundaries")


class MarkedText(NamedTuple):
    """The lines of a text that are not marks, and whether a section ends after each but the last, bool (n - 1,)."""

    name: str
    lines: Sequence[str]
    gaps: Gaps


@dataclass(frozen=True)
class TextResult:
    """One text: its lines, sections, cuts and window, and how each segmentation differs from the marks."""

    name: str
    n_lines: int
    n_sections: int
    n_cuts: int
    k: int
    disagreements: dict[str, Disagreements]


@dataclass(frozen=True)
class BoundaryReport:
    """All texts of a folder. `skipped` are those too short for a window, or without a second section."""

    folder: str
    results: Sequence[TextResult]
    skipped: Sequence[str]
    chunkers: Sequence[str]

    def mean(self, metric: str, name: str = "chunker") -> float:
        """Mean over texts of `pk` or `windowdiff`, for the chunker or a baseline."""
        return float(np.mean([getattr(result.disagreements[name], metric) for result in self.results]))

    def pooled(self, metric: str, name: str = "chunker") -> float:
        """The share over the windows of all texts together."""
        found = [result.disagreements[name] for result in self.results]
        n_errors: int = sum(getattr(one, f"{metric}_errors") for one in found)
        return n_errors / sum(one.n_windows for one in found)

    def to_json(self) -> dict[str, Any]:
        """The documented keys of `corpusmill boundaries --json`."""
        means = {name: {metric: self.mean(metric, name) for metric in ("pk", "windowdiff")} for name in NAMES}
        pooled = {name: {metric: self.pooled(metric, name) for metric in ("pk", "windowdiff")} for name in NAMES}
        texts = [
            {"name": result.name, "lines": result.n_lines, "sections": result.n_sections, "cuts": result.n_cuts}
            | {"k": result.k, "pk": result.disagreements["chunker"].pk}
            | {"windowdiff": result.disagreements["chunker"].windowdiff}
            for result in self.results
        ]
        return {
            "folder": self.folder,
            "chunkers": list(self.chunkers),
            "mean": means,
            "pooled": pooled,
            "texts": texts,
            "skipped": list(self.skipped),
        }

    def show(self, console: "Console") -> None:
        """Means over the texts, the baselines under them, and how it was counted."""
        sums = [sum(getattr(result, name) for result in self.results) for name in ("n_lines", "n_sections", "n_cuts")]
        console.print(f"{safe(self.folder)}: {n_of(len(self.results), 'text')}", style="bold", soft_wrap=True)
        print_pairs(console, [("lines", f"{sums[0]:,} in {sums[1]:,} sections"), ("cuts", f"{sums[2]:,}")])
        labels = (" and ".join(self.chunkers), "no boundaries", "all boundaries")
        metrics = ("pk", "windowdiff")
        rows = [
            (label, *(f"{value(metric, name):.3f}" for value in (self.mean, self.pooled) for metric in metrics))
            for label, name in zip(labels, NAMES, strict=True)
        ]
        print_table(console, ("", "Pk", "WindowDiff", "Pk, pooled", "WindowDiff, pooled"), rows)
        if self.skipped:
            console.print(f"{n_of(len(self.skipped), 'text')} left out: one section only, or too short for a window")
        console.print(
            "0 is perfect. Means are over texts, pooled shares over all windows. k is half the mean section of a text "
            "in lines, halves rounded up, at least 2; a text of N lines has N - k windows."
        )


def measure_boundaries(
    folder: str,
    chunking: ChunkingSettings,
    encoder: EncoderSettings,
    level: int | None = None,
    semantic: SemanticSettings | None = None,
    questioning: "Questioning | None" = None,
) -> BoundaryReport:
    """The cuts of a chunker against the marked texts in `folder`, of which sections down to `level` count.

    `questioning` is needed by the chunkers that ask a language model.

    :raises SettingsError: the folder has no marked text, or the settings cannot work together.
    """
    from models.tokenizer import load_tokenizer
    from transforms.chunking import make_cutter, make_detection

    tokenizer = load_tokenizer(encoder)
    prompt = encoder_prompts(encoder)[0]
    prompt_tokens = int(tokenizer.count([prompt])[0]) if prompt else 0
    detection = make_detection(semantic or SemanticSettings(), encoder)
    cutter = make_cutter(chunking, tokenizer, prompt_tokens, detection, questioning)
    measured = [_measure(cutter, text) for text in read_marked_texts(folder, level)]
    results = [result for _, result, _ in measured if result]
    if not results:
        raise SettingsError(
            f"{folder!a} has no marked text of two sections and enough lines ({len(measured)} texts read); "
            f"open each section with a line that begins with {MARK}"
        )
    skipped = [name for name, result, _ in measured if not result]
    return BoundaryReport(folder, results, skipped, sorted({chunker for _, result, chunker in measured if result}))


def read_marked_texts(folder: str, level: int | None = None) -> Iterator[MarkedText]:
    """Every text in a folder, by name; files without a single mark are none."""
    try:
        paths = sorted(path for path in Path(folder).iterdir() if path.is_file() and not path.name.startswith("."))
    except OSError as error:
        raise SettingsError(f"{folder!a} cannot be read: {error.strerror}; name a folder of marked texts") from error
    for path in paths:
        text = read_text(path, MAX_TEXT_BYTES, "split it")
        if any(line.startswith(MARK) for line in text.splitlines()):
            yield parse_marked_text(path.name, text, level)


def parse_marked_text(name: str, text: str, level: int | None = None) -> MarkedText:
    r"""A text's lines and where its sections end. Blank lines do not count; a mark without a line after it is none.

    >>> marked = parse_marked_text("a", "========,1,A.\none\ntwo\n========,1,B.\nthree\n")
    >>> marked.lines, marked.gaps.tolist()
    (['one', 'two', 'three'], [False, True])
    """
    lines: list[str] = []
    ends: set[int] = set()
    for line in text.splitlines():
        if not line.startswith(MARK):
            lines += [line.strip()] if line.strip() else []
        elif level is None or _level_of(line) <= level:
            ends.add(len(lines))
    gaps = np.zeros(max(0, len(lines) - 1), np.bool_)
    gaps[[end - 1 for end in ends if 0 < end < len(lines)]] = True
    return MarkedText(name, lines, gaps)


def gaps_of_units(units: Sequence[Unit], lines: Sequence[str]) -> Gaps:
    """The gaps between `lines`, joined by line feeds, at which units begin; bool (n - 1,)."""
    starts = np.cumsum([0, *(len(line) + 1 for line in lines)])[:-1]
    begins = np.array([unit.start for unit in units], np.int64)
    after = np.searchsorted(starts, begins)
    before = np.maximum(after - 1, 0)
    after = np.minimum(after, len(lines) - 1)
    nearest = np.where(begins - starts[before] < starts[after] - begins, before, after)
    gaps = np.zeros(len(lines) - 1, np.bool_)
    gaps[nearest[nearest > 0] - 1] = True
    return gaps


def _measure(cutter: "Cutter", text: MarkedText) -> tuple[str, TextResult | None, str]:
    k = window_units(text.gaps) if len(text.lines) > 1 else 0
    if not text.gaps.any() or k > len(text.gaps):
        return text.name, None, ""
    document = cutter.cut(extract_plain("\n".join(text.lines)))
    found = gaps_of_units(document.units, text.lines)
    differs = partial(compare, text.gaps, k=k)
    segmentations = (found, no_boundaries(text.gaps), all_boundaries(text.gaps))
    disagreements = dict(zip(NAMES, map(differs, segmentations), strict=True))
    n_sections = int(text.gaps.sum()) + 1
    result = TextResult(text.name, len(text.lines), n_sections, int(found.sum()), k, disagreements)
    return text.name, result, document.chunker


def _level_of(mark: str) -> int:
    level = mark.lstrip("=").lstrip(",").partition(",")[0]
    return int(level) if level.isascii() and level.isdigit() and len(level) < 10 else 1

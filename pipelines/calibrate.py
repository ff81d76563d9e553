"""Thresholds chosen on annotated texts: what each finds, what overlap buys for the same money, and a settings file."""

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from models.errors import SettingsError
from pipelines.calibrate_pic import SpreadGuard, can_fit, fit_spread_guard
from pipelines.config import Settings
from pipelines.output import print_pairs, print_table, safe
from pipelines.settings_file import check_new_file
from pipelines.wording import n_of, shown
from transforms.extraction.normalising import normalise
from transforms.planning.separability import Separation
from transforms.semantic.calibration import (
    MARK,
    PERCENTILES,
    AnnotatedGaps,
    OverlapRow,
    ThresholdRow,
    boundary_gaps,
    choose,
    fit,
    overlap_for,
    read_annotated,
    threshold_row,
)

if TYPE_CHECKING:
    from rich.console import Console

    from transforms.chunking import Cutter

MAX_FILES = 10_000
FEW_BOUNDARIES = 30
"""The standard error of a recall of one half is a tenth at 25; below so many, what is chosen is chosen by chance."""


@dataclass(frozen=True)
class Calibration:
    """What a folder of annotated texts says about thresholds."""

    folder: str
    n_texts: int
    n_skipped: int
    n_gaps: int
    n_boundaries: int
    span_tokens: int
    separation: Separation
    rows: tuple[ThresholdRow, ...]
    overlap: OverlapRow
    chosen: ThresholdRow
    spread_guard: SpreadGuard | None = None
    has_model: bool = False
    settings_file: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The documented keys of `corpusmill calibrate --json`."""
        return {
            "folder": self.folder,
            "n_texts": self.n_texts,
            "n_skipped": self.n_skipped,
            "n_gaps": self.n_gaps,
            "n_boundaries": self.n_boundaries,
            "span_tokens": self.span_tokens,
            "separation": {"delta": self.separation.delta, **asdict(self.separation)},
            "thresholds": [asdict(row) for row in self.rows],
            "overlap": asdict(self.overlap),
            "chosen": {"threshold_percentile": self.chosen.percentile, "min_distance": self.chosen.min_distance}
            | ({"pic_min_spread": self.spread_guard.chosen.min_spread} if self.spread_guard else {}),
            "spread_guard": self.spread_guard.to_json() if self.spread_guard else None,
            "settings_file": self.settings_file,
        }

    def show(self, console: "Console") -> None:
        """The separation, a table of thresholds, the overlap, and what was chosen."""
        fitted, overlap, chosen = self.separation, self.overlap, self.chosen
        texts = (
            f"{n_of(self.n_texts, 'text')}, {n_of(self.n_gaps, 'gap')}, {self.n_boundaries:,} boundaries "
            f"({fitted.prevalence:.1%})"
        )
        pairs = [
            ("annotated", texts + (f"; {self.n_skipped} files without marks" if self.n_skipped else "")),
            ("Delta", f"{fitted.delta:.2f} = ({fitted.mu_boundary:.4f} - {fitted.mu_within:.4f}) / {fitted.sigma:.4f}"),
            ("spreads", f"{fitted.sigma_boundary:.4f} at boundaries, {fitted.sigma_within:.4f} elsewhere"),
        ]
        print_pairs(console, pairs)
        console.print(f"\nmeasured on these texts (in brackets: two normals); split of {self.span_tokens}-token spans")
        print_table(console, ("percentile", "recall", "false pos.", "precision", "Pk", "split"), list(self._cells()))
        console.print(
            f"\nfor the same money: windows of {overlap.window_tokens} tokens, {overlap.overlap_tokens} of overlap\n"
            f"(long-document inflation {overlap.inflation:.2f}) split {overlap.split_with:.1%} of such spans, "
            f"without overlap {overlap.split_without:.1%}",
            soft_wrap=True,
        )
        console.print(
            f"\nchosen: threshold_percentile = {chosen.percentile:g}, min_distance = {chosen.min_distance:g} "
            f"(Pk {chosen.pk:.3f} on these texts)",
            soft_wrap=True,
        )
        if self.n_boundaries < FEW_BOUNDARIES:
            console.print(
                f"careful: so few boundaries tell little; mark {FEW_BOUNDARIES} or more",
                soft_wrap=True,
            )
        if fitted.delta <= 0:
            console.print(
                "careful: distances at marked places are no larger than elsewhere, so that such cuts find no subjects",
                soft_wrap=True,
            )
        if self.spread_guard is not None:
            self.spread_guard.show(console)
            guard = self.spread_guard.chosen
            console.print(f"\nchosen: pic_min_spread = {guard.min_spread:g} (Pk {guard.pk:.3f} on these texts)")
        else:
            why = "no text is large enough for it; lower --pic-min-chars and --pic-min-sentences"
            why = why if self.has_model else "no model is named to write summaries; add --llm-url"
            console.print(f"\nPIC's spread guard is not fitted, since {why}", soft_wrap=True)
        if self.settings_file:
            console.print(f"written to {safe(self.settings_file)}", soft_wrap=True)

    def _cells(self) -> Iterator[tuple[str, ...]]:
        for row in self.rows:
            yield (
                f"{row.percentile:g}",
                f"{row.recall:.3f} ({row.model_recall:.3f})",
                f"{row.false_positive_rate:.3f} ({row.model_false_positive_rate:.3f})",
                f"{row.precision:.3f} ({row.model_precision:.3f})",
                f"{row.pk:.3f}",
                f"{row.split:.1%}",
            )


def calibrate_folder(folder: str, settings: Settings, span_tokens: int, write: str | None = None) -> Calibration:
    """Fit thresholds to the marked texts under `folder`, and write those chosen into the new settings file `write`.

    Raises SettingsError for a folder without enough marked texts and for a settings file that exists.
    """
    if write is not None:
        check_new_file(Path(write))
    cutter = _cutter(settings)
    texts, marked, n_skipped = [], [], 0
    for source in _texts(Path(folder), settings.reading.max_document_bytes):
        source = normalise(source)[0]
        marked += [source] if any(line.startswith(MARK) for line in source.splitlines()) else []
        gaps = _gaps(cutter, source)
        if gaps is None:
            n_skipped += 1
        else:
            texts.append(gaps)
    if not texts:
        raise SettingsError(f"{folder} holds no text with two sections marked by lines that begin with {MARK}")
    separation = fit(texts)
    rows = tuple(threshold_row(texts, separation, percentile, 0.0, span_tokens) for percentile in PERCENTILES)
    chosen = choose(texts, separation, span_tokens)
    overlap = overlap_for(_cost_ratio(settings), next(iter(cutter.identity["windows"].values())), span_tokens)
    guard = fit_spread_guard(settings, marked) if can_fit(settings) else None
    if write is not None:
        Path(write).write_text(_settings_text(settings, chosen, guard), encoding="utf-8")
    n_gaps, n_boundaries = (sum(counts) for counts in zip(*map(_counts, texts), strict=True))
    return Calibration(
        folder, len(texts), n_skipped, n_gaps, n_boundaries, span_tokens, separation, rows, overlap, chosen, guard,
        can_fit(settings), write,
    )  # fmt: skip


def _counts(text: AnnotatedGaps) -> tuple[int, int]:
    return len(text.is_boundary), int(text.is_boundary.sum())


def _cutter(settings: Settings) -> "Cutter":
    from models.encoder import encoder_prompts
    from models.tokenizer import load_tokenizer
    from transforms.chunking import make_cutter, make_detection

    tokenizer, prompt = load_tokenizer(settings.encoder), encoder_prompts(settings.encoder)[0]
    chunking = settings.chunking.model_copy(update={"chunker": "semantic"})
    semantic = settings.semantic.model_copy(update={"threshold": "percentile"})
    prompt_tokens = int(tokenizer.count([prompt])[0]) if prompt else 0
    return make_cutter(chunking, tokenizer, prompt_tokens, make_detection(semantic, settings.encoder))


def _gaps(cutter: "Cutter", source: str) -> AnnotatedGaps | None:
    """The gaps of one marked text; None where it has no two sections with a gap between sentences."""
    from transforms.elements import Snapshot

    text, starts = read_annotated(source)
    found = cutter.explain(Snapshot(text)) if len(starts) > 1 else None
    if found is None or len(found.sentences) < 2:
        return None
    distances = np.array([row.score for row in found.sentences[:-1]], np.float64)
    n_tokens = np.array([row.n_tokens for row in found.sentences], np.int64)
    return AnnotatedGaps(distances, boundary_gaps(found, starts), n_tokens)


def _texts(folder: Path, max_bytes: int) -> Iterator[str]:
    """Yields every file under `folder` that is UTF-8 and not too large, in the order of their paths."""
    if not folder.is_dir():
        raise SettingsError(f"{str(folder)!a} is no folder; name one with marked texts")
    paths = sorted(Path(where) / name for where, _, names in os.walk(folder) for name in names)
    if len(paths) > MAX_FILES:
        raise SettingsError(f"{str(folder)!a} holds {len(paths)} files; name a folder with at most {MAX_FILES}")
    for path in paths:
        try:
            yield path.read_text("utf-8-sig") if path.stat().st_size <= max_bytes else ""
        except (OSError, UnicodeDecodeError):
            yield ""


def _cost_ratio(settings: Settings) -> float:
    """FLOP of reading a text for detection, over those of encoding its units once; tokens where a model has none."""
    from models.encoder import encoder_parameters
    from transforms.semantic.detection import detection_encoder

    chosen = settings.semantic
    times = 2 * chosen.neighbour_sentences + 1 if chosen.detection_windows == "text" else 1
    own, others = (encoder_parameters(e) for e in (settings.encoder, detection_encoder(chosen, settings.encoder)))
    return times * (others / own) if own and others else float(times)


def _settings_text(settings: Settings, chosen: ThresholdRow, guard: SpreadGuard | None) -> str:
    """The settings that decide cuts, with those chosen, as TOML."""
    semantic = settings.semantic
    lines = [
        f"# Chosen for distances by encoder {shown(semantic.detection_encoder or settings.encoder.encoder)} "
        f"(Pk {chosen.pk:.3f}); another encoder asks for another calibration",
        "",
        "[chunking]",
        f'chunker = "{"pic" if settings.chunking.chunker == "pic" else "semantic"}"',
        "",
        "[semantic]",
        f'detection_windows = "{semantic.detection_windows}"',
        f"neighbour_sentences = {semantic.neighbour_sentences}",
        f'compare_windows = "{semantic.compare_windows}"',
        f"min_run_sentences = {semantic.min_run_sentences}",
        'threshold = "percentile"',
        f"threshold_percentile = {chosen.percentile}",
        f"min_distance = {chosen.min_distance}",
    ]
    if guard is not None:
        lines += ["", "[pic]", f"pic_min_spread = {guard.chosen.min_spread}"]
    return "\n".join(lines) + "\n"

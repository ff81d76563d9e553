"""What each threshold buys on annotated texts, and what overlap would buy for the same money."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from transforms.chunkers.explaining import Explanation
from transforms.evaluation.boundaries import compare, window_units
from transforms.planning.separability import Separation, fit_separation
from transforms.planning.windows import long_document_inflation, severance_probability
from transforms.semantic.thresholds import find_breakpoints

MARK = "========"
PERCENTILES = (70.0, 80.0, 85.0, 90.0, 92.5, 95.0, 97.5, 99.0)
_FLOOR_QUANTILES = (0.0, 0.5, 0.7, 0.8, 0.85, 0.9)


@dataclass(frozen=True)
class AnnotatedGaps:
    """The n - 1 gaps of one text of n sentences: distances float64, and whether each is a boundary, bool.

    `n_tokens` int64 (n,) are the sentences' own.
    """

    distances: NDArray[np.float64]
    is_boundary: NDArray[np.bool_]
    n_tokens: NDArray[np.int64]


@dataclass(frozen=True)
class ThresholdRow:
    """What cutting above a percentile of each text's distances finds, counted on the annotated texts.

    `model_*` are what two normal distributions of one spread would give at the same share of cuts. `pk` is the mean of
    the texts' P_k (Beeferman et al. 1999), 0 is perfect. `split` is the share of spans inside one section that a cut
    parts.
    """

    percentile: float
    min_distance: float
    n_cuts: int
    recall: float
    false_positive_rate: float
    precision: float
    pk: float
    split: float
    model_threshold: float
    model_recall: float
    model_false_positive_rate: float
    model_precision: float


@dataclass(frozen=True)
class OverlapRow:
    """Fixed windows with the overlap whose extra tokens cost what detection costs; shares for long documents."""

    window_tokens: int
    overlap_tokens: int
    inflation: float
    split_without: float
    split_with: float


def read_annotated(text: str) -> tuple[str, list[int]]:
    """A text without its marks, and where its sections begin; a line that begins with ======== marks one.

    >>> read_annotated(chr(10).join(["========,1,a.", "one", "========,2,b.", "two"]))[1]
    [0, 5]
    """
    sections: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith(MARK):
            sections.append([])
        elif line.strip():
            sections[-1].append(line.strip())
    starts, parts, place = [], [], 0
    for section in filter(None, sections):
        starts.append(place)
        parts.append("\n".join(section))
        place += len(parts[-1]) + 2
    return "\n\n".join(parts), starts


def boundary_gaps(explanation: Explanation, starts: Sequence[int]) -> NDArray[np.bool_]:
    """Whether a section ends behind each sentence but the last, bool (n - 1,); sections begin at `starts`."""
    begins = {row.start: number for number, row in enumerate(explanation.sentences)}
    is_boundary = np.zeros(max(len(begins) - 1, 0), np.bool_)
    is_boundary[[begins[start] - 1 for start in starts[1:] if start in begins]] = True
    return is_boundary


def fit(texts: Sequence[AnnotatedGaps]) -> Separation:
    """The separation of all gaps together. Raises as `fit_separation`."""
    return fit_separation(
        np.concatenate([np.empty(0), *(text.distances for text in texts)]),
        np.concatenate([np.empty(0, np.bool_), *(text.is_boundary for text in texts)]),
    )


def threshold_row(
    texts: Iterable[AnnotatedGaps], separation: Separation, percentile: float, min_distance: float, span_tokens: int
) -> ThresholdRow:
    """One row of the table; `span_tokens` is the length of the spans whose splitting is counted."""
    hits = n_cuts = n_boundaries = n_gaps = n_split = n_spans = 0
    errors = []
    for text in texts:
        is_cut = find_breakpoints(text.distances, "percentile", percentile, min_distance).is_cut
        hits += int((is_cut & text.is_boundary).sum())
        n_cuts += int(is_cut.sum())
        n_boundaries += int(text.is_boundary.sum())
        n_gaps += len(is_cut)
        errors.append(pk_of_cuts(text.is_boundary, is_cut))
        parted, spans = _parted_spans(text, is_cut, span_tokens)
        n_split, n_spans = n_split + parted, n_spans + spans
    threshold = separation.top_fraction_threshold(1 - percentile / 100)
    return ThresholdRow(
        percentile=percentile,
        min_distance=min_distance,
        n_cuts=n_cuts,
        recall=hits / n_boundaries if n_boundaries else 0.0,
        false_positive_rate=(n_cuts - hits) / (n_gaps - n_boundaries) if n_gaps > n_boundaries else 0.0,
        precision=hits / n_cuts if n_cuts else 0.0,
        pk=float(np.mean(errors)),
        split=n_split / n_spans if n_spans else 0.0,
        model_threshold=threshold,
        model_recall=separation.recall(threshold),
        model_false_positive_rate=separation.false_positive_rate(threshold),
        model_precision=separation.precision(threshold),
    )


def choose(texts: Sequence[AnnotatedGaps], separation: Separation, span_tokens: int) -> ThresholdRow:
    """The percentile and the minimum distance with the lowest mean P_k on the texts; of equals the fewest cuts."""
    pooled = np.concatenate([text.distances for text in texts])
    floors = sorted({0.0, *(round(float(np.quantile(pooled, q)), 4) for q in _FLOOR_QUANTILES[1:])})
    rows = [threshold_row(texts, separation, *pair, span_tokens) for pair in product(PERCENTILES, floors)]
    return min(rows, key=lambda row: (row.pk, row.n_cuts, row.min_distance))


def overlap_for(cost_ratio: float, window_tokens: int, span_tokens: int) -> OverlapRow:
    """Windows whose overlap costs `cost_ratio` times encoding the text once more.

    From the long-document inflation L / (L - o) = 1 + r, so o = L r / (1 + r), rounded down. A span of s tokens is in
    no window with probability (s - o - 1) / (L - o), between 0 and 1, and 1 for s above L.

    >>> overlap_for(1.0, 200, 80)
    OverlapRow(window_tokens=200, overlap_tokens=100, inflation=2.0, split_without=0.395, split_with=0.0)
    """
    overlap = min(int(window_tokens * cost_ratio / (1 + cost_ratio)), window_tokens - 1)
    inflation = long_document_inflation(window_tokens, overlap)
    without, beside = (severance_probability(span_tokens, window_tokens, o) for o in (0, overlap))
    return OverlapRow(window_tokens, overlap, inflation, without, beside)


def pk_of_cuts(reference: NDArray[np.bool_], found: NDArray[np.bool_]) -> float:
    """P_k, with a window that fits a text of two sentences too."""
    return compare(reference, found, min(window_units(reference), len(reference))).pk


def _parted_spans(text: AnnotatedGaps, is_cut: NDArray[np.bool_], span_tokens: int) -> tuple[int, int]:
    """Spans of `span_tokens` inside one section that a cut parts, and all of them, one for each token to start at."""
    ends = np.cumsum(text.n_tokens)
    edges = [0, *ends[:-1][text.is_boundary].tolist(), int(ends[-1])]
    cuts = ends[:-1][is_cut]
    starts = [np.arange(first, last - span_tokens + 1) for first, last in pairwise(edges)]
    places = np.concatenate([np.empty(0, np.int64), *starts])
    parted = cuts.searchsorted(places, "right") < cuts.searchsorted(places + span_tokens)
    return int(parted.sum()), len(places)

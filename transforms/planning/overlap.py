"""What the overlap of fixed windows costs over one corpus, and what it protects."""

from transforms.evaluation.oracles import (
    best_part_recall,
    best_part_recall_continuous,
    oracle_iou,
    oracle_recall,
)
from transforms.planning.corpus import CorpusPasses
from transforms.planning.figures import Figure
from transforms.planning.windows import (
    intact_probability,
    long_document_inflation,
    severance_probability,
    sufficient_overlap,
)


def overlap_figures(corpus: CorpusPasses, span_tokens: int | None = None) -> dict[str, Figure]:
    """Inflation, exact and as for long documents, and for spans of `span_tokens` how many no window holds whole."""
    window, overlap = corpus.windows.fixed, corpus.windows.overlap_tokens
    fixed = corpus.passes["fixed"]
    figures = {}
    if corpus.n_tokens:
        exact = fixed.content_tokens / corpus.n_tokens
        basis = "tokens in all windows over those of the documents, exact; baseline: no overlap"
        figures["inflation"] = Figure(exact, "ratio", fixed.content_mark, basis)
    basis = "L / (L - o), an approximation for long documents; baseline: no overlap"
    figures["long_document_inflation"] = Figure(long_document_inflation(window, overlap), "ratio", "formula", basis)
    if span_tokens is None:
        return figures
    severed = severance_probability(span_tokens, window, overlap)
    basis = f"share of spans of {span_tokens} tokens, at any place alike, that no window of {window} holds whole"
    figures["severance_probability"] = Figure(severed, "share", "formula", basis)
    basis = "1 - the share that is severed"
    intact = intact_probability(span_tokens, window, overlap)
    figures["intact_probability"] = Figure(intact, "share", "formula", basis)
    figures |= _oracles(span_tokens, window)
    basis = "s - 1, in windows of at least s tokens"
    figures["sufficient_overlap_tokens"] = Figure(sufficient_overlap(span_tokens), "tokens", "formula", basis)
    wasted = max(0, overlap - sufficient_overlap(span_tokens))
    figures["wasted_overlap_tokens"] = Figure(wasted, "tokens", "formula", "overlap over what these spans need")
    return figures


def _oracles(span_tokens: int, window_tokens: int) -> dict[str, Figure]:
    """What the best single window without overlap reaches of a span; nothing where no window can hold one."""
    if not 1 < span_tokens <= window_tokens:
        return {}
    best = f"the best of windows of {window_tokens} tokens without overlap"
    basis = f"{best}, mean over all places of a span of {span_tokens}"
    cut = "mean share of the larger part of a span that is cut once"
    found = {
        "oracle_recall": (oracle_recall(window_tokens, span_tokens), basis),
        "oracle_iou": (oracle_iou(window_tokens, span_tokens), basis),
        "best_part_recall": (best_part_recall(span_tokens), cut),
        "best_part_recall_long": (best_part_recall_continuous(2), f"{cut}, as spans grow: H(2) / 2"),
    }
    return {name: Figure(value, "share", "formula", words) for name, (value, words) in found.items()}

"""What the overlap of fixed windows costs over one corpus, and what it protects."""

from transforms.planning.corpus import CorpusPasses
from transforms.planning.figures import Figure
from transforms.planning.windows import long_document_inflation, severance_probability, sufficient_overlap


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
    basis = "s - 1, in windows of at least s tokens"
    figures["sufficient_overlap_tokens"] = Figure(sufficient_overlap(span_tokens), "tokens", "formula", basis)
    wasted = max(0, overlap - sufficient_overlap(span_tokens))
    figures["wasted_overlap_tokens"] = Figure(wasted, "tokens", "formula", "overlap over what these spans need")
    return figures

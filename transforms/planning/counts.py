"""Tokens and units of a corpus by plain counting, and what a policy reads of them beside its final units."""

from models.flops import Count


def corpus_tokens(n_documents: Count, tokens_per_document: Count) -> Count:
    """Tokens of a corpus of equal documents.

    >>> corpus_tokens(100_000, 4000)
    400000000
    """
    return n_documents * tokens_per_document


def units_of_size(n_tokens: float, *tokens_per_unit: float) -> float:
    """Units when `n_tokens` are cut into units of each of these mean sizes: the vectors of a granularity set.

    >>> units_of_size(80_000_000, 25, 400)
    3400000.0
    """
    return sum(n_tokens / size for size in tokens_per_unit)


def detection_tokens(n_tokens: Count, neighbours_each_side: int = 1, edge_tokens: Count = 0) -> Count:
    """Tokens read when each sentence is encoded with its neighbours: (2 b + 1) T, less `edge_tokens`.

    At a document's edges neighbours are missing: for b = 1 exactly the first and the last sentence, once each, so that
    3 T - first - last are read.

    >>> detection_tokens(4000), detection_tokens(100, 1, 12 + 8)
    (12000, 280)
    """
    return (2 * neighbours_each_side + 1) * n_tokens - edge_tokens


def semantic_tokens(n_tokens: Count, neighbours_each_side: int = 1) -> Count:
    """Tokens encoded by classic semantic chunking: what detection reads, and the final units once.

    >>> semantic_tokens(4000)
    16000
    """
    return detection_tokens(n_tokens, neighbours_each_side) + n_tokens


def rewriting_tokens(n_passages: Count, instruction_tokens: Count, passage_tokens: Count) -> Count:
    """Tokens that an LLM reads to rewrite passages one by one, each under the same instruction.

    >>> rewriting_tokens(2_000_000, 200, 133)
    666000000
    """
    return n_passages * (instruction_tokens + passage_tokens)


def prompt_tokens(n_units: Count, tokens_per_unit: Count) -> Count:
    """Tokens that retrieved units take of a prompt.

    >>> prompt_tokens(5, 400)
    2000
    """
    return n_units * tokens_per_unit

"""Which algorithms decide what a chunker makes, by name, so that a raised VERSION changes the recipe."""

from collections.abc import Iterable

from transforms.chunkers import (
    anchors,
    boundaries,
    contexts,
    fitting,
    fixed,
    headings,
    llm,
    measuring,
    packing,
    pic,
    recursive,
    runs,
    sections,
    semantic,
    sentence_spans,
    sentences,
    structural,
)
from transforms.rewriting import boundaries as llm_boundaries
from transforms.rewriting import summaries
from transforms.semantic import distances, thresholds
from transforms.sentences import splitting

_MODULES = {
    "fixed": (fixed, fitting, headings, measuring),
    "recursive": (recursive, boundaries, fitting, headings, measuring, packing, sentences),
    "structural": (structural, boundaries, contexts, fitting, headings, measuring, packing, sections, sentences),
    "semantic": (
        semantic, boundaries, distances, fitting, headings, measuring, packing, runs, sentence_spans, sentences,
        splitting, thresholds,
    ),
    "pic": (
        pic, anchors, boundaries, fitting, headings, measuring, packing, runs, sentence_spans, sentences, splitting,
        summaries,
    ),
    "llm": (
        llm, boundaries, fitting, headings, llm_boundaries, measuring, packing, runs, sentence_spans, sentences,
        splitting,
    ),
}  # fmt: skip
# What splits a span that the encoder could not read whole.
_SPLITTING_MODULES = (boundaries, packing, sentences)


def versions(chunkers: Iterable[str], *, splits: bool) -> dict[str, int]:
    """The version of each module that the named chunkers stand on; `splits` where units may be split once more."""
    modules = {module for name in chunkers for module in _MODULES[name]} | set(_SPLITTING_MODULES if splits else ())
    return {_name(module.__name__): module.VERSION for module in sorted(modules, key=lambda m: m.__name__)}


def _name(module: str) -> str:
    """The last part of a module's name; what belongs to the language model says so, since names repeat.

    >>> _name("transforms.chunkers.boundaries"), _name("transforms.rewriting.boundaries")
    ('boundaries', 'rewriting.boundaries')
    """
    name = module.rpartition(".")[2]
    return f"rewriting.{name}" if module.startswith("transforms.rewriting.") else name

"""What each chunking policy asks of the encoder and the LLM, over the passes of one corpus."""

from collections.abc import Callable, Mapping

from models.facts import EncoderFacts
from models.prices import Assumptions
from transforms.planning.corpus import AUTO, CorpusPasses
from transforms.planning.counts import corpus_tokens, detection_tokens, rewriting_tokens, semantic_tokens
from transforms.planning.work import EncoderPass, LlmCalls, PolicyWork, even_pass

Build = Callable[[CorpusPasses, EncoderFacts, Assumptions], PolicyWork]
FULL_READ = "every token of the corpus once"


def plan_policies(corpus: CorpusPasses, facts: EncoderFacts, assumed: Assumptions) -> list[PolicyWork]:
    """The work of every policy over `corpus`, cheapest kind first. LLM tokens are counted as the encoder's are.

    `auto` is left out where nobody knows which documents have markup.
    """
    known = (build for name, build in POLICIES.items() if name != AUTO or AUTO in corpus.passes)
    return [build(corpus, facts, assumed) for build in known]


def _fixed(corpus: CorpusPasses, facts: EncoderFacts, assumed: Assumptions) -> PolicyWork:
    windows = corpus.windows
    meaning = f"windows of {windows.fixed} tokens, {windows.overlap_tokens} shared"
    return PolicyWork("fixed", meaning, (corpus.passes["fixed"],))


def _recursive(corpus: CorpusPasses, facts: EncoderFacts, assumed: Assumptions) -> PolicyWork:
    meaning = f"paragraphs, sentences and clauses packed up to {corpus.windows.recursive} tokens"
    return PolicyWork("recursive", meaning, (corpus.passes["recursive"],))


def _structural(corpus: CorpusPasses, facts: EncoderFacts, assumed: Assumptions) -> PolicyWork:
    meaning = f"the author's own sections, up to {corpus.windows.structural} tokens, headings in front"
    return PolicyWork("structural", meaning, (corpus.passes["structural"],))


def _auto(corpus: CorpusPasses, facts: EncoderFacts, assumed: Assumptions) -> PolicyWork:
    return PolicyWork(AUTO, "structural where a document has markup, recursive elsewhere", (corpus.passes[AUTO],))


def _semantic(corpus: CorpusPasses, facts: EncoderFacts, assumed: Assumptions) -> PolicyWork:
    meaning = "each sentence encoded once to find cuts, then the units"
    return PolicyWork("semantic", meaning, (_semantic_units(corpus, facts, assumed),), (corpus.passes["sentence"],))


def _semantic_windows(corpus: CorpusPasses, facts: EncoderFacts, assumed: Assumptions) -> PolicyWork:
    """The classic way: each sentence is encoded together with its neighbours."""
    sentences, b = corpus.passes["sentence"], assumed.neighbours_each_side
    edges = min(sentences.content_tokens, b * (b + 1) * _mean(sentences) * corpus.n_documents)
    n_tokens = detection_tokens(sentences.content_tokens, b, edges)
    slots = (2 * b + 1) * (sentences.padded_slots / sentences.n_inputs if sentences.n_inputs else 0.0)
    with_units = semantic_tokens(1, b)
    basis = f"sentences with {b} neighbours each side: (2 b + 1) T less the edges; {with_units} T with the units"
    windows = even_pass(
        sentences.n_inputs, n_tokens, slots, facts.overhead_tokens, basis, sentences.mark, sentences.mark
    )
    meaning = f"each sentence encoded with {b} neighbours each side to find cuts, then the units"
    return PolicyWork("semantic, windows", meaning, (_semantic_units(corpus, facts, assumed),), (windows,))


def _semantic_units(corpus: CorpusPasses, facts: EncoderFacts, assumed: Assumptions) -> EncoderPass:
    gaps = max(0.0, corpus.passes["sentence"].n_inputs - corpus.n_documents)
    cuts = corpus.n_documents + assumed.semantic_cut_fraction * gaps
    basis = f"cuts assumed at {assumed.semantic_cut_fraction:.0%} of the sentences' gaps"
    return _units(corpus, facts, cuts, assumed.semantic_fill, basis, assumed)


def _pic(corpus: CorpusPasses, facts: EncoderFacts, assumed: Assumptions) -> PolicyWork:
    sentences, n_documents = corpus.passes["sentence"], corpus.n_documents
    summaries = even_pass(
        n_documents, corpus_tokens(n_documents, assumed.summary_tokens), assumed.summary_tokens + facts.overhead_tokens,
        facts.overhead_tokens, f"a summary of {assumed.summary_tokens:g} tokens for each document",
    )  # fmt: skip
    llm = LlmCalls(
        n_documents,
        rewriting_tokens(n_documents, assumed.instruction_tokens, corpus.n_tokens / n_documents),
        corpus_tokens(n_documents, assumed.summary_tokens),
        f"{FULL_READ}, an instruction of {assumed.instruction_tokens:g} tokens for each document",
        summaries.basis,
    )
    basis = f"runs assumed to have {assumed.pic_sentences_per_run:g} sentences"
    n_runs = sentences.n_inputs / assumed.pic_sentences_per_run
    units = _units(corpus, facts, n_runs, assumed.semantic_fill, basis, assumed)
    meaning = "an LLM's summary of each document scores its sentences; cuts where the label changes"
    return PolicyWork("PIC", meaning, (units,), (sentences, summaries), llm)


def _llm_boundaries(corpus: CorpusPasses, facts: EncoderFacts, assumed: Assumptions) -> PolicyWork:
    basis = f"units assumed to fill {assumed.boundary_fill:.0%} of {facts.room_tokens} tokens"
    units = _units(corpus, facts, 0.0, assumed.boundary_fill, basis, assumed)
    n_calls = max(corpus.n_documents, corpus.n_tokens / assumed.llm_window_tokens)
    numbers = corpus.passes["sentence"].n_inputs * assumed.numbering_tokens_per_sentence
    llm = LlmCalls(
        n_calls,
        corpus.n_tokens + numbers + n_calls * assumed.instruction_tokens,
        units.n_inputs * assumed.boundary_answer_tokens_per_cut,
        f"{FULL_READ}, {assumed.numbering_tokens_per_sentence:g} tokens a sentence for its number, an instruction of "
        f"{assumed.instruction_tokens:g} for each window of {assumed.llm_window_tokens:g}",
        f"{assumed.boundary_answer_tokens_per_cut:g} tokens for each cut",
    )
    return PolicyWork("LLM boundaries", "an LLM reads numbered sentences and names the cuts", (units,), (), llm)


def _propositions(corpus: CorpusPasses, facts: EncoderFacts, assumed: Assumptions) -> PolicyWork:
    passages = corpus.passes["structural"]
    written = passages.content_tokens * assumed.proposition_tokens_per_passage_token
    n_units = max(passages.n_inputs, written / assumed.tokens_per_proposition)
    basis = f"facts assumed to have {assumed.tokens_per_proposition:g} tokens"
    units = even_pass(n_units, written, assumed.slots_per_sentence, facts.overhead_tokens, basis)
    llm = LlmCalls(
        passages.n_inputs,
        rewriting_tokens(passages.n_inputs, assumed.instruction_tokens, _mean(passages)),
        written,
        f"every structural unit, an instruction of {assumed.instruction_tokens:g} tokens for each",
        f"{assumed.proposition_tokens_per_passage_token:g} tokens for each token of the passage",
    )
    meaning = "an LLM rewrites each structural unit as facts, which are indexed"
    return PolicyWork("propositions", meaning, (units,), (), llm)


def _prefixes(corpus: CorpusPasses, facts: EncoderFacts, assumed: Assumptions) -> PolicyWork:
    """Contextual retrieval: the model reads each unit with what stands around it, and the encoder both."""
    passages, n_written = corpus.passes["structural"], corpus.passes["structural"].n_inputs * assumed.prefix_tokens
    basis = f"prefixes assumed to have {assumed.prefix_tokens:g} tokens"
    units = even_pass(
        passages.n_inputs, passages.content_tokens, facts.max_input_tokens,
        passages.tokens / passages.n_inputs - _mean(passages) + assumed.prefix_tokens if passages.n_inputs else 0.0,
        f"{passages.basis}; {basis}", unevenness=assumed.unit_unevenness, content_mark=passages.content_mark,
    )  # fmt: skip
    shown = _mean(passages) + assumed.shown_tokens
    llm = LlmCalls(
        passages.n_inputs,
        rewriting_tokens(passages.n_inputs, assumed.instruction_tokens, shown),
        n_written,
        f"every structural unit with {assumed.shown_tokens:g} tokens around it, an instruction of "
        f"{assumed.instruction_tokens:g} for each",
        basis,
    )
    meaning = "an LLM writes a sentence of context in front of what the encoder reads of each structural unit"
    return PolicyWork("context prefixes", meaning, (units,), (), llm)


def _summaries(corpus: CorpusPasses, facts: EncoderFacts, assumed: Assumptions) -> PolicyWork:
    n_documents, overhead = corpus.n_documents, facts.overhead_tokens
    n_written, basis = (
        corpus_tokens(n_documents, assumed.summary_tokens),
        f"summaries assumed to have {assumed.summary_tokens:g} tokens",
    )
    summaries = even_pass(n_documents, n_written, assumed.summary_tokens + overhead, overhead, basis)
    read = rewriting_tokens(n_documents, assumed.instruction_tokens, corpus.n_tokens / n_documents)
    instruction = f"{FULL_READ}, an instruction of {assumed.instruction_tokens:g} tokens for each document"
    llm = LlmCalls(n_documents, read, n_written, instruction, basis)
    meaning = "structural units, and one more for each document: an LLM's summary"
    return PolicyWork("summaries", meaning, (corpus.passes["structural"], summaries), (), llm)


def _levels(*levels: str) -> Build:
    def build(corpus: CorpusPasses, facts: EncoderFacts, assumed: Assumptions) -> PolicyWork:
        meaning = f"a vector for each {', '.join(levels)}"
        return PolicyWork(" + ".join(levels), meaning, tuple(corpus.passes[level] for level in levels))

    return build


POLICIES: Mapping[str, Build] = {
    "fixed": _fixed,
    "recursive": _recursive,
    "structural": _structural,
    AUTO: _auto,
    "sentence + section": _levels("sentence", "section"),
    "sentence + paragraph + section": _levels("sentence", "paragraph", "section"),
    "semantic": _semantic,
    "semantic, windows": _semantic_windows,
    "PIC": _pic,
    "LLM boundaries": _llm_boundaries,
    "propositions": _propositions,
    "context prefixes": _prefixes,
    "summaries": _summaries,
}


def _units(
    corpus: CorpusPasses, facts: EncoderFacts, n_cuts: float, fill: float, basis: str, assumed: Assumptions
) -> EncoderPass:
    """Units that tile the corpus: as many as there are cuts, or as the encoder's limit and a fill share ask for."""
    n_units = max(corpus.n_documents, n_cuts, corpus.n_tokens / (fill * facts.room_tokens))
    n_units = min(n_units, max(corpus.n_documents, corpus.n_tokens))
    return even_pass(
        n_units, corpus.n_tokens, facts.max_input_tokens, facts.overhead_tokens, basis, content_mark=corpus.mark,
        unevenness=assumed.unit_unevenness,
    )  # fmt: skip


def _mean(part: EncoderPass) -> float:
    """Content tokens of one input."""
    return part.content_tokens / part.n_inputs if part.n_inputs else 0.0

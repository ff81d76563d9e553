"""Worked figures of splitting, granularity, propositions and semantic detection, each from the planner's functions."""

from math import hypot, sqrt

from models.flops import (
    decoding_flops,
    device_seconds,
    encoding_flops,
    generation_flops,
)
from models.prices import device_usd, token_usd
from transforms.planning.counts import (
    corpus_tokens,
    prompt_tokens,
    rewriting_tokens,
    semantic_tokens,
    units_of_size,
)
from transforms.planning.geometry import (
    coarse_wins_above,
    coarse_wins_above_limit,
    distinct_parents,
    distractor_score,
    distractor_wins_above,
    gold_score,
    headroom,
    hits_for_parents,
    pooled_score,
    pooled_score_limit,
)
from transforms.planning.memory import flat_bytes, hnsw_bytes, link_bytes
from transforms.planning.separability import Separation, separability
from transforms.planning.windows import (
    embedded_tokens,
    inflation,
    intact_probability,
    long_document_inflation,
    severance_probability,
    sufficient_overlap,
    window_count,
)

GB = 1e9


def window(i):
    return i["document_tokens"], i["chunk_tokens"], i["overlap_tokens"]


def span(i):
    return i["span_tokens"], i["chunk_tokens"], i["overlap_tokens"]


def corpus(i):
    return corpus_tokens(i["documents"], i["tokens_per_document"])


def overlapped(i):
    """Embedded tokens of one document of the worked corpus."""
    return embedded_tokens(i["tokens_per_document"], i["chunk_tokens"], i["overlap_tokens"])


def boundary_usd(i, n_tokens):
    """An LLM reads every token, and the encoder embeds the units that it cut."""
    read = token_usd(n_tokens, i["llm_usd_per_million_input_tokens"])
    return read + token_usd(n_tokens, i["embedding_usd_per_million_tokens"])


def document(i):
    return corpus_tokens(i["sentences_per_document"], i["tokens_per_sentence"])


def sentence_pass_flop(i):
    return encoding_flops(i["encoder_parameters"], i["documents"] * document(i))


def summary_flop(i):
    n_output = i["documents"] * i["output_tokens_per_document"]
    return generation_flops(i["llm_parameters"], i["documents"] * document(i), n_output)


def summary_to_pass(i):
    """One document summarised over the same document encoded once."""
    summary = generation_flops(i["llm_parameters"], document(i), i["output_tokens_per_document"])
    return summary / encoding_flops(i["encoder_parameters"], document(i))


def toy_norm(i):
    return hypot(i["summary_on_u"], i["summary_on_v"], sqrt(i["summary_on_w_squared"]))


def pooled(i):
    return pooled_score(
        i["sentences"], i["answer_similarity"], i["neighbour_similarity"], i["mean_pairwise_similarity"]
    )


def weighted(i):
    return i["router_weight"] * pooled(i)


def crossover(i):
    return coarse_wins_above(i["sentences"], i["answer_similarity"], i["mean_pairwise_similarity"])


def vectors(*levels):
    return lambda i: units_of_size(corpus(i), *(i[f"tokens_per_{level}"] for level in levels))


def payload_gb(level):
    return lambda i: flat_bytes(vectors(level)(i), i["components_per_vector"], i["bytes_per_component"]) / GB


def links_gb(level):
    return lambda i: link_bytes(vectors(level)(i), i["links_per_node"], i["slot_bytes"]) / GB


def component_bytes(i):
    return i["components_per_vector"] * i["bytes_per_component"]


def prefill_ms(i, tokens_per_unit):
    flop = encoding_flops(i["parameters"], prompt_tokens(i["units_per_query"], tokens_per_unit))
    return 1000 * device_seconds(flop, i["flop_per_second"])


def prefill_difference_ms(i):
    return prefill_ms(i, i["tokens_per_section"]) - prefill_ms(i, i["tokens_per_sentence"])


def search_ms(i):
    return i["extra_searches"] * i["ms_per_search"]


def facts(i):
    return i["propositions"], i["mean_pairwise_similarity"]


def propositions_gb(i, bytes_per_vector, per_passage):
    return hnsw_bytes(i["passages"] * per_passage, bytes_per_vector, i["links_per_node"]) / GB


def read_tokens(i):
    return rewriting_tokens(i["passages"], i["instruction_tokens_per_passage"], i["passage_tokens"])


def written_tokens(i):
    return i["passages"] * i["output_tokens_per_passage"]


def read_usd(i):
    return token_usd(read_tokens(i), i["usd_per_million_input_tokens"])


def written_usd(i):
    return token_usd(written_tokens(i), i["usd_per_million_output_tokens"])


def tokens_per_proposition(i):
    return i["output_tokens_per_passage"] / i["propositions_per_passage"]


def parents(i):
    return distinct_parents(i["retrieved_propositions"], i["propositions_per_parent"])


def parent_tokens(i):
    return prompt_tokens(parents(i), i["tokens_per_parent"])


def separation(i):
    return Separation(i["mu_boundary"], i["mu_within"], i["sigma"], i["boundaries"] / i["gaps"])


def top(i):
    return separation(i).top_fraction_threshold(i["cut_fraction"])


def without_prevalence(i):
    """For figures of one of the two distributions, which the share of boundaries does not enter."""
    return Separation(i["mu_boundary"], i["mu_boundary"], i["sigma"], 0.5)


def n_sentences(i):
    return units_of_size(corpus(i), i["tokens_per_sentence"])


def final_flop(i):
    return encoding_flops(i["encoder_parameters"], corpus(i))


def semantic_flop(i):
    return encoding_flops(i["encoder_parameters"], n_sentences(i) * i["slots_per_sentence"]) + final_flop(i)


def agentic_flop(i):
    return generation_flops(i["llm_parameters"], corpus(i), i["documents"] * i["output_tokens_per_document"])


def gpu_usd(i, flop):
    return device_usd(device_seconds(flop, i["flop_per_second"]), i["usd_per_gpu_hour"])


def pairs_of(n_items):
    """Unordered pairs, which a matrix of similarities has."""
    return n_items * (n_items - 1) // 2


def dot_product_flops(n_components):
    """A product and a sum a component."""
    return 2 * n_components


def pairwise_flop(i):
    return i["documents"] * pairs_of(i["sentences_per_document"]) * dot_product_flops(i["components_per_vector"])


def run_tokens(i):
    return corpus_tokens(i["sentences_per_run"], i["tokens_per_sentence"])


SPLITTING = {
    "window.count.contract": lambda i: window_count(*window(i)),
    "window.tokens.contract": lambda i: embedded_tokens(*window(i)),
    "window.inflation.contract": lambda i: inflation(*window(i)),
    "window.inflation.asymptotic": lambda i: long_document_inflation(i["chunk_tokens"], i["overlap_tokens"]),
    "window.extra.asymptotic": lambda i: long_document_inflation(i["chunk_tokens"], i["overlap_tokens"]) - 1,
    "window.count.empty": lambda i: window_count(*window(i)),
    "window.count.short": lambda i: window_count(*window(i)),
    "window.count.shorter_than_overlap": lambda i: window_count(*window(i)),
    "severance.40.512.0": lambda i: severance_probability(*span(i)),
    "severance.40.512.39": lambda i: severance_probability(*span(i)),
    "severance.too_long": lambda i: severance_probability(*span(i)),
    "severance.sufficient_overlap.40": lambda i: sufficient_overlap(i["span_tokens"]),
    "dpr.tokens_per_passage": lambda i: corpus_tokens(i["words_per_passage"], i["tokens_per_word"]),
    "severance.dpr.40": lambda i: severance_probability(*span(i)),
    "severance.dpr.5": lambda i: severance_probability(*span(i)),
    "cost.corpus_tokens": corpus,
    "cost.fixed_no_overlap": lambda i: token_usd(corpus(i), i["usd_per_million_tokens"]),
    "cost.fixed_overlap": lambda i: token_usd(i["documents"] * overlapped(i), i["usd_per_million_tokens"]),
    "cost.structure": lambda i: token_usd(corpus(i), i["usd_per_million_tokens"]),
    "cost.semantic": lambda i: token_usd(
        semantic_tokens(corpus(i), i["neighbours_each_side"]), i["usd_per_million_tokens"]
    ),
    "cost.semantic_ratio": lambda i: (
        semantic_tokens(i["tokens_per_document"], i["neighbours_each_side"]) / overlapped(i)
    ),
    "cost.llm_boundary": lambda i: boundary_usd(i, corpus(i)),
    "cost.llm_ratio": lambda i: (
        boundary_usd(i, i["tokens_per_document"]) / token_usd(overlapped(i), i["embedding_usd_per_million_tokens"])
    ),
    "cost.weekly_5pct": lambda i: i["weekly_turnover_fraction"] * boundary_usd(i, corpus(i)),
    "cost.llm_top5pct": lambda i: i["document_fraction"] * boundary_usd(i, corpus(i)),
    "memory.dpr_flat": lambda i: flat_bytes(i["vectors"], i["components_per_vector"], i["bytes_per_component"]) / GB,
}

PSEUDO_INSTRUCTION = {
    "pic.tokens_per_document": document,
    "pic.mixed_unit_tokens": lambda i: corpus_tokens(i["sentences_per_unit"], i["tokens_per_sentence"]),
    "pic.tokens": lambda i: i["documents"] * document(i),
    "pic.encoder_flop": sentence_pass_flop,
    "pic.encoder_seconds": lambda i: device_seconds(sentence_pass_flop(i), i["flop_per_second"]),
    "pic.prefill_flop": lambda i: encoding_flops(i["llm_parameters"], i["documents"] * document(i)),
    "pic.decode_flop": lambda i: decoding_flops(i["llm_parameters"], i["documents"] * i["output_tokens_per_document"]),
    "pic.total_flop": summary_flop,
    "pic.gpu_hours": lambda i: device_seconds(summary_flop(i), i["flop_per_second"]) / 3600,
    "pic.ratio_to_encoder": summary_to_pass,
    "pic.prefill_share": lambda i: document(i) / (document(i) + i["output_tokens_per_document"]),
    "pic.anchor_flop": lambda i: encoding_flops(
        i["encoder_parameters"], i["documents"] * i["output_tokens_per_document"]
    ),
    "pic.turnover_2pct": lambda i: i["turnover_fraction"] * summary_to_pass(i),
    "pic.toy.summary_norm": toy_norm,
    "pic.toy.policy_similarity": lambda i: i["summary_on_u"] * i["alpha"] / toy_norm(i),
    "pic.toy.boilerplate_similarity": lambda i: i["summary_on_v"] * i["beta"] / toy_norm(i),
}

GRANULARITY = {
    **{f"mog.{kind}.{level}": pooled for kind in ("factoid", "thematic") for level in ("sentence", "paragraph")},
    "mog.factoid.section": pooled,
    "mog.thematic.section": pooled,
    **{f"mog.weighted.factoid.{level}": weighted for level in ("sentence", "paragraph", "section")},
    "mog.weighted.thematic.section": weighted,
    "mog.limit": lambda i: pooled_score_limit(i["neighbour_similarity"], i["mean_pairwise_similarity"]),
    "mog.crossover.4": crossover,
    "mog.crossover.16": crossover,
    "mog.crossover.limit": lambda i: coarse_wins_above_limit(i["answer_similarity"], i["mean_pairwise_similarity"]),
    "mog.corpus_tokens": corpus,
    "mog.vectors.sentence": vectors("sentence"),
    "mog.vectors.paragraph": vectors("paragraph"),
    "mog.vectors.section": vectors("section"),
    "mog.vectors.sentence_section": vectors("sentence", "section"),
    "mog.vectors.all": vectors("sentence", "paragraph", "section"),
    "mog.section.payload_gb": payload_gb("section"),
    "mog.section.links_gb": links_gb("section"),
    "mog.sentence.payload_gb": payload_gb("sentence"),
    "mog.sentence.links_gb": links_gb("sentence"),
    "mog.added_gb": lambda i: (
        hnsw_bytes(vectors("sentence", "section")(i), component_bytes(i), i["links_per_node"]) / GB
    ),
    "mog.prompt_tokens.sections": lambda i: prompt_tokens(i["units_per_query"], i["tokens_per_unit"]),
    "mog.prompt_tokens.sentences": lambda i: prompt_tokens(i["units_per_query"], i["tokens_per_unit"]),
    "mog.prefill_2000_flop": lambda i: encoding_flops(
        i["parameters"], prompt_tokens(i["units_per_query"], i["tokens_per_unit"])
    ),
    "mog.prefill_2000_ms": lambda i: prefill_ms(i, i["tokens_per_unit"]),
    "mog.prefill_125_ms": lambda i: prefill_ms(i, i["tokens_per_unit"]),
    "mog.prefill_difference_ms": prefill_difference_ms,
    "mog.extra_search_ms": search_ms,
    "mog.prefill_to_search_ratio": lambda i: prefill_difference_ms(i) / search_ms(i),
    "mog.net_saving_ms": lambda i: prefill_difference_ms(i) - search_ms(i),
}

PROPOSITIONS = {
    "prop.gold_pooled": lambda i: gold_score(*facts(i)),
    "prop.distractor_pooled": lambda i: distractor_score(
        i["propositions"], i["distractor_similarity"], i["mean_pairwise_similarity"]
    ),
    "prop.distractor_wins_above": lambda i: distractor_wins_above(*facts(i)),
    "prop.headroom.low_rho": lambda i: headroom(*facts(i)),
    "prop.headroom.high_rho": lambda i: headroom(*facts(i)),
    "prop.passage_gb": lambda i: propositions_gb(i, component_bytes(i), 1),
    "prop.proposition_gb": lambda i: propositions_gb(i, component_bytes(i), i["propositions_per_passage"]),
    "prop.added_gb": lambda i: propositions_gb(i, component_bytes(i), i["propositions_per_passage"] - 1),
    "prop.pq_payload_gb": lambda i: (
        flat_bytes(i["passages"] * i["propositions_per_passage"], i["bytes_per_code"], 1) / GB
    ),
    "prop.links_gb": lambda i: (
        link_bytes(i["passages"] * i["propositions_per_passage"], i["links_per_node"], i["slot_bytes"]) / GB
    ),
    "prop.pq_with_links_gb": lambda i: propositions_gb(i, i["bytes_per_code"], i["propositions_per_passage"]),
    "prop.input_tokens_per_passage": lambda i: rewriting_tokens(
        1, i["instruction_tokens_per_passage"], i["passage_tokens"]
    ),
    "prop.input_tokens": read_tokens,
    "prop.output_tokens": written_tokens,
    "prop.input_usd": read_usd,
    "prop.output_usd": written_usd,
    "prop.bill_usd": lambda i: read_usd(i) + written_usd(i),
    "prop.tokens_per_proposition": tokens_per_proposition,
    "prop.thirty_tokens": lambda i: prompt_tokens(i["retrieved_propositions"], tokens_per_proposition(i)),
    "prop.parents": parents,
    "prop.k_for_parents": lambda i: hits_for_parents(i["target_parents"], i["propositions_per_parent"]),
    "prop.parent_tokens": parent_tokens,
    "prop.remaining_budget": lambda i: i["budget_tokens"] - parent_tokens(i),
    "prop.parent_800_tokens": parent_tokens,
}

SEMANTIC = {
    "sem.delta_stitched": lambda i: separability(i["mu_boundary"], i["mu_within"], i["sigma"]),
    "sem.delta_coherent": lambda i: separability(i["mu_boundary"], i["mu_within"], i["sigma"]),
    "sem.delta_ratio": lambda i: (
        separability(i["mu_boundary_stitched"], i["mu_within"], i["sigma"])
        / separability(i["mu_boundary_coherent"], i["mu_within"], i["sigma"])
    ),
    "sem.prevalence": lambda i: i["boundaries"] / i["gaps"],
    "sem.random_precision": lambda i: i["boundaries"] / i["gaps"],
    "sem.expected_cuts": lambda i: i["cut_fraction"] * i["gaps"],
    **{f"sem.threshold.{kind}": top for kind in ("stitched", "coherent")},
    **{f"sem.recall.{kind}": lambda i: separation(i).recall(top(i)) for kind in ("stitched", "coherent")},
    **{f"sem.fpr.{kind}": lambda i: separation(i).false_positive_rate(top(i)) for kind in ("stitched", "coherent")},
    **{f"sem.precision.{kind}": lambda i: separation(i).precision(top(i)) for kind in ("stitched", "coherent")},
    "sem.recall.coherent.rounded": lambda i: without_prevalence(i).recall(i["threshold"]),
    "sem.precision.coherent.rounded": lambda i: separation(i).precision(i["threshold"]),
    "sem.chance_ratio.coherent.rounded": lambda i: separation(i).precision(i["threshold"]) / separation(i).prevalence,
    "sem.chance_ratio.coherent": lambda i: separation(i).precision(top(i)) / separation(i).prevalence,
    "sem.false_cut_share.coherent.rounded": lambda i: 1 - separation(i).precision(i["threshold"]),
    "sem.intact.0": lambda i: intact_probability(*span(i)),
    "sem.split.0": lambda i: severance_probability(*span(i)),
    "sem.intact.50": lambda i: intact_probability(*span(i)),
    "sem.split.50": lambda i: severance_probability(*span(i)),
    "sem.split_reduction_points": lambda i: (
        100 * (severance_probability(i["span_tokens"], i["chunk_tokens"]) - severance_probability(*span(i)))
    ),
    "sem.inflation.50": lambda i: long_document_inflation(i["chunk_tokens"], i["overlap_tokens"]),
    "sem.inflation_extra.50": lambda i: long_document_inflation(i["chunk_tokens"], i["overlap_tokens"]) - 1,
    "ingest.tokens": corpus,
    "ingest.sentences": n_sentences,
    "ingest.sentences_per_document": lambda i: units_of_size(i["tokens_per_document"], i["tokens_per_sentence"]),
    "ingest.padded_slots": lambda i: n_sentences(i) * i["slots_per_sentence"],
    "ingest.flop_per_token": lambda i: encoding_flops(i["encoder_parameters"], 1),
    "ingest.fixed_flop": final_flop,
    "ingest.fixed_usd": lambda i: gpu_usd(i, final_flop(i)),
    "ingest.semantic_flop": semantic_flop,
    "ingest.semantic_usd": lambda i: gpu_usd(i, semantic_flop(i)),
    "ingest.agentic_generation_usd": lambda i: gpu_usd(i, agentic_flop(i)),
    "ingest.agentic_total_usd": lambda i: gpu_usd(i, agentic_flop(i)) + gpu_usd(i, final_flop(i)),
    "ingest.agentic_ratio": lambda i: (agentic_flop(i) + final_flop(i)) / semantic_flop(i),
    "ingest.pairs": lambda i: pairs_of(i["sentences_per_document"]),
    "ingest.flop_per_pair": lambda i: dot_product_flops(i["components_per_vector"]),
    "ingest.pairwise_flop": pairwise_flop,
    "ingest.pairwise_s": lambda i: device_seconds(pairwise_flop(i), i["flop_per_second"]),
    "sem.long_run_tokens": run_tokens,
    "sem.long_run_indexed_share": lambda i: min(1, i["encoder_limit_tokens"] / run_tokens(i)),
}

ROWS = SPLITTING | PSEUDO_INSTRUCTION | GRANULARITY | PROPOSITIONS | SEMANTIC

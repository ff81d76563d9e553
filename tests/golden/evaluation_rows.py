"""The worked figures of evaluation and of the sweep: each id with the public function that gives it."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from segmentations import gaps_of_masses

from models.prices import token_usd
from transforms.evaluation import attribution, boundaries, extent, oracles, statistics
from transforms.planning.counts import corpus_tokens, prompt_tokens
from transforms.planning.windows import long_document_inflation, severance_probability

LEFT_TO_PLANNING: tuple[str, ...] = ()
"""Figures of these sections that stand among the planner's rows."""

Inputs = Mapping[str, Any]


def _spans(start: int, end: int) -> extent.Spans:
    return extent.Spans(*(np.array([number]) for number in (0, 0, start, end)))


def _extent(inputs: Inputs) -> list[float]:
    gold = _spans(inputs["gold_first"], inputs["gold_last"] + 1)
    retrieved = _spans(inputs["retrieved_first"], inputs["retrieved_last"] + 1)
    found = extent.extents(gold, retrieved, 1)
    return [found.recall[0], found.precision[0], found.iou[0]]


def _iou_at_f1(inputs: Inputs) -> float:
    """Of two extents of one length, F1 is the share that they have in common."""
    first = 1000 - round(1000 * inputs["f1"])
    found = extent.extents(_spans(0, 1000), _spans(first, first + 1000), 1)
    assert found.f1[0] == inputs["f1"]
    return found.iou[0]


def _whole_document(inputs: Inputs) -> float:
    return extent.extents(_spans(0, inputs["gold_tokens"]), _spans(0, inputs["document_tokens"]), 1).iou[0]


def _baseline(inputs: Inputs, is_all: bool) -> boundaries.Disagreements:
    """Segments of one length and a last one of k, so that the finite text has exactly the shares of a long one."""
    reference = gaps_of_masses([inputs["segment_units"]] * 50 + [inputs["window_units"]])
    cuts = boundaries.all_boundaries(reference) if is_all else boundaries.no_boundaries(reference)
    return boundaries.compare(reference, cuts, inputs["window_units"])


def _oracle_recall(inputs: Inputs) -> float:
    return oracles.oracle_recall(inputs["chunk_tokens"], inputs["gold_tokens"])


def _oracle_iou(inputs: Inputs) -> float:
    return oracles.oracle_iou(inputs["chunk_tokens"], inputs["gold_tokens"])


def _large_and_small(oracle: Callable[[int, int], float], inputs: Inputs) -> tuple[float, float]:
    large = oracle(inputs["large_chunk_tokens"], inputs["gold_tokens"])
    return large, oracle(inputs["small_chunk_tokens"], inputs["gold_tokens"])


def _recall_difference(inputs: Inputs) -> float:
    large, small = _large_and_small(oracles.oracle_recall, inputs)
    return large - small


def _iou_ratio(inputs: Inputs) -> float:
    large, small = _large_and_small(oracles.oracle_iou, inputs)
    return small / large


def _evidence(inputs: Inputs) -> float:
    return attribution.evidence_tokens(inputs["chunks_per_query"], inputs["tokens_per_chunk"])


def _overlap_tokens(inputs: Inputs) -> float:
    return attribution.overlap_of_share(inputs["target_tokens"], inputs["overlap_fraction"])


def _redundancy_ratio(inputs: Inputs) -> float:
    small = attribution.overlap_share(inputs["small_chunk_tokens"], inputs["overlap_tokens"])
    return small / attribution.overlap_share(inputs["large_chunk_tokens"], inputs["overlap_tokens"])


def _error(inputs: Inputs) -> float:
    return statistics.proportion_standard_error(inputs["proportion"], inputs["queries"])


def _inflation(inputs: Inputs) -> float:
    return long_document_inflation(inputs["chunk_tokens"], inputs["overlap_tokens"])


def _severance(inputs: Inputs) -> float:
    return severance_probability(inputs["span_tokens"], inputs["chunk_tokens"], inputs["overlap_tokens"])


def _usd_per_day(inputs: Inputs, size: str = "tokens_per_chunk") -> float:
    n_tokens = inputs["queries_per_day"] * prompt_tokens(inputs["chunks_per_query"], inputs[size])
    return token_usd(n_tokens, inputs["usd_per_million_tokens"])


def _usd_difference(inputs: Inputs) -> float:
    return _usd_per_day(inputs, "large_tokens_per_chunk") - _usd_per_day(inputs, "small_tokens_per_chunk")


ROWS: dict[str, Callable[[Inputs], float | list[float]]] = {
    "eval.best_piece_recall": lambda i: oracles.best_part_recall(i["gold_tokens"]),
    "eval.best_piece_recall_continuous": lambda i: oracles.best_part_recall_continuous(i["parts"]),
    "eval.recall_200": _oracle_recall,
    "eval.recall_1000": _oracle_recall,
    "eval.recall_difference": _recall_difference,
    "eval.iou_200": _oracle_iou,
    "eval.iou_1000": _oracle_iou,
    "eval.iou_ratio": _iou_ratio,
    "eval.whole_document_iou": _whole_document,
    "eval.f1_to_iou.80": _iou_at_f1,
    "eval.f1_to_iou.50": _iou_at_f1,
    "eval.extent.too_small": _extent,
    "eval.extent.too_large": _extent,
    "eval.extent.misaligned": _extent,
    "pk.baseline.no_boundary": lambda i: _baseline(i, is_all=False).pk,
    "pk.baseline.all_boundary": lambda i: _baseline(i, is_all=True).pk,
    "windowdiff.baseline.no_boundary": lambda i: _baseline(i, is_all=False).windowdiff,
    "windowdiff.baseline.all_boundary": lambda i: _baseline(i, is_all=True).windowdiff,
    "eval.chunk_growth_ratio": lambda i: attribution.length_growth(
        i["mean_chunk_tokens_before"], i["mean_chunk_tokens_after"]
    ),
    "eval.chunk_growth_prompt_tokens": lambda i: attribution.evidence_tokens(
        i["chunks_per_query"], i["mean_chunk_tokens_after"]
    ),
    "sweep.tokens_k10_1024": _evidence,
    "sweep.tokens_k10_384": _evidence,
    "sweep.k_matched": lambda i: statistics.matched_k(
        i["chunks_per_query"], i["large_chunk_tokens"], i["small_chunk_tokens"]
    ),
    "sweep.overlap_tokens.1024": _overlap_tokens,
    "sweep.overlap_tokens.384": _overlap_tokens,
    "sweep.fixed_overlap_redundancy_ratio": _redundancy_ratio,
    "sweep.se": _error,
    "sweep.ci_half_width": lambda i: i["standard_errors"] * _error(i),
    "sweep.sign_test_29_4": lambda i: statistics.sign_test(i["improved"], i["regressed"]),
    "sweep.attribution": lambda i: list(attribution.attribute(i["recall_a"], i["recall_b"], i["recall_c"])),
    "sweep.remaining_gap": lambda i: attribution.remaining_gap(i["short_recall_corpus"], i["long_recall_b"]),
    "sweep.remaining_gap_arm_b": lambda i: attribution.remaining_gap(i["short_recall_b"], i["long_recall_b"]),
    "sweep.short_recall_movement": lambda i: attribution.control_movement(
        [i["highest_short_recall"], i["lowest_short_recall"]]
    ),
    "eval.overlap_multiplier": _inflation,
    "eval.overlap_extra": lambda i: _inflation(i) - 1,
    "eval.split_200_40": _severance,
    "eval.split_200_60": _severance,
    "eval.split_1000_200": _severance,
    "eval.prompt_usd_day_200": _usd_per_day,
    "eval.prompt_usd_day_1000": _usd_per_day,
    "eval.prompt_usd_day_difference": _usd_difference,
    "eval.prompt_usd_year_difference": lambda i: _usd_difference(i) * i["days_per_year"],
    "sweep.armB_tokens": lambda i: corpus_tokens(i["chunks"], i["mean_tokens_per_chunk"]),
    "sweep.build_minutes": lambda i: sum(i.values()),
}

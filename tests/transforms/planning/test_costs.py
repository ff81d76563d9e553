import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.facts import EncoderFacts
from models.flops import attention_flops, bidirectional_pairs, causal_pairs, encoding_flops
from models.prices import Assumptions, EncoderPrices, LlmPrices, Prices
from transforms.planning.corpus import AUTO, CUTTERS, LEVELS, Windows, passes_from_lengths
from transforms.planning.costs import Pricing, price_policies
from transforms.planning.lengths import Lengths
from transforms.planning.policies import POLICIES, plan_policies
from transforms.planning.work import LlmCalls, fixed_pass
from transforms.settings import IndexSettings

FACTS = EncoderFacts("tiny", 1000, 2, 8, 64, 258, 2)
WINDOWS = Windows(256, 256, 192, 32)
lengths = st.lists(st.tuples(st.integers(0, 900), st.integers(1, 5)), min_size=1, max_size=6).map(
    lambda rows: Lengths(*zip(*rows, strict=True))
)


def plan(corpus_lengths, prices=None, turnover=0.05, windows=WINDOWS):
    prices = prices or Prices()
    corpus = passes_from_lengths(corpus_lengths, windows, FACTS, prices.assumptions, "given")
    work = plan_policies(corpus, FACTS, prices.assumptions)
    return {policy.name: policy for policy in price_policies(work, Pricing(FACTS, prices, IndexSettings(), turnover))}


def input_lengths(n_tokens, window, overlap):
    starts = range(0, max(1, n_tokens - overlap), window - overlap) if n_tokens else []
    return [min(window, n_tokens - start) for start in starts]


@given(lengths, st.integers(1, 60), st.integers(0, 59), st.integers(0, 5))
def test_a_fixed_pass_is_the_sum_over_every_window_of_every_document(corpus, window, overlap, overhead):
    overlap = min(overlap, window - 1)
    inputs = [
        size + overhead
        for n_tokens, n_documents in zip(corpus.tokens.tolist(), corpus.documents.tolist(), strict=True)
        for size in input_lengths(n_tokens, window, overlap) * n_documents
    ]
    made = fixed_pass(corpus, window, overlap, overhead)
    assert (made.n_inputs, made.tokens) == (len(inputs), sum(inputs))
    assert made.pairs == sum(bidirectional_pairs(size) for size in inputs)
    assert made.padded_slots == len(inputs) * (window + overhead)


@given(lengths)
def test_every_figure_of_every_policy_is_a_number_with_mark_unit_and_basis(corpus):
    plans = plan(corpus)
    assert list(plans) == [name for name in POLICIES if name != AUTO]
    for policy in plans.values():
        assert policy.meaning
        for figure in policy.figures.values():
            assert math.isfinite(figure.value) and figure.value >= 0
            assert figure.mark in ("formula", "measured", "assumed") and figure.unit and figure.basis
        assert policy.figures["usd_per_week"].value == pytest.approx(0.05 * policy.figures["usd"].value)
        assert "baseline" in policy.figures["usd_per_week"].basis


def test_a_billion_documents_are_a_billion_times_one():
    one, many = plan(Lengths([4000], [1])), plan(Lengths([4000], [10**9]))
    for name, policy in one.items():
        for key in ("units", "encoder_tokens", "padded_slots", "llm_input_tokens", "flop", "attention_flop", "usd"):
            assert many[name].figures[key].value == pytest.approx(1e9 * policy.figures[key].value, rel=1e-9)


def test_what_is_counted_is_a_formula_and_what_a_model_decides_is_assumed():
    plans = plan(Lengths([4000], [10]), windows=Windows(256, 256, 192))
    assert plans["fixed"].figures["units"].mark == plans["fixed"].figures["flop"].mark == "formula"
    assert plans["fixed"].figures["usd"].mark == "assumed", "the prices are our defaults"
    assert plans["semantic"].figures["units"].mark == "assumed"
    assert plans["semantic"].figures["content_tokens"].value == 2 * 40_000
    assert plans["semantic"].figures["content_tokens"].mark == "formula"
    assert plans["PIC"].figures["llm_output_tokens"].mark == "assumed"


def test_stated_prices_make_money_a_formula():
    prices = Prices.model_validate({"encoder": {"usd_per_million_tokens": 0.02}})
    fixed = plan(Lengths([4000], [100_000]), prices, windows=Windows(512, 512, 512, 64))["fixed"].figures
    assert fixed["usd"].value == pytest.approx(9.024) and fixed["usd"].mark == "formula"
    assert "hours" not in fixed


def test_sentence_detection_reads_once_or_three_times():
    plans = plan(Lengths([4000], [1]))
    once, windows = (plans[name].figures["content_tokens"].value for name in ("semantic", "semantic, windows"))
    assert once == 2 * 4000
    assert windows == 3 * 4000 - 2 * 25 + 4000


def test_an_llm_by_the_hour_costs_prefill_and_measured_decoding():
    llm = LlmPrices(paid_by="hour", decode_tokens_per_second=1000.0)
    prices = Prices(llm=llm)
    calls = plan(Lengths([4000], [1000]), prices)["PIC"].figures
    read = encoding_flops(llm.parameters, calls["llm_input_tokens"].value) / prices.gpu.flop_per_second
    seconds = read + calls["llm_output_tokens"].value / 1000
    assert calls["llm_gpu_hours"].value == pytest.approx(seconds / 3600)
    assert calls["llm_usd"].value == pytest.approx(seconds / 3600 * 2.5)


def test_attention_of_completions_is_causal():
    calls = LlmCalls(3, 3 * 100, 3 * 20, "", "")
    assert calls.pairs == 3 * causal_pairs(120) == 3 * (causal_pairs(100) + causal_pairs(20, 100))
    assert LlmCalls(0, 0, 0, "", "").pairs == 0


@given(lengths)
def test_attention_of_fixed_windows_is_that_of_their_pairs(corpus):
    made = fixed_pass(corpus, WINDOWS.fixed, WINDOWS.overlap_tokens, FACTS.overhead_tokens)
    figure = plan(corpus)["fixed"].figures["attention_flop"]
    assert figure.value == attention_flops(made.pairs, FACTS.hidden_size, FACTS.layers)


def test_a_corpus_has_a_pass_of_every_cutter_and_level():
    corpus = passes_from_lengths(Lengths([100], [1]), WINDOWS, FACTS, Assumptions(), "given")
    assert set(corpus.passes) == {*CUTTERS, *LEVELS}
    assert msgspec.to_builtins(corpus)["source"] == "given"


def test_empty_documents_cost_nothing():
    empty = plan(Lengths([0], [5]))
    assert empty["fixed"].figures["encoder_tokens"].value == 0 and "usd_over_fixed" not in empty["fixed"].figures


def test_prices_by_token_take_content_tokens():
    prices = Prices(encoder=EncoderPrices(usd_per_million_tokens=1.0))
    fixed = plan(Lengths([300], [1]), prices)["fixed"].figures
    assert fixed["encoder_usd"].value == pytest.approx(fixed["content_tokens"].value / 1e6)

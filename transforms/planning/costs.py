"""Figures of a policy: what its work comes to at stated prices, on stated devices, and in an index's memory."""

from collections.abc import Iterator

import msgspec

from models.facts import EncoderFacts
from models.flops import attention_flops, device_seconds, encoding_flops, generation_flops
from models.prices import SECONDS_PER_HOUR, Prices, device_usd, token_usd
from transforms.indexing.recipe import code_bytes, n_lists
from transforms.planning.figures import Figure, Mark, weakest
from transforms.planning.memory import FLOAT_BYTES, flat_bytes, hnsw_bytes, ivfpq_bytes
from transforms.planning.work import PolicyWork
from transforms.settings import IndexSettings

BASELINE = "fixed"


class PolicyFigures(msgspec.Struct, frozen=True):
    """A policy with its figures by name; docs/json.md lists them."""

    name: str
    meaning: str
    figures: dict[str, Figure]


class Pricing(msgspec.Struct, frozen=True):
    """What turns work into figures. `turnover` is the share of the documents that a week changes."""

    facts: EncoderFacts
    prices: Prices
    index: IndexSettings
    turnover: float
    turnover_mark: Mark = "formula"


def price_policies(work: list[PolicyWork], pricing: Pricing) -> list[PolicyFigures]:
    """Every policy's figures, and how its money compares with that of fixed windows over the same corpus."""
    priced = [price(policy, pricing) for policy in work]
    base = next((policy.figures["usd"] for policy in priced if policy.name == BASELINE), None)
    for policy in priced:
        usd = policy.figures["usd"]
        if base is not None and base.value > 0:
            mark = weakest(usd.mark, base.mark)
            basis = f"baseline: money for {BASELINE} windows over the same corpus"
            policy.figures["usd_over_fixed"] = Figure(usd.value / base.value, "ratio", mark, basis)
    return priced


def price(work: PolicyWork, pricing: Pricing) -> PolicyFigures:
    """The figures of one policy."""
    figures = {
        **dict(_counts(work)),
        **dict(_flops(work, pricing.facts, pricing.prices)),
        **dict(_times(work, pricing)),
    }
    if hours := [figures[name] for name in figures if name.endswith("_hours")]:
        mark = weakest(*(figure.mark for figure in hours))
        total = sum(figure.value for figure in hours)
        figures["hours"] = Figure(total, "device h", mark, "; ".join(figure.basis for figure in hours))
    figures |= dict(_money(work, pricing, figures))
    figures |= dict(_memory(work, pricing))
    return PolicyFigures(work.name, work.meaning, figures)


def _counts(work: PolicyWork) -> Iterator[tuple[str, Figure]]:
    yield "units", Figure(work.n_units, "units", work.units_mark, "; ".join(part.basis for part in work.indexed))
    passes = "; ".join(part.basis for part in work.passes)
    yield "content_tokens", Figure(work.total("content_tokens"), "tokens", work.content_mark, f"unpadded; {passes}")
    basis = f"unpadded, special tokens, prompts and contexts included; {passes}"
    yield "encoder_tokens", Figure(work.total("tokens"), "tokens", work.mark, basis)
    basis = "every input padded to the longest of its kind; runs sort by length and pad next to nothing"
    yield "padded_slots", Figure(work.total("padded_slots"), "slots", work.mark, basis)
    llm = work.llm
    read, written = (llm.input_tokens, llm.output_tokens) if llm else (0.0, 0.0)
    mark: Mark = "assumed" if llm else "formula"
    read_mark: Mark = llm.input_mark if llm else "formula"
    yield "llm_input_tokens", Figure(read, "tokens", read_mark, llm.input_basis if llm else "no LLM")
    yield "llm_output_tokens", Figure(written, "tokens", mark, llm.output_basis if llm else "no LLM")


def _flops(work: PolicyWork, facts: EncoderFacts, prices: Prices) -> Iterator[tuple[str, Figure]]:
    tokens, pairs = work.total("tokens"), work.total("pairs")
    llm_flop, llm_attention = llm_flops(work, prices)
    mark = weakest(work.mark, _llm_mark(work))
    yield "encoder_flop", Figure(
        encoding_flops(facts.parameters, tokens), "FLOP", work.mark,
        f"2 N T, N = {facts.parameters:,} without embedding tables, T unpadded",
    )  # fmt: skip
    yield "llm_flop", Figure(llm_flop, "FLOP", _llm_mark(work), f"2 N T, N = {prices.llm.parameters:,}")
    both = encoding_flops(facts.parameters, tokens) + llm_flop
    yield "flop", Figure(both, "FLOP", mark, "encoder and LLM together, attention apart")
    own = attention_flops(pairs, facts.hidden_size, facts.layers)
    basis = "4 d for each layer and pair of tokens; all pairs in the encoder, causal ones in the LLM"
    yield "attention_flop", Figure(own + llm_attention, "FLOP", mark, basis)


def llm_flops(work: PolicyWork, prices: Prices) -> tuple[float, float]:
    """FLOP of the completions: those of parameters, and those of attention."""
    llm, calls = prices.llm, work.llm
    if calls is None:
        return 0.0, 0.0
    flop = generation_flops(llm.parameters, calls.input_tokens, calls.output_tokens)
    return flop, attention_flops(calls.pairs, llm.hidden_size, llm.layers)


def _llm_mark(work: PolicyWork) -> Mark:
    return "assumed" if work.llm else "formula"


def _times(work: PolicyWork, pricing: Pricing) -> Iterator[tuple[str, Figure]]:
    """Hours of devices; none of what is paid by the token."""
    prices, device = pricing.prices, pricing.prices.encoder_device
    kind = prices.encoder.device
    if prices.encoder.usd_per_million_tokens is None:
        flop = encoding_flops(pricing.facts.parameters, work.total("tokens"))
        mark = weakest(work.mark, "formula" if prices.states(kind, "flop_per_second") else "assumed")
        basis = f"2 N T at {device.flop_per_second:.3g} FLOP/s sustained on one {device.name}"
        hours = device_seconds(flop, device.flop_per_second) / SECONDS_PER_HOUR
        yield f"encoder_{kind}_hours", Figure(hours, f"{kind.upper()} h", mark, basis)
    if work.llm and prices.llm.paid_by == "hour":
        read = device_seconds(encoding_flops(prices.llm.parameters, work.llm.input_tokens), prices.gpu.flop_per_second)
        written = work.llm.output_tokens / prices.llm.decode_tokens_per_second
        basis = (
            f"prefill at {prices.gpu.flop_per_second:.3g} FLOP/s, decoding at "
            f"{prices.llm.decode_tokens_per_second:g} tokens/s"
        )
        yield "llm_gpu_hours", Figure((read + written) / SECONDS_PER_HOUR, "GPU h", "assumed", basis)


def _money(work: PolicyWork, pricing: Pricing, figures: dict[str, Figure]) -> Iterator[tuple[str, Figure]]:
    encoder, llm = _encoder_usd(work, pricing, figures), _llm_usd(work, pricing, figures)
    yield "encoder_usd", encoder
    yield "llm_usd", llm
    mark = weakest(encoder.mark, llm.mark)
    total = encoder.value + llm.value
    yield "usd", Figure(total, "USD", mark, "encoder and LLM, the whole corpus once")
    yield "usd_per_week", Figure(
        pricing.turnover * total, "USD", weakest(mark, pricing.turnover_mark),
        f"baseline: the whole corpus once, of which {pricing.turnover:.3g} change in a week",
    )  # fmt: skip


def _encoder_usd(work: PolicyWork, pricing: Pricing, figures: dict[str, Figure]) -> Figure:
    prices = pricing.prices
    rate = prices.encoder.usd_per_million_tokens
    if rate is not None:
        usd = token_usd(work.total("content_tokens"), rate)
        return Figure(usd, "USD", work.content_mark, f"{rate:g} USD per million content tokens")
    kind, device = prices.encoder.device, prices.encoder_device
    hours = figures[f"encoder_{kind}_hours"]
    mark = weakest(hours.mark, "formula" if prices.states(kind, "usd_per_hour") else "assumed")
    usd = device_usd(hours.value * SECONDS_PER_HOUR, device.usd_per_hour)
    return Figure(usd, "USD", mark, f"{device.usd_per_hour:g} USD for an hour of one {device.name}")


def _llm_usd(work: PolicyWork, pricing: Pricing, figures: dict[str, Figure]) -> Figure:
    llm, calls = pricing.prices.llm, work.llm
    if calls is None:
        return Figure(0.0, "USD", "formula", "no LLM")
    if llm.paid_by == "hour":
        usd = device_usd(figures["llm_gpu_hours"].value * SECONDS_PER_HOUR, pricing.prices.gpu.usd_per_hour)
        return Figure(usd, "USD", "assumed", f"{pricing.prices.gpu.usd_per_hour:g} USD for an hour of one GPU")
    usd = token_usd(calls.input_tokens, llm.usd_per_million_input_tokens)
    usd += token_usd(calls.output_tokens, llm.usd_per_million_output_tokens)
    rates = f"{llm.usd_per_million_input_tokens:g} and {llm.usd_per_million_output_tokens:g}"
    return Figure(usd, "USD", "assumed", f"{rates} USD per million tokens read and written")


def _memory(work: PolicyWork, pricing: Pricing) -> Iterator[tuple[str, Figure]]:
    n, d, mark = work.n_units, pricing.facts.dimension, work.units_mark
    yield "flat_bytes", Figure(flat_bytes(n, d), "bytes", mark, f"n d 4, d = {d}; ids apart")
    yield (
        "hnsw_bytes",
        Figure(
            hnsw_bytes(n, d * FLOAT_BYTES),
            "bytes",
            mark,
            "n d 4 and 64 links of 4 bytes each; ids and upper layers apart",
        ),
    )
    code, lists = code_bytes(pricing.index, d), n_lists(round(n))
    yield "ivfpq_bytes", Figure(
        ivfpq_bytes(n, code, lists, d), "bytes", mark,
        f"n ({code} + 8 for the id) + {lists} lists d 4 + code books",
    )  # fmt: skip

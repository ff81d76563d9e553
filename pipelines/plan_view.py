"""A plan as a person reads it: one table of 80 columns, two lines a policy, every number marked."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from models.prices import Prices
from pipelines.output import print_pairs, safe
from pipelines.views import counts_in_words, outcome_pairs
from pipelines.wording import left_out_in_words
from transforms.planning.corpus import AUTO
from transforms.planning.costs import PolicyFigures
from transforms.planning.figures import Figure, Mark

if TYPE_CHECKING:
    from rich.console import Console

    from pipelines.dry_run import DryRun
    from pipelines.plan import Plan

MARKS: dict[Mark, str] = {"formula": "=", "measured": "*", "assumed": "~"}
NAME_WIDTH, CELL_WIDTH = 17, 8
FIRST = (
    ("units", "units"),
    ("tokens", "encoder_tokens"),
    ("padded", "padded_slots"),
    ("LLM in", "llm_input_tokens"),
    ("LLM out", "llm_output_tokens"),
    ("FLOP", "flop"),
    ("attn", "attention_flop"),
)
SECOND = (
    ("hours", "hours"),
    ("USD", "usd"),
    ("USD/week", "usd_per_week"),
    ("flat", "flat_bytes"),
    ("HNSW", "hnsw_bytes"),
    ("IVF-PQ", "ivfpq_bytes"),
)
LEGEND = (
    ("marks", "= formula over what was given, * measured, ~ assumed"),
    ("tokens", "that the encoder reads, special tokens and contexts included"),
    ("padded", "slots when every input of a policy is padded to its longest one"),
    ("attn", "FLOP of attention; the column FLOP leaves them out"),
    ("flat ...", "bytes of a FAISS index over all units, without ids and texts"),
)
_AUTO_TEXT = "the default: as structural where there is markup, else as recursive; a --sample counts it"
_SHORT_NAMES = {"sentence + section": "sent. + section", "sentence + paragraph + section": "sent.+par.+sect."}


def show_plan(plan: "Plan", console: "Console") -> None:
    """The corpus, the table, and what every number rests on."""
    corpus = plan.corpus
    mark = MARKS[corpus.mark]
    console.print(
        f"{mark}{short(corpus.n_documents)} documents, {mark}{short(corpus.n_tokens)} tokens: {safe(corpus.source)}",
        style="bold",
    )
    console.print()
    show_policies(plan.policies, console)
    console.print()
    ratio = ("x fixed", "money over its baseline, fixed windows on the same corpus")
    print_pairs(console, [*LEGEND, ratio, *bases(plan)])
    if left_out := left_out_in_words(plan.outcomes):
        console.print(f"left out of the sample: {safe(left_out)}", soft_wrap=True)


def show_dry_run(report: "DryRun", root: str, console: "Console") -> None:
    """What a run would do, what it would cost, and what would stop it."""
    documents, units = report.documents, report.units
    console.print(f"A run into {safe(root)} would do this; nothing was written", style="bold", soft_wrap=True)
    parts = [f"{documents[key]:,} {key}" for key in ("indexed", "unchanged", "empty", "failed")]
    pairs = [
        ("documents", f"{documents['listed']:,} listed = {' + '.join(parts)}"),
        ("", f"{documents['deleted']:,} deleted"),
        *outcome_pairs(report.outcomes),
        ("units", counts_in_words(units)),
    ]
    if report.refusal:
        pairs.append(("would stop", safe(report.refusal)))
    print_pairs(console, pairs)
    console.print()
    show_policies(report.policies, console, ("x whole", "usd_over_whole"))
    console.print()
    ratio = ("x whole", "money over its baseline, the whole corpus from nothing")
    print_pairs(console, [*LEGEND, ratio, *price_bases(report.prices, report.turnover)])


def show_policies(
    policies: Sequence[PolicyFigures], console: "Console", ratio: tuple[str, str] = ("x fixed", "usd_over_fixed")
) -> None:
    """Two lines under two lines of headings for each policy; `ratio` is the last column, a heading and a figure."""
    second = (*SECOND, ratio)
    for columns in (FIRST, second):
        headings = "".join(f" {name.rjust(CELL_WIDTH)}" for name, _ in columns)
        console.print(" " * NAME_WIDTH + headings, style="bold", soft_wrap=True)
    for policy in policies:
        name = _SHORT_NAMES.get(policy.name, policy.name)
        console.print(safe(name).ljust(NAME_WIDTH) + _cells(policy, FIRST), soft_wrap=True)
        console.print(" " * NAME_WIDTH + _cells(policy, second), soft_wrap=True)


def short(value: float) -> str:
    """Three digits and a unit of a thousand.

    >>> [short(n) for n in (0, 3, 1234.5, 4.512e8, 9.6e15, 0.0123, 7e-6)]
    ['0', '3', '1.23k', '451M', '9.6e15', '0.0123', '7e-6']
    """
    if value == 0:
        return "0"
    if not 1e-3 <= abs(value) < 999.5e12:
        digits, _, exponent = f"{value:.1e}".partition("e")
        return f"{digits.removesuffix('.0')}e{int(exponent)}"
    for factor, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * factor:
            return f"{_three(value / factor)}{unit}"
    return _three(value)


def _three(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"


def _cells(policy: PolicyFigures, columns: Sequence[tuple[str, str]]) -> str:
    return "".join(f" {_cell(policy.figures.get(key)).rjust(CELL_WIDTH)}" for _, key in columns)


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return "-"
    if figure.value == 0 and figure.basis == "no LLM":
        return "-"
    return MARKS[figure.mark] + short(figure.value)


def bases(plan: "Plan") -> list[tuple[str, str]]:
    """The encoder, the devices and the prices that the figures rest on."""
    windows, facts = plan.corpus.windows, plan.facts
    has_auto = AUTO in plan.corpus.passes
    sizes = f"{windows.fixed} / {windows.recursive} / {windows.structural} tokens, {windows.overlap_tokens} shared"
    spans = _spans_text(plan.overlap)
    return [
        *([("overlap", _overlap_text(plan.overlap))] if windows.overlap_tokens else []),
        *([("spans", spans)] if spans else []),
        *([] if has_auto else [("auto", _AUTO_TEXT)]),
        ("encoder", f"{safe(facts.name)}, {facts.parameters / 1e6:.2f} M parameters, {facts.dimension} components"),
        ("windows", f"fixed / recursive / structural: {sizes}"),
        *price_bases(plan.prices, plan.turnover),
    ]


def price_bases(prices: Prices, turnover: float) -> list[tuple[str, str]]:
    """The devices and the prices in words."""
    return [
        ("hours", _hours_text(prices)),
        ("prices", f"of {prices.as_of}: {_price_text(prices)}"),
        ("weekly", f"{100 * turnover:.3g} % of the money for the whole corpus, the share that changes"),
    ]


def _overlap_text(figures: Mapping[str, Figure]) -> str:
    limit = f"{figures['long_document_inflation'].value - 1:.1%} as documents grow, an approximation"
    exact = figures.get("inflation")
    return limit if exact is None else f"adds {MARKS[exact.mark]}{exact.value - 1:.1%} to the tokens of fixed; {limit}"


def _spans_text(figures: Mapping[str, Figure]) -> str:
    if "severance_probability" not in figures:
        return ""
    severed, enough, wasted = (
        figures[name].value for name in ("severance_probability", "sufficient_overlap_tokens", "wasted_overlap_tokens")
    )
    waste = f"; {wasted:g} of the overlap are waste" if wasted else ""
    best = ""
    if "oracle_recall" in figures:
        recall, iou = figures["oracle_recall"].value, figures["oracle_iou"].value
        best = f"; without overlap the window that holds most of one has recall ={recall:.3f}, IoU ={iou:.3f}"
    whole = f"of {enough + 1:g} tokens: ={severed:.1%} are whole in no fixed window"
    return f"{whole}; overlap {enough:g} is enough{waste}{best}"


def _hours_text(prices: Prices) -> str:
    parts = []
    if prices.encoder.usd_per_million_tokens is None:
        device = prices.encoder_device
        parts.append(f"encoder on one {safe(device.name)} at {short(device.flop_per_second)} FLOP/s")
    if prices.llm.paid_by == "hour":
        parts.append(f"LLM on one {safe(prices.gpu.name)} at {short(prices.llm.decode_tokens_per_second)} tokens/s")
    return "; ".join(parts) or "none, all is paid by the token"


def _price_text(prices: Prices) -> str:
    rate, device, llm = prices.encoder.usd_per_million_tokens, prices.encoder_device, prices.llm
    encoder = f"{device.usd_per_hour:g} USD per {safe(device.name)} hour"
    if rate is not None:
        encoder = f"{rate:g} USD per million tokens encoded"
    if llm.paid_by == "hour":
        return f"{encoder}; LLM {prices.gpu.usd_per_hour:g} USD per {safe(prices.gpu.name)} hour"
    return (
        f"{encoder}; LLM {llm.usd_per_million_input_tokens:g} and {llm.usd_per_million_output_tokens:g} USD per "
        "million tokens in and out"
    )

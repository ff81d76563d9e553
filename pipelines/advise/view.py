"""Advice as a person reads it, within 80 columns."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pipelines.advise.advising import LONG_ANSWER, AdviceReport
from pipelines.output import print_indented, print_pairs, safe
from pipelines.plan_view import MARKS, short
from pipelines.wording import left_out_in_words
from transforms.planning.advice import Advice
from transforms.planning.separability import Separation
from transforms.planning.traits import FACT_WORDS, hits_at_prevalence

if TYPE_CHECKING:
    from rich.console import Console


_SYMBOLS = ("m = ", "rho = ")


def show_advice(report: AdviceReport, console: "Console") -> None:
    """What was measured, and each recommendation with its reason and cost."""
    console.print(f"{safe(report.sample)}", style="bold", soft_wrap=True)
    print_pairs(console, _measured(report))
    for one in report.advice:
        console.print(f"\n{one.topic}: {one.choice}", style="bold")
        print_indented(console, f"{_sentence(one.reason)}.", 2)
        cost = _cost(report, one)
        if cost:
            print_indented(console, cost, 2)
    console.print(
        f"\nMarks: {', '.join(f'{sign} {word}' for word, sign in MARKS.items())}. Money is for the sample once."
    )
    if report.settings_file:
        console.print(f"Written to {safe(report.settings_file)}", soft_wrap=True)
    else:
        console.print("Settings: " + ", ".join(f"{name} = {value}" for name, value in report.chunking.items()))


def _measured(report: AdviceReport) -> list[tuple[str, str]]:
    documents, sentences, traits = report.documents, report.sentences, report.traits
    pairs = [("documents", f"{len(documents.n_tokens):,} different texts, {_lengths(documents.n_tokens)}")]
    if noted := left_out_in_words(report.corpus.outcomes):
        pairs.append(("noted", safe(noted)))
    pairs.append(("markup", f"{traits.markup_share:.0%} of the tokens are in documents with markup"))
    measured = f"{len(sentences.lengths):,} in {sentences.n_documents:,} documents, {_lengths(sentences.lengths)}"
    pairs.append(("sentences", measured))
    if report.answers is None:
        pairs.append(("answers", f"{MARKS['assumed']}none given: taken to be as long as sentences"))
    else:
        fates = ", ".join(f"{count:,} {fate.replace('_', ' ')}" for fate, count in sorted(report.answers.fates.items()))
        pairs.append(("answers", f"{_lengths(report.answers.n_tokens)} ({fates})"))
    rho = "no passage has two sentences" if traits.rho is None else f"{traits.rho:.2f}, mean of the pairs of a passage"
    pairs += [
        ("rho", rho),
        ("m", f"{report.n_facts:.1f} sentences of {FACT_WORDS} words or more a unit, a proxy for facts"),
    ]
    if traits.anaphoric_share is not None:
        pairs.append(("anaphora", f"{traits.anaphoric_share:.0%} of those begin with a pronoun or demonstrative"))
    for label, gaps in (("sections", sentences.by_section), ("paragraphs", sentences.by_paragraph)):
        pairs.append((f"Delta, {label}", _delta(gaps.separation())))
    return pairs


def _delta(found: Separation | None) -> str:
    if found is None:
        return "too few of these edges, or of other gaps, to measure"
    hits, chance = hits_at_prevalence(found), found.prevalence
    return f"{found.delta:.2f}; of as many cuts as edges {hits:.0%} at an edge, {chance:.0%} at random"


def _lengths(lengths: NDArray[np.int64]) -> str:
    half, long, most = (f"{value:,.0f}" for value in np.quantile(lengths, [0.5, LONG_ANSWER, 1.0]).tolist())
    return f"median {half} tokens, 95 % up to {long}, longest {most}"


def _cost(report: AdviceReport, one: Advice) -> str:
    if "units" in one.figures:
        return f"Cost: *{one.figures['units']:,} units, *{one.figures['tokens']:,} tokens encoded of the sample"
    figures = report.costs.get(one.policy or "")
    if not figures:
        return ""
    usd, units = figures["usd"], figures["units"]
    ratio = figures.get("usd_over_fixed")
    over = f", {MARKS[ratio.mark]}{short(ratio.value)} times fixed windows" if ratio else ""
    read = figures["llm_input_tokens"]
    llm = f", an LLM reads {MARKS[read.mark]}{short(read.value)} tokens" if read.value else ""
    money = f"{MARKS[usd.mark]}{short(usd.value)} USD{over}"
    return f"Cost ({one.policy}): {money}, {MARKS[units.mark]}{short(units.value)} units{llm}"


def _sentence(text: str) -> str:
    return text if text.startswith(_SYMBOLS) else text[0].upper() + text[1:]

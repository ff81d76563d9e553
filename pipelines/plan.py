"""A plan: what chunking policies cost for a corpus that is known by counts, or by a sample of real files."""

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from models.errors import ExtractionError, SettingsError
from models.facts import EncoderFacts, encoder_facts
from models.prices import Prices, load_prices
from pipelines.config import Settings
from transforms.chunking import window_and_context
from transforms.planning.corpus import CUTTERS, CorpusPasses, Windows, passes_from_lengths, settings_of
from transforms.planning.costs import PolicyFigures, Pricing, price_policies
from transforms.planning.figures import Figure, Mark
from transforms.planning.lengths import Lengths, read_lengths
from transforms.planning.overlap import overlap_figures
from transforms.planning.policies import plan_policies

DEFAULT_TURNOVER = 0.05


class PlanRequest(msgspec.Struct, frozen=True):
    """What a person says of the corpus, the prices and the share of documents that a week changes."""

    n_documents: int | None = None
    tokens_per_document: int | None = None
    length_histogram: str | None = None
    sample: tuple[str, ...] = ()
    prices: str | None = None
    turnover: float | None = None
    span_tokens: int | None = None


class Plan(msgspec.Struct, frozen=True):
    """Every policy with its figures, and all that they rest on. `outcomes` counts what the sample could not use."""

    corpus: CorpusPasses
    facts: EncoderFacts
    prices: Prices
    turnover: float
    policies: tuple[PolicyFigures, ...]
    overlap: dict[str, Figure]
    outcomes: dict[str, int] = {}

    def to_json(self) -> dict[str, Any]:
        """The documented keys of `corpusmill plan --json`."""
        return {
            "corpus": {
                "documents": self.corpus.n_documents,
                "tokens": self.corpus.n_tokens,
                "mark": self.corpus.mark,
                "source": self.corpus.source,
                "outcomes": self.outcomes,
            },
            "encoder": msgspec.to_builtins(self.facts),
            "windows": msgspec.to_builtins(self.corpus.windows),
            "prices": self.prices.model_dump(mode="json"),
            "turnover": self.turnover,
            "overlap": msgspec.to_builtins(self.overlap),
            "policies": [policy_json(policy) for policy in self.policies],
        }


def policy_json(policy: PolicyFigures) -> dict[str, Any]:
    """A policy's name and meaning, and each figure with its unit, mark and basis."""
    figures = {name: msgspec.to_builtins(figure) for name, figure in policy.figures.items()}
    return {"name": policy.name, "meaning": policy.meaning, "figures": figures}


def make_plan(settings: Settings, request: PlanRequest) -> Plan:
    """The plan of every policy. From counts it takes no longer for a billion documents than for one.

    :raises SettingsError: the corpus is described twice or not at all, a number cannot be, or the encoder is unknown.
    """
    _check_request(request)
    prices = load_prices(request.prices)
    facts = encoder_facts(settings.encoder, prices.encoder)
    outcomes: Counter[str] = Counter()
    if request.sample:
        corpus = _sampled(settings, request, prices, facts, outcomes)
    else:
        lengths, source = _lengths(request)
        windows = planned_windows(settings, facts)
        corpus = passes_from_lengths(lengths, windows, facts, prices.assumptions, source)
    turnover, mark = turnover_of(request.turnover)
    pricing = Pricing(facts, prices, settings.index, turnover, mark)
    policies = price_policies(plan_policies(corpus, facts, prices.assumptions), pricing)
    overlap = overlap_figures(corpus, request.span_tokens)
    return Plan(corpus, facts, prices, turnover, tuple(policies), overlap, dict(sorted(outcomes.items())))


def turnover_of(given: float | None) -> tuple[float, Mark]:
    """The share of documents that a week changes, and whether it is ours."""
    return (DEFAULT_TURNOVER, "assumed") if given is None else (given, "formula")


def planned_windows(settings: Settings, facts: EncoderFacts) -> Windows:
    """The windows that the cutters would get for this encoder."""
    if settings.chunking.budget_tokenizer != "encoder":
        raise SettingsError(
            f"budget_tokenizer = {settings.chunking.budget_tokenizer!a} counts windows in other tokens than the "
            "encoder's, which no formula converts; plan from a --sample"
        )
    room = facts.room_tokens
    sizes = {name: window_and_context(name, settings_of(name, settings.chunking, room), room)[0] for name in CUTTERS}
    return Windows(**sizes, overlap_tokens=settings.chunking.overlap_tokens)


def _check_request(request: PlanRequest) -> None:
    by_counts = request.tokens_per_document is not None
    ways = [by_counts, request.length_histogram is not None, bool(request.sample)]
    if sum(ways) != 1:
        raise SettingsError(
            "describe the corpus in one way: --documents with --tokens-per-document, --length-histogram, or --sample"
        )
    if by_counts and request.n_documents is None:
        raise SettingsError("--tokens-per-document needs --documents, the number of documents")
    if request.length_histogram is not None and request.n_documents is not None:
        raise SettingsError("--length-histogram counts the documents itself; leave out --documents")


def _lengths(request: PlanRequest) -> tuple[Lengths, str]:
    if request.length_histogram is not None:
        return read_lengths(request.length_histogram), f"lengths in {request.length_histogram}"
    assert request.n_documents is not None and request.tokens_per_document is not None
    return Lengths([request.tokens_per_document], [request.n_documents]), "counts given, all documents of one length"


def _sampled(
    settings: Settings, request: PlanRequest, prices: Prices, facts: EncoderFacts, outcomes: Counter[str]
) -> CorpusPasses:
    if facts.is_stated:
        raise SettingsError("a --sample is cut with the encoder's own tokenizer; name an encoder that is here")
    from models.tokenizer import load_tokenizer
    from transforms.planning.samples import Sample

    tokenizer = load_tokenizer(settings.encoder)
    prompt_tokens = facts.overhead_tokens - tokenizer.overhead_tokens
    slots, call_tokens = prices.assumptions.slots_per_sentence, settings.encoder.work_item_tokens
    sample = Sample(settings.chunking, tokenizer, prompt_tokens, slots, call_tokens)
    _read_into(sample, request.sample, settings, outcomes)
    outcomes.update(sample.outcomes)
    if not sample.n_documents:
        failed = ", ".join(f"{n} {name}" for name, n in sorted(outcomes.items())) or "no file"
        raise SettingsError(f"the sample has no document with a text ({failed}); check the patterns after --sample")
    source = f"{sample.n_documents:,} sampled documents"
    if request.n_documents is None:
        return sample.finish(source)
    return sample.finish(f"{source}, scaled to {request.n_documents:,}", request.n_documents / sample.n_documents)


def _read_into(sample: Any, patterns: Sequence[str], settings: Settings, outcomes: Counter[str]) -> None:
    """Add every document that matches; what cannot be read is counted by its reason."""
    from transforms.listing import list_files

    absolute = [path if "://" in path else os.path.abspath(path) + "/" * path.endswith("/") for path in patterns]
    for listed in list_files(absolute):
        try:
            for snapshot, reason in _documents(listed.file, settings):
                if snapshot is None:
                    outcomes[f"failed:{reason}"] += 1
                else:
                    sample.add(snapshot)
        except ExtractionError as error:
            outcomes[f"failed:{error.reason}"] += 1
        except OSError:
            outcomes["failed:unreadable"] += 1


def _documents(file: str, settings: Settings) -> Any:
    from transforms.extraction import extract_file
    from transforms.reading import open_regular

    with open_regular(file) as stream:
        for extracted in extract_file(stream, file, settings.reading):
            yield extracted.snapshot, extracted.reason

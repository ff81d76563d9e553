"""Advice on a corpus: measured, decided, priced, and written as a settings file."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.encoder import encoder_prompts
from models.errors import SettingsError
from models.tokenizer import load_tokenizer
from pipelines.advise.answers import Answers, find_answers
from pipelines.advise.measuring import Documents, SentenceTraits, measure_documents, measure_sentences
from pipelines.advise.pooling import measure_pooling
from pipelines.config import Settings
from pipelines.evaluation.corpus import Corpus, read_corpus
from pipelines.evaluation.policy import CutCorpus, cut_corpus
from pipelines.plan import PlanRequest, make_plan
from pipelines.progress import Watch
from pipelines.settings_file import check_new_file
from transforms.chunking import window_and_context
from transforms.evaluation.extent import Spans
from transforms.evaluation.misses import is_held
from transforms.planning.advice import (
    Advice,
    Traits,
    advise_chunker,
    advise_levels,
    advise_llm_boundaries,
    advise_overlap,
    advise_propositions,
    advise_window,
    enough_overlap,
)
from transforms.planning.figures import Figure
from transforms.planning.separability import Separation
from transforms.planning.traits import hits_at_prevalence
from transforms.settings import ChunkingSettings

LONG_ANSWER = 0.95
PRICED = ("usd", "usd_over_fixed", "units", "encoder_tokens", "llm_input_tokens", "llm_output_tokens")


@dataclass(frozen=True)
class AdviceReport:
    """What was measured, what is advised, and what it costs. `n_facts` are those of a unit of the advised cut."""

    sample: str
    corpus: Corpus
    documents: Documents
    sentences: SentenceTraits
    answers: Answers | None
    traits: Traits
    n_facts: float
    advice: Sequence[Advice]
    costs: Mapping[str, Mapping[str, Figure]]
    chunking: Mapping[str, Any]
    settings_file: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The documented keys of `corpusmill advise --json`."""
        lengths, sentences, traits = self.documents.n_tokens, self.sentences, self.traits
        answers = self.answers
        return {
            "sample": self.sample,
            "documents": {"number": len(lengths), **_quantiles(lengths), "outcomes": _plain(self.corpus.outcomes)},
            "markup_share": traits.markup_share,
            "long_unmarked_share": traits.long_unmarked_share,
            "sentences": {
                "number": len(sentences.lengths),
                "documents": sentences.n_documents,
                **_quantiles(sentences.lengths),
                "anaphoric_share": traits.anaphoric_share,
            },
            "answers": None
            if answers is None
            else {**_quantiles(answers.n_tokens), "references": _plain(answers.fates)},
            "rho": traits.rho,
            "facts_per_unit": self.n_facts,
            "separation": {
                "section": _separation_json(sentences.by_section.separation()),
                "paragraph": _separation_json(sentences.by_paragraph.separation()),
            },
            "advice": [self._advice_json(one) for one in self.advice],
            "settings": dict(self.chunking),
            "settings_file": self.settings_file,
        }

    def _advice_json(self, one: Advice) -> dict[str, Any]:
        costs = self.costs.get(one.policy or "", {})
        cost = {name: msgspec.to_builtins(figure) for name, figure in costs.items()} or None
        own = {"topic": one.topic, "choice": one.choice, "reason": one.reason, "figures": dict(one.figures)}
        return own | {"policy": one.policy, "cost": cost}


def advise(
    settings: Settings,
    sample: Sequence[str],
    questions: str | Path | None = None,
    write: str | None = None,
    prices: str | None = None,
    watch: Watch | None = None,
) -> AdviceReport:
    """How to cut the corpus that the file patterns `sample` stand for.

    :param questions: questions with references in the sample; without them answers are taken to be sentences.
    :param write: a new .toml file for the advised settings.
    :raises SettingsError: nothing to read, no reference in the sample, or a file that exists.
    """
    if write is not None:
        check_new_file(Path(write))
    chosen = settings.model_copy(update={"reading": settings.reading.model_copy(update={"input": tuple(sample)})})
    corpus, tokenizer = read_corpus(chosen.reading), load_tokenizer(settings.encoder)
    answers = find_answers(questions, corpus, tokenizer) if questions is not None else None
    documents = measure_documents(corpus, tokenizer)
    sentences = measure_sentences(corpus, chosen, tokenizer, watch)
    traits = _traits(_room(chosen), documents, sentences, answers)
    cut_advice, chunking, cut = _cut_advice(chosen, traits, corpus, answers)
    n_facts = _facts_per_unit(documents, cut, sentences)
    if answers is not None:
        traits = replace(traits, pooling=measure_pooling(answers, corpus, cut, settings.encoder))
    advice = [
        *cut_advice,
        advise_levels(traits, n_facts),
        advise_propositions(traits, n_facts),
        advise_llm_boundaries(traits),
    ]
    plan = make_plan(chosen, PlanRequest(sample=tuple(sample), prices=prices))
    costs = {one.name: {name: one.figures[name] for name in PRICED if name in one.figures} for one in plan.policies}
    parts = (" ".join(sample), corpus, documents, sentences, answers, traits, n_facts, advice, costs, chunking)
    report = AdviceReport(*parts, write)
    if write is not None:
        has_llm = settings.llm.llm_url is not None or bool(settings.llm.llm_model)
        _write(Path(write), report, has_llm)
    return report


def _quantiles(lengths: NDArray[np.int64]) -> dict[str, float]:
    found = np.quantile(lengths, [0.5, LONG_ANSWER, 1.0]).tolist()
    return dict(zip(("tokens_median", "tokens_p95", "tokens_max"), found, strict=True))


def _plain(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in sorted(counts.items()) if count}


def _separation_json(found: Separation | None) -> dict[str, Any] | None:
    return None if found is None else {"delta": found.delta, "hits": hits_at_prevalence(found), **asdict(found)}


def _room(settings: Settings) -> int:
    tokenizer, prompt = load_tokenizer(settings.encoder), encoder_prompts(settings.encoder)[0]
    prompt_tokens = int(tokenizer.count([prompt])[0]) if prompt else 0
    return tokenizer.max_input_tokens - tokenizer.overhead_tokens - prompt_tokens


def _traits(room: int, documents: Documents, sentences: SentenceTraits, answers: Answers | None) -> Traits:
    lengths = answers.n_tokens if answers is not None else sentences.lengths
    is_long = ~documents.has_markup & (documents.n_tokens > room)
    by_section = sentences.by_section.separation()
    separation = by_section or sentences.by_paragraph.separation()
    return Traits(
        room_tokens=room,
        markup_share=documents.share(documents.has_markup),
        long_unmarked_share=documents.share(is_long),
        sentence_tokens=float(sentences.lengths.mean()),
        answer_tokens=max(1, int(np.ceil(np.quantile(lengths, LONG_ANSWER)))),
        answers_are_assumed=answers is None,
        rho=sentences.similarity.rho,
        anaphoric_share=sentences.anaphoric_share,
        separation=separation,
        labels="section" if by_section else "paragraph",
    )


def _cut_advice(
    settings: Settings, traits: Traits, corpus: Corpus, answers: Answers | None
) -> tuple[list[Advice], dict[str, Any], CutCorpus]:
    """Chunker, window and overlap, the settings they come to, and the corpus cut by them without overlap."""
    chunker = advise_chunker(traits)
    kind = "structural" if chunker.choice == "auto" else chunker.choice
    plain = ChunkingSettings(chunker="structural" if kind == "structural" else "recursive")
    most, reserved = window_and_context(kind, plain, traits.room_tokens)
    window = advise_window(traits, most)
    values: dict[str, Any] = {"chunker": chunker.choice, "window_tokens": window.tokens, "overlap_tokens": 0}
    if kind == "structural" and reserved < plain.max_context_tokens:
        values["max_context_tokens"] = reserved
    cut = _cut(settings, values, corpus)
    enough = enough_overlap(traits, window.tokens)
    overlap, beside = advise_overlap(traits, enough, None), cut
    if answers is not None:
        beside = _cut(settings, values | {"overlap_tokens": enough}, corpus)
        severed = (_severed(answers, cut), _severed(answers, beside), len(answers.n_tokens))
        overlap = advise_overlap(traits, enough, severed)
    counted = [_counted(window, cut), _counted(overlap, cut if not overlap.tokens else beside)]
    return [chunker, *counted], values | {"overlap_tokens": overlap.tokens}, cut


def _counted(advice: Advice, cut: CutCorpus) -> Advice:
    """The advice with the units and tokens of the sample that is cut as it says."""
    counts = {"units": len(cut.rows), "tokens": sum(row[4] for row in cut.rows)}
    return replace(advice, figures={**advice.figures, **counts})


def _cut(settings: Settings, values: Mapping[str, Any], corpus: Corpus) -> CutCorpus:
    chunking = ChunkingSettings.model_validate(dict(values))
    return cut_corpus(settings.model_copy(update={"chunking": chunking}), corpus)


def _severed(answers: Answers, cut: CutCorpus) -> int:
    _, documents, starts, ends, _ = np.array(cut.rows, np.int64).reshape(-1, 5).T
    return int((~is_held(answers.spans, Spans(documents, documents, starts, ends))).sum())


def _facts_per_unit(documents: Documents, cut: CutCorpus, sentences: SentenceTraits) -> float:
    """Facts of the measured sentences, scaled to all tokens, over all units."""
    if not cut.rows:
        raise SettingsError("the sample has no text that the encoder could read; name other files")
    scale = documents.n_tokens.sum() / max(1, sentences.lengths.sum())
    return float(sentences.n_facts * scale / len(cut.rows))


def _write(path: Path, report: AdviceReport, has_llm: bool) -> None:
    lines = [f"# Advised for {' '.join(report.sample.split())!a}"]
    for one in report.advice:
        lines.append(f"# {one.topic}: {one.choice}. {one.reason}")
    lines += ["", "[chunking]"]
    lines += [
        f'{name} = "{value}"' if isinstance(value, str) else f"{name} = {value}"
        for name, value in report.chunking.items()
    ]
    lines += _llm_lines(report.advice, has_llm)
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{str(path)!a} cannot be written: {error.strerror}") from error


def _llm_lines(advice: Sequence[Advice], has_llm: bool) -> list[str]:
    """What is worth a trial with a language model: set where the settings name one, else behind a comment sign."""
    sign = "" if has_llm else "# "
    lines: list[str] = []
    for one in advice:
        if one.topic == "LLM boundaries" and one.choice == "can pay":
            lines += ["", '# [chunking] chunker = "llm" is worth a trial in place of the one above, on a sample']
        if one.rewrite is not None:
            why = "" if has_llm else "  # with llm_url and llm_revision, or llm_model, in section [llm]"
            lines += ["", f"{sign}[rewriting]", f'{sign}rewrite = "{one.rewrite}"{why}']
    return lines

"""A sweep from end to end."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import SettingsError
from models.tokenizer import load_budget_tokenizer
from pipelines.config import Settings
from pipelines.evaluation.arms import Names
from pipelines.evaluation.asking import QuestionPass
from pipelines.evaluation.audit import Limits
from pipelines.evaluation.corpus import Corpus, read_corpus
from pipelines.evaluation.encoding import VectorMemo
from pipelines.evaluation.gold import QuestionsFile, check_questions
from pipelines.evaluation.measuring import Cuts, Measurer
from pipelines.evaluation.report import Conventions
from pipelines.output import complain
from pipelines.progress import Watch
from pipelines.sweep.analysis import analyse
from pipelines.sweep.arms import LONG, SHORT, Bench, PlannedArm, make_arm, make_memos, planned_arms
from pipelines.sweep.report import Encoding, SweepReport
from pipelines.sweep.request import LEAST_OVER_LIMIT_SHARE, Side, SweepRequest, read_hypotheses, sides_of
from pipelines.sweep.work import WorkFolder
from transforms.evaluation.hypotheses import Hypothesis
from transforms.evaluation.sampling import stratified_sample
from transforms.evaluation.statistics import CONFIDENCE, matched_k
from transforms.evaluation.truncation import LENGTH_STEPS, Group

_HASHED_BYTES = 1 << 20


def sweep(settings: Settings, request: SweepRequest, watch: Watch | None = None) -> SweepReport:
    """Arms A, B and C and the size curve over one corpus and one set of questions, and what they say.

    :raises SettingsError: for a mistake in what is asked, for an audit that finds next to nothing cut off (unless
        forced), and wherever the arms would not be comparable.
    """
    hypotheses, questions = read_hypotheses(request.hypotheses), check_questions(request.questions)
    short, long = sides_of(settings, request)
    planned, left_out = planned_arms(settings, request, short, long)
    corpus, n_all = _read(settings, request, questions, short)
    bench = Bench(settings, request, {SHORT: short, LONG: long}, corpus)
    limits = bench.limits()
    short_limit = limits[SHORT].documents or limits[SHORT].declared
    total, by_length = bench.audit(planned[0], short_limit)
    _check_audit(total, short_limit, request.force)
    work = WorkFolder(request.work)
    recorded_at = work.record(_facts(bench, planned, hypotheses, questions))
    memos = make_memos(bench, planned, work, watch)
    asking = _asking(bench, planned, memos, questions)
    asked = asking.run()
    _check_questions(asking, planned)
    cuts = Cuts(request.k, request.budget_tokens)
    conventions = Conventions(cuts, request.count_with, CONFIDENCE, request.n_resamples, request.seed)
    is_control = _control(bench, asking.contents, short_limit - short.overhead_tokens)
    report = SweepReport(
        name=" ".join(settings.reading.input),
        conventions=conventions,
        asked=asked,
        n_documents=(corpus.n_documents, n_all),
        outcomes={name: count for name, count in sorted(corpus.outcomes.items()) if count},
        audit=total,
        audit_by_length=by_length,
        forced=request.force,
        recorded_at=recorded_at,
        encoding=_encoding(bench, limits, memos),
        n_units=sum(len(bench.cut(arm).rows) for arm in planned),
        left_out_sizes=left_out,
        findings=analyse(planned, asking.measurers, is_control, hypotheses, conventions),
        work=str(work.path),
    )
    report.write(work)
    return report


def _asking(
    bench: Bench, planned: Sequence[PlannedArm], memos: Mapping[str, VectorMemo], questions: QuestionsFile
) -> QuestionPass:
    """All arms behind one pass over the questions, each with the k at which it fills the prompt of arm A."""
    request = bench.request
    arms = [make_arm(bench, arm, memos[arm.reader]) for arm in planned]
    counter = load_budget_tokenizer(request.count_with, bench.sides[SHORT].tokenizer)
    unit_tokens = [arm.mean_unit_tokens(counter) for arm in arms]
    cuts = [Cuts(request.k, request.budget_tokens, matched_k(request.k, unit_tokens[0], n)) for n in unit_tokens]
    measurers = [Measurer(arm, cut, counter, n) for arm, cut, n in zip(arms, cuts, unit_tokens, strict=True)]
    return QuestionPass(questions, measurers, request.max_lost_share)


def _encoding(bench: Bench, limits: Mapping[str, Limits], memos: Mapping[str, VectorMemo]) -> dict[str, Encoding]:
    return {
        name: Encoding(bench.sides[name].settings.encoder, limits[name], memo.n_encoded, memo.n_kept)
        for name, memo in memos.items()
    }


def _read(settings: Settings, request: SweepRequest, questions: QuestionsFile, short: Side) -> tuple[Corpus, int]:
    """The corpus, or the part of it that is asked for, and the number of all its documents."""
    corpus = read_corpus(settings.reading)
    n_all = corpus.n_documents
    if request.sample_documents is None or request.sample_documents >= n_all:
        return corpus, n_all
    uris = list(corpus.contents_by_uri)
    names = Names(questions.uris)
    names.add(_uri_table(corpus))
    judged = set(names.found().values())
    kept = {row for row, uri in enumerate(uris) if corpus.contents_by_uri[uri] in judged}
    edges = [step * (short.limit_tokens - short.overhead_tokens) for step in LENGTH_STEPS]
    counts = short.tokenizer.count([corpus.snapshots[corpus.contents_by_uri[uri]].text for uri in uris])
    strata = [
        (int(np.digitize(n, edges, right=True)), uri.partition("#")[0] if "#" in uri else uri.rpartition("/")[0])
        for n, uri in zip(counts.tolist(), uris, strict=True)
    ]
    taken = [uris[row] for row in stratified_sample(strata, kept, request.sample_documents, request.seed)]
    contents = {uri: corpus.contents_by_uri[uri] for uri in taken}
    wanted = set(contents.values())
    snapshots = {name: snapshot for name, snapshot in corpus.snapshots.items() if name in wanted}
    complain(f"a sample of {len(taken):,} of {n_all:,} documents: differences count, absolute values are optimistic")
    return Corpus(snapshots, contents, corpus.outcomes), n_all


def _uri_table(corpus: Corpus) -> Any:
    import pyarrow as pa

    return pa.table({"uri": list(corpus.contents_by_uri), "content_id": list(corpus.contents_by_uri.values())})


def _check_audit(total: Group, limit_tokens: int, force: bool) -> None:
    if total.over_limit_share < LEAST_OVER_LIMIT_SHARE and not force:
        raise SettingsError(
            f"the audit found {total.n_over_limit} of {total.n_inputs} big chunks over the {limit_tokens} tokens that "
            f"the short encoder reads ({total.over_limit_share:.1%}): truncation can explain next to nothing here, and "
            "this is the wrong experiment; look at sizes with `corpusmill evaluate --against`, or insist with --force"
        )


def _check_questions(asking: QuestionPass, planned: Sequence[PlannedArm]) -> None:
    """Questions must be read whole by both encoders, or the arms are not asked the same."""
    for measurer, plan in zip(asking.measurers, planned, strict=True):
        n_cut = measurer.arm.description["outcomes"].get("questions_over_limit", 0)
        if n_cut:
            raise SettingsError(
                f"{n_cut} questions are longer than the {plan.reader} encoder reads, so that the arms would not be "
                "asked the same; shorten them (`corpusmill audit --questions` counts them)"
            )


def _control(bench: Bench, contents: Sequence[frozenset[str]], room_tokens: int) -> NDArray[np.bool_]:
    """Whether all the documents that answer a question fit the short encoder, bool (q,)."""
    names = sorted(frozenset().union(*contents))
    counts = bench.sides[SHORT].tokenizer.count([bench.corpus.snapshots[name].text for name in names])
    fits = {name: count <= room_tokens for name, count in zip(names, counts.tolist(), strict=True)}
    return np.array([all(fits[name] for name in of_question) for of_question in contents], np.bool_)


def _facts(
    bench: Bench, planned: Sequence[PlannedArm], hypotheses: Sequence[Hypothesis], questions: QuestionsFile
) -> Mapping[str, Any]:
    """What must not change between the record and the results."""
    documents = hashlib.sha256("\n".join(sorted(bench.corpus.snapshots)).encode())
    request = bench.request
    return {
        "hypotheses": [one._asdict() for one in hypotheses],
        "documents": documents.hexdigest(),
        "questions": _file_sha256(questions.path),
        "arms": [vars(arm) | {"chunking": bench.cut_settings(arm).chunking.model_dump()} for arm in planned],
        "encoders": {name: side.settings.model_dump() for name, side in bench.sides.items()},
        "cuts": {
            "k": request.k,
            "budget_tokens": request.budget_tokens,
            "count_with": request.count_with,
            "seed": request.seed,
        },
    }


def _file_sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_HASHED_BYTES):
            digest.update(block)
    return digest.hexdigest()

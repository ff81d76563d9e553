"""What traits of a corpus say about how to cut it: rules, each with the figure that it rests on."""

from collections.abc import Mapping
from dataclasses import dataclass

from models.errors import SettingsError
from transforms.planning.geometry import (
    coarse_wins_above,
    coarse_wins_above_limit,
    distractor_score,
    distractor_wins_above,
    gold_score,
    headroom,
    pooled_score,
    pooled_score_limit,
)
from transforms.planning.separability import Separation
from transforms.planning.traits import hits_at_prevalence

MOST_MARKUP, LEAST_MARKUP = 0.95, 0.05
LEAST_GOLD_SCORE = 0.8
"""A window takes so many sentences that the one that answers keeps this score in the pooled vector."""
SPANS_PER_WINDOW = 4
LEAST_HITS, LEAST_DELTA = 0.5, 1.0
LEAST_HEADROOM = 0.2
LEAST_FACTS = 3.0
LEAST_ANAPHORA = 0.25
LEAST_UNMARKED = 0.05


@dataclass(frozen=True)
class Pooling:
    """What questions say: their mean similarity to the sentence that answers, and to the others of its unit.

    `n_sentences` is the mean number of a unit's sentences, rounded, `n_answers` how many answers were measured.
    """

    n_answers: int
    n_sentences: int
    answer_similarity: float
    neighbour_similarity: float


@dataclass(frozen=True)
class Traits:
    """What was measured. Shares are of documents' tokens, lengths in tokens of the encoder.

    `answer_tokens` is the 95th percentile of annotated answers, or where `answers_are_assumed` that of sentences.
    `labels` says whose edges `separation` takes for boundaries. `facts` are of all passages, by the proxy.
    """

    room_tokens: int
    markup_share: float
    long_unmarked_share: float
    sentence_tokens: float
    answer_tokens: int
    answers_are_assumed: bool
    rho: float | None
    anaphoric_share: float | None
    separation: Separation | None
    labels: str
    pooling: Pooling | None = None


@dataclass(frozen=True)
class Advice:
    """A recommendation: what for, what it is, why, and the figures it rests on.

    `policy` is the one of the plan that prices it, `tokens` the choice where that is a number of them, and `rewrite`
    the setting of that name that is worth a trial.
    """

    topic: str
    choice: str
    reason: str
    figures: Mapping[str, float | int | None]
    policy: str | None = None
    tokens: int = 0
    rewrite: str | None = None


def advise_chunker(traits: Traits) -> Advice:
    """The cutter: the author's own structure where there is any, and meaning where sentences tell topics apart."""
    figures = {"markup_share": traits.markup_share}
    share = f"{traits.markup_share:.0%} of the tokens are in documents with markup"
    if traits.markup_share >= MOST_MARKUP:
        return Advice("chunker", "structural", f"{share}: cut where the author did", figures, "structural")
    if traits.markup_share > LEAST_MARKUP:
        reason = f"{share}: auto cuts those by their structure and the others recursively"
        return Advice("chunker", "auto", reason, figures, "auto")
    if semantic_pays(traits):
        assert traits.separation is not None
        hits = hits_at_prevalence(traits.separation)
        reason = f"{share}, and of cuts by meaning {hits:.0%} would lie at {traits.labels} edges"
        return Advice("chunker", "semantic", reason, figures | {"hits": hits}, "semantic")
    return Advice("chunker", "recursive", f"{share}: paragraphs and sentences are what there is", figures, "recursive")


def semantic_pays(traits: Traits) -> bool:
    """Whether most cuts by meaning would be right. Only where the author left none are they worth their price."""
    found = traits.separation
    return found is not None and found.delta >= LEAST_DELTA and hits_at_prevalence(found) >= LEAST_HITS


def advise_window(traits: Traits, most_tokens: int) -> Advice:
    """The window: no more sentences than leave the answer its score, no less than some answers' length."""
    n_sentences = sentences_at_score(traits.rho, LEAST_GOLD_SCORE)
    pooled = None if n_sentences is None else round(n_sentences * traits.sentence_tokens)
    floor = SPANS_PER_WINDOW * traits.answer_tokens
    window = min(most_tokens, max(floor, most_tokens if pooled is None else pooled))
    figures = {"rho": traits.rho, "sentences": n_sentences, "answer_tokens": traits.answer_tokens}
    answer = f"{SPANS_PER_WINDOW} times the {traits.answer_tokens} tokens of a long {_answer_word(traits)}"
    if traits.rho is None:
        reason = "no passage has two sentences to compare: all that the encoder reads"
    elif pooled is None:
        reason = f"rho = {traits.rho:.2f}: pooling leaves a sentence its score at any length, so all that is read"
    elif window == pooled:
        reason = f"rho = {traits.rho:.2f}: an answer keeps a score of {LEAST_GOLD_SCORE} among {n_sentences} sentences"
    elif window == floor:
        reason = f"rho = {traits.rho:.2f} asks for {pooled} tokens, and answers for more: {answer}"
    else:
        reason = f"{answer} or {pooled} tokens by rho = {traits.rho:.2f} are more than the encoder leaves"
    return Advice("window", f"{window} tokens", f"{reason} (idealised: check with `sweep`)", figures, tokens=window)


def sentences_at_score(rho: float | None, least_score: float) -> int | None:
    """The most sentences in which one keeps `least_score`; None where any number does, or rho is not known.

    From gold_score(m)^2 = rho + (1 - rho) / m.

    >>> sentences_at_score(0.5, 0.8), sentences_at_score(0.64, 0.8)
    (3, None)
    """
    if rho is None or rho >= least_score**2:
        return None
    most = int((1 - rho) / (least_score**2 - rho) + 1e-9)
    return max(1, most)


def enough_overlap(traits: Traits, window_tokens: int) -> int:
    """The overlap under which no long answer is cut, s - 1, but never more than half the window."""
    return max(0, min(traits.answer_tokens - 1, window_tokens // 2))


def advise_overlap(traits: Traits, enough: int, severed: tuple[int, int, int] | None) -> Advice:
    """The overlap. `severed` are answers that no unit holds whole without overlap, with `enough` of it, and all."""
    if severed is None:
        reason = "no questions, so nothing was seen cut: units end between sentences where they can; give --questions"
        return Advice("overlap", "0 tokens", reason, {"answer_tokens": None})
    without, beside, n_answers = severed
    figures = {"answer_tokens": traits.answer_tokens, "severed": without, "severed_with": beside, "answers": n_answers}
    if without == 0:
        return Advice("overlap", "0 tokens", f"none of {n_answers} answers is cut without any", figures)
    if beside >= without:
        reason = f"{without} of {n_answers} answers are cut, and as many with {enough} tokens: they need longer windows"
        return Advice("overlap", "0 tokens", reason, figures)
    reason = f"{without} of {n_answers} answers are cut without, {beside} with it (s - 1, at most half the window)"
    return Advice("overlap", f"{enough} tokens", reason, figures, tokens=enough)


def advise_levels(traits: Traits, n_facts: float) -> Advice:
    """Whether matching sentences and serving their passages is worth more vectors."""
    found = _headroom(traits, n_facts)
    figures = {"facts": n_facts, "rho": traits.rho, "headroom": found, **_pooled(traits)}
    if found is not None and n_facts >= LEAST_FACTS and found >= LEAST_HEADROOM:
        reason = f"{_facts_text(n_facts, traits)}: match sentences, serve their section{_pooled_text(figures)}"
        return Advice("levels", "sentence + section", reason, figures, "sentence + section")
    reason = f"{_facts_text(n_facts, traits)}, {_too_little(n_facts)}{_pooled_text(figures)}"
    return Advice("levels", "one", reason, figures)


def advise_propositions(traits: Traits, n_facts: float) -> Advice:
    """Whether rewriting passages as facts can pay."""
    found, anaphora = _headroom(traits, n_facts), traits.anaphoric_share
    figures = {"facts": n_facts, "rho": traits.rho, "headroom": found, "anaphoric_share": anaphora}
    figures |= _distracted(traits, n_facts)
    mixed = found is not None and n_facts >= LEAST_FACTS and found >= LEAST_HEADROOM
    leaning = anaphora is not None and anaphora >= LEAST_ANAPHORA
    lean = "sentences could not be judged" if anaphora is None else f"{anaphora:.0%} of sentences lean on others"
    facts = _facts_text(n_facts, traits)
    if mixed and leaning:
        reason = f"{facts}, and {lean}: try a sample"
        return Advice("propositions", "can pay", reason, figures, "propositions", rewrite="propositions")
    if mixed:
        reason = f"{facts}, but {lean}: sentence vectors have the same gain for less"
        return Advice("propositions", "hardly", reason, figures, "propositions")
    if leaning:
        reason = f"{lean}, but {facts}: a prefix of context in front of each unit is cheaper"
        return Advice("propositions", "hardly", reason, figures, "context prefixes", rewrite="context")
    reason = f"{facts}, {_too_little(n_facts)}, and {lean}"
    return Advice("propositions", "cannot pay", reason, figures, "propositions")


def advise_llm_boundaries(traits: Traits) -> Advice:
    """Whether an LLM's cuts can pay: only in long text without structure that cheaper signals do not part."""
    share, found = traits.long_unmarked_share, traits.separation
    delta = found.delta if found else None
    figures = {"long_unmarked_share": share, "delta": delta}
    where = f"{share:.0%} of the tokens are in long documents without markup"
    if share < LEAST_UNMARKED:
        return Advice("LLM boundaries", "cannot pay", f"{where}: next to nothing to cut", figures, "LLM boundaries")
    if semantic_pays(traits):
        reason = f"{where}, and Delta = {delta:.2f}: sentence distances find the edges for less"
        return Advice("LLM boundaries", "hardly", reason, figures, "LLM boundaries")
    seen = "and no edges to measure Delta on" if delta is None else f"and Delta = {delta:.2f}: distances part little"
    return Advice("LLM boundaries", "can pay", f"{where}, {seen}; try a sample", figures, "LLM boundaries")


def _headroom(traits: Traits, n_facts: float) -> float | None:
    return None if traits.rho is None or traits.rho < 0 else headroom(max(1.0, n_facts), min(1.0, traits.rho))


def _pooled(traits: Traits) -> dict[str, float | int | None]:
    """Scores of a unit as pooled from its sentences, for questions as they were measured; none where they are not."""
    names = ("pooled_score", "pooled_score_limit", "coarse_wins_above", "coarse_wins_above_limit")
    found, rho = traits.pooling, traits.rho
    if found is None or rho is None:
        return {}
    n, a, b = found.n_sentences, found.answer_similarity, found.neighbour_similarity
    measured = {"sentences": n, "answers": found.n_answers, "answer_similarity": a, "neighbour_similarity": b}
    try:
        scores = (pooled_score(n, a, b, rho), pooled_score_limit(b, rho))
        edges = (coarse_wins_above(n, a, rho), coarse_wins_above_limit(a, rho))
    except SettingsError:  # similarities that no vectors have together, as means over passages may be
        return {**measured, **dict.fromkeys(names)}
    return {**measured, **dict(zip(names, (*scores, *edges), strict=True))}


def _pooled_text(figures: Mapping[str, float | int | None]) -> str:
    score, edge = figures.get("pooled_score"), figures.get("coarse_wins_above")
    if score is None or edge is None:
        return ""
    a, b, n = (figures[name] for name in ("answer_similarity", "neighbour_similarity", "sentences"))
    wins = "more" if score > (a or 0.0) else "less"
    return (
        f". Questions meet the answering sentence at a = {a:.2f} and its neighbours at b = {b:.2f}: a unit of {n} "
        f"sentences scores {score:.2f}, {wins} than the sentence, which loses where b is above {edge:.2f} (idealised)"
    )


def _distracted(traits: Traits, n_facts: float) -> dict[str, float | int | None]:
    """From which similarity a passage of merely near facts beats the right one, and its score at the measured one."""
    m, rho = max(1.0, n_facts), traits.rho
    if rho is None or rho < 0:
        return {}
    figures: dict[str, float | int | None] = {"distractor_wins_above": distractor_wins_above(m, min(1.0, rho))}
    if traits.pooling is not None:
        try:
            score = distractor_score(m, traits.pooling.neighbour_similarity, min(1.0, rho))
        except SettingsError:
            score = None
        figures["distractor_score"] = score
    return figures


def _too_little(n_facts: float) -> str:
    return f"fewer than {LEAST_FACTS:g} facts" if n_facts < LEAST_FACTS else f"headroom below {LEAST_HEADROOM:g}"


def _facts_text(n_facts: float, traits: Traits) -> str:
    if traits.rho is None or traits.rho < 0:
        return f"m = {n_facts:.1f} facts a unit"
    score = gold_score(max(1.0, n_facts), min(1.0, traits.rho))
    return f"m = {n_facts:.1f} facts a unit, rho = {traits.rho:.2f}: headroom {1 - score:.2f}"


def _answer_word(traits: Traits) -> str:
    return "sentence (no answers given)" if traits.answers_are_assumed else "answer"

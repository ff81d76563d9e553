"""How a process asks the language model: one client, answers stored before they are used, an end where none can come.

A plan is what the driver found out, small and plain, so that it travels to every worker. An `Asking` is what a worker
makes of it. Neither loads nor starts anything before the first request that has no stored answer.
"""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from models.errors import SettingsError
from models.llm.records import LlmFailure, Request, Result
from models.llm.settings import LlmBudgetSettings, LlmServerSettings, LlmSettings
from transforms.rewriting.dialogues import Ask
from transforms.spending import DEVICE_MS, WASTED_ANSWER, WASTED_PROMPT, Spending

if TYPE_CHECKING:
    from models.llm.service import LlmService
    from transforms.store.files import Store

CountTokens = Callable[[str], int]

_BYTES_PER_TOKEN = 3
# Hardly a tokenizer joins two of these.
_PIECE = re.compile(r"\d|[^\W\d_]+|[^\w\s]|_")


@dataclass(frozen=True)
class AskingPlan:
    """The model of one run. `share` is each process's of the budget; `n_parameters`, for FLOPs, is 0 where unknown."""

    llm: LlmSettings
    server: LlmServerSettings
    budget: LlmBudgetSettings
    identity: dict[str, Any]
    identity_sha256: str
    context_tokens: int
    n_parameters: int = 0
    share: float = 1.0


@dataclass(frozen=True)
class Asking:
    """What asks a model, and what has to be known of it to ask."""

    ask: Ask
    identity: Mapping[str, Any]
    context_tokens: int
    count_tokens: CountTokens


def plan_asking(
    llm: LlmSettings, server: LlmServerSettings, budget: LlmBudgetSettings, asker: str, share: float = 1.0
) -> AskingPlan:
    """The plan of a run in which `asker`, such as "chunker = 'pic'", needs the model.

    :raises SettingsError: no model is named, it does not say how much it reads, or a budget has no prices.
    :raises ModelError: the endpoint does not answer.
    """
    from models.llm.service import identity_sha256, llm_identity

    if llm.llm_url is None and not llm.llm_model:
        raise SettingsError(
            f"{asker} asks a language model and none is named; set llm_url and llm_revision (an endpoint), or llm_model"
        )
    if budget.budget_usd is not None and not budget.has_prices:
        raise SettingsError(
            f"budget_usd = {budget.budget_usd:g} limits nothing without prices; set usd_per_million_prompt_tokens and "
            "usd_per_million_answer_tokens, or usd_per_gpu_hour"
        )
    identity = llm_identity(llm, server)
    context_tokens = _context_tokens(llm)
    planned = llm.model_copy(update={"llm_context_tokens": context_tokens})
    digest = identity_sha256(identity)
    return AskingPlan(planned, server, budget, identity, digest, context_tokens, _n_parameters(llm), share)


def make_asking(
    plan: AskingPlan, store: "Store | None" = None, run: str = "", spending: Spending | None = None
) -> Asking:
    """One process's way to the model. Answers are kept in `store` for `run`; without a store, in memory.

    `spending` is told what the stored answers do not say: tokens of requests that failed for good, and device time.
    """
    from models.llm.client import n_held_back
    from models.llm.ending import ending_early
    from models.llm.service import LlmService
    from transforms.answers import AnswerStore, StoredAsking

    service = LlmService(plan.llm, plan.server, plan.budget, plan.share, plan.identity)
    ask: Ask = _remembering(service.ask, plan.identity_sha256)
    if store is not None:
        ask = StoredAsking(
            AnswerStore(store, run), service.ask_each, plan.identity_sha256, n_held_back=n_held_back(plan.llm)
        )
    metered = _Meter(ask, service, spending).ask if spending is not None else ask
    ending = ending_early(metered, plan.llm, plan.budget)
    return Asking(ending, plan.identity, plan.context_tokens, _counter(plan.llm))


def estimated_tokens(text: str) -> int:
    """About the tokens of `text`, rather too many. For planning what is counted exactly later.

    A third of its bytes, or where there are more, in tables and lists, its words, marks and digits.

    >>> estimated_tokens("Four words of text."), estimated_tokens("1, 2; 44"), estimated_tokens("")
    (7, 6, 0)
    """
    return max(-(-len(text.encode()) // _BYTES_PER_TOKEN), sum(1 for _ in _PIECE.finditer(text)))


class _Meter:
    """Asks, and adds up what the stored answers do not say, also of a run that ends here."""

    def __init__(self, ask: Ask, service: "LlmService", spending: Spending) -> None:
        self._ask, self._service, self._spending = ask, service, spending
        self._told_ms = 0
        self._lock = threading.Lock()

    def ask(self, requests: Sequence[Request]) -> Sequence[Result]:
        try:
            results = self._ask(requests)
            self._tell_failures(results)
            return results
        finally:
            self._tell_time()

    def _tell_failures(self, results: Sequence[Result]) -> None:
        # Equal prompts of one call share a result, which was paid for once.
        for result in {id(result): result for result in results}.values():
            if isinstance(result, LlmFailure):
                self._spending.add(WASTED_PROMPT, result.wasted.prompt_tokens)
                self._spending.add(WASTED_ANSWER, result.wasted.answer_tokens)

    def _tell_time(self) -> None:
        with self._lock:
            now_ms = round(self._service.budget.device_hours * 3_600_000)
            self._spending.add(DEVICE_MS, now_ms - self._told_ms)
            self._told_ms = now_ms


def _remembering(ask: Ask, identity_sha256: str) -> Ask:
    """`ask`, except that what was answered is not asked for again by this process."""
    from transforms.answers import answer_key

    known: dict[str, Result] = {}

    def asked(requests: Sequence[Request]) -> Sequence[Result]:
        keys = [answer_key(request, identity_sha256) for request in requests]
        missing = {key: request for key, request in zip(keys, requests, strict=True) if key not in known}
        if missing:
            known.update(zip(missing, ask(list(missing.values())), strict=True))
        return [known[key] for key in keys]

    return asked


def counts_exactly(llm: LlmSettings) -> bool:
    """Whether `Asking.count_tokens` counts with the model's own tokenizer, and does not estimate."""
    return _own_counter(llm) is not None


def _counter(llm: LlmSettings) -> CountTokens:
    """Counts texts for planning windows; the client counts exactly before it sends. Its files are read when needed."""

    @cache
    def load() -> CountTokens:
        return _own_counter(llm) or estimated_tokens

    return lambda text: load()(text)


def _own_counter(llm: LlmSettings) -> CountTokens | None:
    from models.llm.counting import load_counter
    from models.llm.identity import resolve_llm

    is_ours = llm.llm_url is None and llm.llm_tokenizer == "auto"
    return load_counter(llm, resolve_llm(llm) if is_ours else None)


def _context_tokens(llm: LlmSettings) -> int:
    import os

    from models.llm.identity import find_endpoint, resolve_llm
    from models.model_files import position_capacity, read_json

    if llm.llm_url is not None:
        key = os.environ.get(llm.llm_key_variable, "")
        return find_endpoint(llm.llm_url, key, llm.llm_model, llm.llm_context_tokens).context_tokens
    if llm.llm_context_tokens is not None:
        return llm.llm_context_tokens
    path = resolve_llm(llm)
    stated = position_capacity(read_json(path / "config.json")) if path.is_dir() else None
    if stated is None:
        raise SettingsError(f"llm_model = {llm.llm_model!r} does not state how much it reads; set llm_context_tokens")
    return stated


def _n_parameters(llm: LlmSettings) -> int:
    from models.flops import read_parameters
    from models.llm.identity import resolve_llm

    if llm.llm_parameters is not None:
        return llm.llm_parameters
    path = resolve_llm(llm) if llm.llm_url is None else None
    return read_parameters(sorted(path.glob("*.safetensors"))) if path is not None and path.is_dir() else 0

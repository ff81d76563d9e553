"""When a run ends early, and the one line that says why."""

from collections.abc import Callable, Sequence

from models.errors import RefusedError
from models.llm.records import (
    BUDGET_USD,
    ENDING_REASONS,
    ENDPOINT_DOWN,
    MODEL_CHANGED,
    LlmFailure,
    Request,
    Result,
)
from models.llm.settings import LlmBudgetSettings, LlmSettings


def ending_failure(results: Sequence[Result]) -> LlmFailure | None:
    """The first among `results` for which a run should end with what it has."""
    failures = (result for result in results if isinstance(result, LlmFailure))
    return next((failure for failure in failures if failure.reason in ENDING_REASONS), None)


def ending_early(
    ask: Callable[[Sequence[Request]], Sequence[Result]], settings: LlmSettings, budget: LlmBudgetSettings
) -> Callable[[Sequence[Request]], Sequence[Result]]:
    """`ask`, except that it raises `ending_error` where a result says that the run should end.

    Without it a spent budget or a dead endpoint would look like so many bad answers, each with its fallback.
    """

    def asked(requests: Sequence[Request]) -> Sequence[Result]:
        results = ask(requests)
        failure = ending_failure(results)
        if failure is not None:
            raise ending_error(failure, settings, budget)
        return results

    return asked


def ending_error(failure: LlmFailure, settings: LlmSettings, budget: LlmBudgetSettings) -> RefusedError:
    """The error that ends a run, for one of `ENDING_REASONS`: one line with the value and the remedy."""
    kept = "what was answered is kept; run again to go on from there"
    where = f"the language model at {settings.llm_url or 'vLLM on the worker'}"
    if failure.reason == MODEL_CHANGED:
        return RefusedError(
            f"{where} is not the one that this run began with: {failure.detail}; what the first one answered is kept; "
            "serve it again, or run again with another llm_revision"
        )
    if failure.reason == ENDPOINT_DOWN:
        outage = f"did not answer for {settings.llm_outage_seconds:g} s, or failed request after request"
        return RefusedError(f"{where} {outage} ({failure.detail}); {kept}")
    name = "budget_usd" if failure.reason == BUDGET_USD else "budget_gpu_hours"
    return RefusedError(f"{name} = {getattr(budget, name):g} is spent; {kept}, with a higher one: {failure.detail}")

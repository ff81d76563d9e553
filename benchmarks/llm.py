"""The stage that asks a language model, beside the same prompts sent straight to the same server.

    python -m benchmarks.llm --vllm FOLDER
    python -m benchmarks.llm --url http://127.0.0.1:8000/v1

FOLDER is what `python tests/models/llm/vllm_environment.py FOLDER` made; $CORPUSMILL_VLLM is taken without. Both sides
ask at the same number of requests in flight and take turns, after one round that fills the server's cache of prompts.
"""

import asyncio
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from benchmarks.corpus import vocabulary
from benchmarks.measuring import Figure, hand_over, part_parser
from models.llm import wire
from models.llm.records import Message, Request
from models.llm.service import LlmService
from models.llm.settings import LlmBudgetSettings, LlmServerSettings, LlmSettings
from models.llm.wire import Endpoint
from transforms.chunkers.sentences import sentence_starts
from transforms.rewriting import summaries
from transforms.rewriting.asking import estimated_tokens, make_asking, plan_asking
from transforms.rewriting.dialogues import hold_all
from transforms.rewriting.prompts import Prompt
from transforms.store.files import Store

CONTEXT_TOKENS = 2048
SHORT = Prompt("summary", "", (Message("user", "Go on with the story of {{text}}"),))
"""A prompt that costs the server little: what a request costs beside its tokens weighs most then."""


@dataclass(frozen=True)
class Work:
    """Texts to be summarised in answers of at most `answer_tokens`."""

    texts: list[str]
    answer_tokens: int

    def dialogues(self) -> Iterator[Any]:
        for text in self.texts:
            edges = [0, *sentence_starts(text), len(text)]
            yield summaries.summarise(
                text,
                list(pairwise(edges)),
                SHORT,
                context_tokens=CONTEXT_TOKENS,
                count_tokens=estimated_tokens,
                max_answer_tokens=self.answer_tokens,
            )

    def requests(self) -> list[Request]:
        """What the dialogues ask first; each of these texts is one request."""
        return [request for dialogue in self.dialogues() for request in next(dialogue)]


def made_work(n_texts: int, answer_tokens: int, seed: int) -> Work:
    rng = random.Random(seed)
    words, weights = vocabulary()
    texts = [" ".join(rng.choices(words, cum_weights=weights, k=4)) for _ in range(n_texts)]
    return Work(texts, answer_tokens)


class Taken(NamedTuple):
    """Answer tokens per second, and the share of time in which a slot had a request under way."""

    tokens_per_second: float
    filled: float


def through_the_stage(work: Work, settings: LlmSettings, server: LlmServerSettings) -> Callable[[], Taken]:
    """Asks as the stage does, with an answer store that knows nothing yet."""
    n_slots = settings.llm_requests_in_flight
    plan = plan_asking(settings, server, LlmBudgetSettings(), "the benchmark")

    def measured() -> Taken:
        with tempfile.TemporaryDirectory() as folder:
            asking = make_asking(plan, Store(folder), "run")
            asking.ask([Request(SHORT.fill(text="Warm."), 1)])  # connects
            answers: list[Any] = []

            def kept(requests: Sequence[Request]) -> Any:
                answers.extend(results := asking.ask(requests))
                return results

            started = time.monotonic()
            hold_all(work.dialogues(), kept)
            seconds = time.monotonic() - started
        n_tokens = sum(answer.usage.answer_tokens for answer in answers)
        return Taken(n_tokens / seconds, sum(answer.seconds for answer in answers) / seconds / n_slots)

    return measured


def straight(work: Work, settings: LlmSettings, endpoint: Endpoint) -> Callable[[], Taken]:
    """Posts the same bodies, the same number at once, and looks at nothing but the usage."""
    bodies = [wire.body_of(request, settings, endpoint.model) for request in work.requests()]
    url, n_slots = endpoint.url + wire.path_of(settings), settings.llm_requests_in_flight

    async def measured() -> Taken:
        n_tokens, busy, waiting = 0, 0.0, iter(bodies)
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(headers=endpoint.headers, timeout=600, limits=limits, trust_env=False) as client:

            async def post() -> None:
                nonlocal n_tokens, busy
                for body in waiting:
                    sent = time.monotonic()
                    response = await client.post(url, json=body)
                    n_tokens += response.json()["usage"]["completion_tokens"]
                    busy += time.monotonic() - sent

            await client.post(url, json={**bodies[0], "max_tokens": 1})  # connects
            started = time.monotonic()
            await asyncio.gather(*(post() for _ in range(n_slots)))
            seconds = time.monotonic() - started
            return Taken(n_tokens / seconds, busy / seconds / n_slots)

    return lambda: asyncio.run(measured())


def figures(work: Work, settings: LlmSettings, server: LlmServerSettings, n_rounds: int) -> Iterator[Figure]:
    with LlmService(settings, server) as service:
        sides = {
            "stage": through_the_stage(work, settings, server),
            "straight": straight(work, settings, service.client().endpoint),
        }
        sides["straight"]()
        rounds = []
        for number in range(n_rounds):
            order = list(sides) if number % 2 else list(reversed(sides))
            rounds.append({name: sides[name]() for name in order})
    speeds = {name: [taken[name].tokens_per_second for taken in rounds] for name in sides}
    ratios = [ours / theirs for ours, theirs in zip(speeds["stage"], speeds["straight"], strict=True)]
    detail = (
        f"{statistics.median(speeds['stage']):.1f} and {statistics.median(speeds['straight']):.1f} answer tokens/s; "
    )
    detail += f"{len(work.texts)} prompts, {settings.llm_requests_in_flight} in flight; "
    detail += f"rounds {', '.join(f'{ratio:.2f}' for ratio in ratios)}"
    yield Figure("llm", "stage / straight, tokens per second", statistics.median(ratios), 0.95, False, detail)
    filled = {name: statistics.median(taken[name].filled for taken in rounds) for name in sides}
    detail = f"a slot has a request under way for {filled['stage']:.1%} and {filled['straight']:.1%} of the time"
    yield Figure("llm", "stage / straight, filled slots", filled["stage"] / filled["straight"], 0.95, False, detail)


@contextmanager
def chosen(options: Any) -> Iterator[tuple[LlmSettings, LlmServerSettings]]:
    """The settings of an endpoint that runs, or of a vLLM that the benchmark starts."""
    common = {"llm_api": "completions", "llm_requests_in_flight": options.in_flight}
    if options.url:
        yield LlmSettings(llm_url=options.url, llm_revision="benchmark", **common), LlmServerSettings()
        return
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    # On a busy machine one thread that may run anywhere is faster than threads that wait for each other.
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    yield (
        LlmSettings(
            llm_model=f"{options.vllm}/model",
            llm_context_tokens=CONTEXT_TOKENS,
            llm_prompt_prefix="<bos>",
            **common,
        ),
        LlmServerSettings(
            llm_python=f"{options.vllm}/venv/bin/python",
            llm_dtype="bfloat16",
            llm_server_arguments=("--enforce-eager",),
        ),
    )


def main() -> None:
    parser = part_parser(__doc__.split("\n")[0])
    parser.add_argument("--url", help="an endpoint that runs already")
    parser.add_argument("--vllm", type=Path, default=os.environ.get("CORPUSMILL_VLLM"), help="folder of vLLM and model")
    parser.add_argument("--in-flight", type=int, default=4, help="requests at once")
    parser.add_argument("--per-slot", type=int, default=20, help="prompts for each of them")
    parser.add_argument("--answer-tokens", type=int, default=16, help="longest answer")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if not options.url and not options.vllm:
        parser.error("give --url, an endpoint, or --vllm, a folder that tests/models/llm/vllm_environment.py made")
    work = made_work(options.in_flight * options.per_slot, options.answer_tokens, options.seed)
    with chosen(options) as (settings, server):
        hand_over(figures(work, settings, server, options.rounds), options.json)


if __name__ == "__main__":
    main()

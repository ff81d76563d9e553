"""A language model that is not asked: stored answers are given, and what else would be asked is counted.

Of a dialogue of several rounds the first is counted as it would be asked. What follows it depends on answers that
nobody has yet: a second try, the summary of summaries.
"""

from collections import Counter
from collections.abc import Sequence

from models.llm.records import LlmFailure, Request, Result
from transforms.answers import AnswerStore, answer_key
from transforms.rewriting.asking import Asking, AskingPlan, counts_exactly, make_asking
from transforms.store.files import Store

NOT_ASKED = "not_asked"


class Asked:
    """What would be asked.

    `n_requests` counts, by stage, the different requests that have no stored answer, `input_tokens` their messages by
    the counter that windows are planned with (without what a chat template adds), and `owners` names the contents that
    they are for. `counts_exactly` says that the counter is the model's own tokenizer. `stored` has the prompt and
    answer tokens of the stored answers that were found.
    """

    def __init__(self, counts_exactly: bool = True) -> None:
        self.counts_exactly = counts_exactly
        self.n_requests: Counter[str] = Counter()
        self.input_tokens: Counter[str] = Counter()
        self.owners: dict[str, set[str]] = {}
        self.stored: Counter[str] = Counter()


class TriedAsking(Asked):
    """Takes the place of a run's `Asking`, and sends nothing."""

    def __init__(self, plan: AskingPlan, store: Store) -> None:
        super().__init__(counts_exactly(plan.llm))
        self._plan, self._answers = plan, AnswerStore(store)
        self._counter = make_asking(plan).count_tokens
        self._seen: set[str] = set()

    @property
    def asking(self) -> Asking:
        """As a cutter takes it."""
        return Asking(self._ask, self._plan.identity, self._plan.context_tokens, self._counter)

    def _ask(self, requests: Sequence[Request]) -> Sequence[Result]:
        keys = [answer_key(request, self._plan.identity_sha256) for request in requests]
        known = self._answers.find(keys)
        for key, request in zip(keys, requests, strict=True):
            if key not in known:
                self.owners.setdefault(request.stage, set()).add(request.owner)
            if key in self._seen:
                continue
            self._seen.add(key)
            if key in known:
                usage = known[key].answer(request.owner).usage
                self.stored.update(requests=1, input_tokens=usage.prompt_tokens, output_tokens=usage.answer_tokens)
            else:
                self.n_requests[request.stage] += 1
                self.input_tokens[request.stage] += self._count(request)
        missing = LlmFailure(NOT_ASKED)
        return [
            known[key].answer(request.owner) if key in known else missing
            for key, request in zip(keys, requests, strict=True)
        ]

    def _count(self, request: Request) -> int:
        return sum(self._counter(message.content) for message in request.messages)

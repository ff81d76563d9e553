"""The language model as a model of RunInference: one prediction for each request, a failure being one of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apache_beam.ml.inference.base import ModelHandler, PredictionResult

from models.llm.records import Request, Result
from models.llm.service import LlmService
from models.llm.settings import LlmBudgetSettings, LlmServerSettings, LlmSettings
from transforms.answers import AnswerStore, StoredAsking
from transforms.context import open_store


@dataclass(frozen=True)
class AnswerPlace:
    """Where answers are kept: the root, the run that pays, and the identity of the model (`identity_sha256`)."""

    root: str
    run: str
    identity_sha256: str


class LlmModel:
    """A process's service and its answers. Dropped by Beam, or at the end of its process, it lets go of the server."""

    def __init__(self, service: LlmService, place: AnswerPlace | None) -> None:
        self.service = service
        self.asking: StoredAsking | None = None
        if place is not None:
            answers = AnswerStore(open_store(place.root), place.run)
            self.asking = StoredAsking(answers, service.ask_each, place.identity_sha256)

    def ask(self, requests: Sequence[Request]) -> list[Result]:
        """One result for each request; stored ones are not asked for."""
        return self.asking(requests) if self.asking is not None else self.service.ask(requests)


class LlmHandler(ModelHandler[Request, PredictionResult[Request, Result], LlmModel]):
    """Answers batches of requests. A request that fails is a prediction with an `LlmFailure`; none raises.

    One model per process, whose `llm_requests_in_flight` bounds all its threads together.

    :param share: each process's share of the budget, such as 1 / processes.
    :param place: where answers are kept; none keeps none.
    """

    def __init__(
        self,
        settings: LlmSettings,
        server: LlmServerSettings | None = None,
        budget: LlmBudgetSettings | None = None,
        share: float = 1.0,
        place: AnswerPlace | None = None,
        max_batch_size: int = 1024,
    ) -> None:
        super().__init__(min_batch_size=1, max_batch_size=max_batch_size)
        self._settings, self._server, self._budget = settings, server, budget
        self._share, self._place = share, place

    def load_model(self) -> LlmModel:
        return LlmModel(LlmService(self._settings, self._server, self._budget, self._share), self._place)

    def run_inference(
        self, batch: Sequence[Request], model: LlmModel, inference_args: dict[str, Any] | None = None
    ) -> Iterable[PredictionResult[Request, Result]]:
        results = model.ask(batch)
        return [PredictionResult(request, result) for request, result in zip(batch, results, strict=True)]

    def get_num_bytes(self, batch: Sequence[Request]) -> int:
        return sum(len(message.content) for request in batch for message in request.messages)

    def get_metrics_namespace(self) -> str:
        return "corpusmill_llm"

    def share_model_across_processes(self) -> bool:
        return False

    def validate_inference_args(self, inference_args: Mapping[str, Any] | None) -> None:
        """Any; none is used."""

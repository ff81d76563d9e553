"""Stage two, first half, where a language model is asked: work items through RunInference and a handler of our own.

What crosses to the model is the address of a work item's contents; the dialogues about all of them are held together.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from transforms.context import RunContext
from transforms.cutters import CuttingTools
from transforms.cutting import Keyed, cut_item
from transforms.inference import ModelHandler
from transforms.records import Record, WorkItem

CutItem = list[Record | Keyed]
"""What a work item came to: dead letters, notes, encode items, and (shard, place) pairs."""


class LlmHandler(ModelHandler[WorkItem, CutItem, CuttingTools]):
    """Cuts and rewrites the contents of work items by asking. A work item is a batch already, packed by its tokens.

    A request that fails is a fallback of its document, and a document that fails a dead letter: neither raises. What
    ends the run does: a dead endpoint, a spent budget. One client per process, whose `llm_requests_in_flight` bounds
    all its threads; vLLM on the worker is shared by the processes beside it, and starts with the first request.
    """

    def __init__(self, context: RunContext) -> None:
        super().__init__(min_batch_size=1, max_batch_size=1)
        self._context = context

    def load_model(self) -> CuttingTools:
        return CuttingTools(self._context)

    def run_inference(
        self, batch: Sequence[WorkItem], model: CuttingTools, inference_args: dict[str, Any] | None = None
    ) -> Iterable[CutItem]:
        return [list(cut_item(self._context, model.cutter, model.tokenizer, item)) for item in batch]

    def get_metrics_namespace(self) -> str:
        return "corpusmill_llm"

    def share_model_across_processes(self) -> bool:
        return False

"""The cutter of a run, with the tokenizer and the language model that its settings ask for."""

from collections.abc import Callable
from functools import partial

from models.encoder import Encoder, load_encoder
from models.settings import EncoderSettings
from models.tokenizer import Tokenizer, load_tokenizer
from transforms.chunking import Cutter, Questioning, make_cutter, make_detection
from transforms.context import RunContext
from transforms.rewriting.asking import Asking, make_asking
from transforms.spending import DETECTED


class CuttingTools:
    """A tokenizer and a cutter with its language model, one of each a process. No model is loaded before it is used."""

    def __init__(self, context: RunContext) -> None:
        self.tokenizer: Tokenizer = load_tokenizer(context.encoder)
        self.cutter: Cutter = cutter_for(context, self.tokenizer)


def cutter_for(
    context: RunContext,
    tokenizer: Tokenizer,
    asking: Asking | None = None,
    load: Callable[[EncoderSettings], Encoder] = load_encoder,
) -> Cutter:
    """The cutter that the run's settings ask for; `asking` takes the place of the run's own, `load` of its encoder."""
    tell = partial(context.spending.add, DETECTED)
    detection, questioning = make_detection(context.semantic, context.encoder, tell, load), None
    if context.asking is not None:
        asking = asking or make_asking(context.asking, context.store, context.run, context.spending)
        questioning = Questioning(asking, context.pic, context.boundaries, context.rewriting)
    return make_cutter(context.chunking, tokenizer, context.prompt_tokens, detection, questioning)

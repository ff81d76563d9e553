"""An encoder that is not run: what it would read to find cuts is counted, and nothing is found."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from models.encoder import Encoded, encoder_prompts
from models.settings import EncoderSettings
from models.tokenizer import load_tokenizer
from transforms.planning.work import EncoderPass, PassTally


class UnreadEncoder:
    """Takes the place of the encoder of `settings` where a dry run cuts.

    Its vectors are zeros of length 1, so that no document has a cut of its own. `slots_per_input` is what one input
    takes when padded.
    """

    dimension = 1

    def __init__(self, settings: EncoderSettings, slots_per_input: float) -> None:
        self._tokenizer = load_tokenizer(settings)
        self._document_prompt, self._query_prompt = encoder_prompts(settings)
        self._tally = PassTally(slots_per_input, self._tokenizer.overhead_tokens)
        self.max_input_tokens = self._tokenizer.max_input_tokens
        self.description: dict[str, Any] = {}

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Counts passages."""
        return self._count([self._document_prompt + text for text in texts])

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        """Counts questions."""
        return self._count([self._query_prompt + text for text in texts])

    def finish(self, basis: str) -> EncoderPass:
        """Everything that was counted."""
        return self._tally.finish(basis)

    def _count(self, texts: list[str]) -> Encoded:
        room = self.max_input_tokens - self._tokenizer.overhead_tokens
        wanted = self._tokenizer.count(texts)
        contents = np.minimum(wanted, room)
        self._tally.add(contents.astype(np.int64))
        n_tokens = (contents + self._tokenizer.overhead_tokens).astype(np.int32)
        vectors, valid = np.zeros((len(texts), 1), np.float16), np.ones(len(texts), np.bool_)
        return Encoded(vectors, n_tokens, wanted > room, valid, int(n_tokens.sum()), 0, 0.0, {})

"""The encoder that finds boundaries: loaded when a text first needs it, each distinct text read once a document."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.encoder import Encoder, encoder_identity, encoder_prompts, load_encoder
from models.settings import EncoderSettings
from models.tokenizer import Tokenizer, load_tokenizer
from transforms.elements import DetectionCost
from transforms.settings import SemanticSettings


class Detector:
    """Encodes the sentences of one document at a time, so that no vector depends on what else a worker was given.

    `load` makes the encoder of `settings`; it is called at the first text. `tell` takes the tokens that were read.
    """

    def __init__(
        self,
        settings: EncoderSettings,
        load: Callable[[EncoderSettings], Encoder] = load_encoder,
        tell: Callable[[int], None] = lambda n_tokens: None,
    ) -> None:
        self._settings = settings
        self._load = load
        self._tell = tell

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return load_tokenizer(self._settings)

    @cached_property
    def room_tokens(self) -> int:
        """Content tokens that the encoder reads of one input, at least 1."""
        prompt = encoder_prompts(self._settings)[0]
        prompt_tokens = int(self.tokenizer.count([prompt])[0]) if prompt else 0
        return max(1, self.tokenizer.max_input_tokens - self.tokenizer.overhead_tokens - prompt_tokens)

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """What decides the vectors, as a recipe part."""
        return encoder_identity(self._settings)

    @cached_property
    def query_prompt(self) -> str:
        """What is put in front of questions."""
        return encoder_prompts(self._settings)[1]

    def encode(self, texts: Sequence[str]) -> "Detected":
        """Vectors of `texts`, in their order; equal texts share one."""
        return self._detect(texts, are_questions=False)

    def encode_questions(self, questions: Sequence[str]) -> "Detected":
        """The same of questions, as a search encodes them."""
        return self._detect(questions, are_questions=True)

    def _detect(self, texts: Sequence[str], *, are_questions: bool) -> "Detected":
        started_cpu = time.process_time()
        encoder, started_at = self._encoder, time.perf_counter()
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        encoded = (encoder.encode_queries if are_questions else encoder.encode)(list(places))
        rows = np.fromiter((places[text] for text in texts), np.int64, len(texts))
        sizes = encoded.n_tokens.astype(np.int64)
        self._tell(int(sizes.sum()))
        cost = DetectionCost(
            n_inputs=len(places),
            n_tokens=int(sizes.sum()),
            n_pairs=int((sizes**2).sum()),
            n_padded_slots=encoded.padded_slots,
            seconds=time.perf_counter() - started_at,
            cpu_seconds=time.process_time() - started_cpu,
        )
        return Detected(encoded.vectors[rows], encoded.valid[rows], int(encoded.over_limit.sum()), cost)

    @cached_property
    def _encoder(self) -> Encoder:
        return self._load(self._settings)


class Detected:
    """Vectors (n, d) float16, zeros where not `valid`; `n_over_limit` inputs whose end was not read; and the cost."""

    def __init__(
        self, vectors: NDArray[np.float16], valid: NDArray[np.bool_], n_over_limit: int, cost: DetectionCost
    ) -> None:
        self.vectors, self.valid, self.n_over_limit, self.cost = vectors, valid, n_over_limit, cost


def detection_encoder(settings: SemanticSettings, embedder: EncoderSettings) -> EncoderSettings:
    """The encoder that finds boundaries: the embedder, unless another is named, which is driven in the same way."""
    if settings.detection_encoder is None:
        return embedder
    kept = embedder.model_dump(include={"device", "dtype", "batch_tokens", "work_item_tokens", "hashing_dimension"})
    return EncoderSettings(encoder=settings.detection_encoder, encoder_revision=settings.detection_revision, **kept)

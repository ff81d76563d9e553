"""Stage two, second half: encode items through RunInference and a model handler of our own.

What crosses to the encoder is the address of rows in a scratch file; what comes back is the address of their vectors.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from models.encoder import Encoded, Encoder, load_encoder
from models.flops import attention_flops, bidirectional_pairs, encoding_flops
from models.settings import EncoderSettings
from transforms.attempts import note_attempt
from transforms.context import RunContext
from transforms.elements import Unit
from transforms.inference import ModelHandler
from transforms.recipes import fingerprint
from transforms.records import EncodeItem, Failure, Note, VectorsWritten
from transforms.scratch import read_rows
from transforms.work_vectors import VectorRow, write_work_vectors

COLUMNS = ("vector_id", "content_id", "text", "context", "n_tokens", "embed_hash", "needs_vector", "n_of")


class LazyEncoder:
    """Loads the encoder when it is first needed, so that a run without work loads none."""

    def __init__(self, settings: EncoderSettings) -> None:
        self._settings = settings
        self._encoder: Encoder | None = None

    def get(self) -> Encoder:
        """The encoder, loaded once."""
        if self._encoder is None:
            self._encoder = load_encoder(self._settings)
        return self._encoder


class EncodedItem(msgspec.Struct, frozen=True):
    """What an encode item came to: where its vectors lie, by content shard, its dead letters and its notes."""

    places: tuple[tuple[int, VectorsWritten], ...]
    failures: tuple[Failure, ...]
    notes: tuple[Note, ...]


class EncoderHandler(ModelHandler[EncodeItem, EncodedItem, LazyEncoder]):
    """Runs the encoder over the units of encode items, one item a call, so that a kill loses one item a worker."""

    def __init__(self, context: RunContext) -> None:
        super().__init__(min_batch_size=1, max_batch_size=1)
        self._context = context

    def load_model(self) -> LazyEncoder:
        return LazyEncoder(self._context.encoder)

    def run_inference(
        self, batch: Sequence[EncodeItem], model: LazyEncoder, inference_args: dict[str, Any] | None = None
    ) -> Iterable[EncodedItem]:
        return [encode_item(self._context, model, item) for item in batch]

    def get_metrics_namespace(self) -> str:
        return "corpusmill_encoder"


def encode_item(context: RunContext, model: LazyEncoder, item: EncodeItem) -> EncodedItem:
    """Encode the units of one item that need it, each distinct text once, and write their vectors."""
    rows = read_rows(context.root, item.path, range(item.first, item.first + item.count), COLUMNS).to_pylist()
    rows = [row for row in rows if row["needs_vector"]]
    texts: dict[str, str] = {}
    for row in rows:
        texts.setdefault(row["embed_hash"], Unit(0, 0, row["text"], 0, row["context"]).embedded_text)
    key = fingerprint([item.path, item.first, item.count])
    note_attempt(context, key, item.n_tokens)
    encoded = model.get().encode(list(texts.values()))
    made, failures = _vector_rows(context, rows, {name: number for number, name in enumerate(texts)}, encoded)
    path = write_work_vectors(context, key, made, int(encoded.n_tokens.sum()))
    return EncodedItem(tuple((shard, VectorsWritten(path)) for shard in item.shards), tuple(failures), _notes(encoded))


def _vector_rows(
    context: RunContext, rows: list[dict[str, Any]], place: dict[str, int], encoded: Encoded
) -> tuple[list[VectorRow], list[Failure]]:
    """A row for each unit with a sound vector, with its share of the cost, and a dead letter for each other."""
    made: list[VectorRow] = []
    failures: list[Failure] = []
    paid: set[str] = set()
    n_tokens = int(encoded.n_tokens.sum()) or 1
    for row in rows:
        name, number = row["embed_hash"], place[row["embed_hash"]]
        if not encoded.valid[number]:
            reason = encoded.failures.get(number, "bad_vector")
            about = {"content_id": row["content_id"], "vector_id": row["vector_id"], "n_of": row["n_of"]}
            failures.append(Failure("encode", reason, detail=row["text"][:100], **about))
            continue
        tokens = 0 if name in paid else int(encoded.n_tokens[number])
        paid.add(name)
        share = tokens / n_tokens
        costs = _flops(context, tokens)
        vector = np.asarray(encoded.vectors[number])
        made.append(
            VectorRow(
                row["vector_id"], name, row["content_id"], "encoded", vector, tokens,
                encoded.padded_slots * share, *costs, encoded.seconds * share,
            )
        )  # fmt: skip
    return made, failures


def _flops(context: RunContext, n_tokens: int) -> tuple[float, float]:
    """FLOP of encoding a text, and beside it those of attention, which grow with the square of its length."""
    costs = context.costs
    attention = attention_flops(bidirectional_pairs(n_tokens), costs.hidden_size, costs.n_layers)
    return float(encoding_flops(costs.n_parameters, n_tokens)), float(attention)


def _notes(encoded: Encoded) -> tuple[Note, ...]:
    counts = {"over_limit_inputs": int(encoded.over_limit.sum()), "out_of_memory_splits": int(encoded.n_splits)}
    return tuple(Note(name, count) for name, count in counts.items() if count)

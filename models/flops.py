"""What encoding and generating cost in floating-point operations: pure arithmetic, one multiply-add is two FLOP.

Parameter terms follow Kaplan et al. 2020, https://arxiv.org/abs/2001.08361, section 2.1: a forward pass costs 2 N FLOP
per token, N without embedding tables. The terms that grow with the context stand apart: they are attention's own.
"""

import json
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TypeVar

from models.errors import ModelError

# Looked up, not multiplied; and heads that run once per text, or never when encoding.
_NOT_PER_TOKEN = re.compile(
    r"(^|\.)(\w*embeddings?|embed_tokens|embed_positions|tok_embeddings|shared|wte|wpe|relative_attention_bias|position_ids"
    r"|pooler|cls|lm_head|classifier)(\.|$)"
)
_MAX_HEADER_BYTES = 100_000_000  # the format's own limit

Count = TypeVar("Count", int, float)
"""A number of tokens or pairs: whole where it was counted, a fraction where it is a mean or an estimate."""


def encoding_flops(n_parameters: int, n_tokens: Count) -> Count:
    """FLOP of encoding or prefilling: 2 N T. Attention's part is `attention_flops`.

    >>> encoding_flops(10_646_784, 1)
    21293568
    """
    return 2 * n_parameters * n_tokens


def decoding_flops(n_parameters: int, n_tokens: Count) -> Count:
    """FLOP of generating `n_tokens`: 2 N each. It says nothing of the time, which memory bandwidth bounds."""
    return 2 * n_parameters * n_tokens


def generation_flops(n_parameters: int, n_input_tokens: Count, n_output_tokens: Count) -> Count:
    """FLOP of a completion: its prompt is prefilled, its answer decoded.

    >>> generation_flops(8_000_000_000, 880, 80)
    15360000000000
    """
    return encoding_flops(n_parameters, n_input_tokens) + decoding_flops(n_parameters, n_output_tokens)


def device_seconds(flop: float, flop_per_second: float) -> float:
    """Seconds of a device that sustains `flop_per_second`. For encoding and prefill; decoding is bound by bandwidth."""
    return flop / flop_per_second


def causal_pairs(n_new: int, n_prefix: int = 0) -> int:
    """Pairs of query and key in causal attention over `n_new` tokens after `n_prefix`: c P + c (c + 1) / 2.

    >>> causal_pairs(100) + causal_pairs(100), causal_pairs(200)
    (10100, 20100)
    """
    return n_new * n_prefix + n_new * (n_new + 1) // 2


def bidirectional_pairs(n_tokens: int) -> int:
    """Pairs of query and key when every token of a text sees every other: n^2."""
    return n_tokens * n_tokens


def attention_flops(n_pairs: Count, hidden_size: int, n_layers: int) -> Count:
    """FLOP of attention over `n_pairs`: 4 d for each layer and pair, 2 d for the scores and 2 d for the sum of values.

    `hidden_size` is heads times head size. A column of its own in every ledger: it grows with the square of the length.

    >>> attention_flops(bidirectional_pairs(256), hidden_size=384, n_layers=6)
    603979776
    """
    return 4 * n_pairs * hidden_size * n_layers


def count_parameters(shapes: Mapping[str, Sequence[int]]) -> int:
    """Parameters that every token passes, from tensor shapes by name: N without embedding tables, poolers and heads.

    >>> count_parameters({"embeddings.word_embeddings.weight": [30522, 384], "encoder.layer.0.output.bias": [384]})
    384
    """
    return sum(prod(shape) for name, shape in shapes.items() if not _NOT_PER_TOKEN.search(name))


def read_parameters(weight_files: Iterable[Path]) -> int:
    """`count_parameters` over the headers of safetensors files; the weights themselves are not read."""
    return sum(count_parameters(read_shapes(path)) for path in weight_files)


def read_shapes(path: Path) -> dict[str, list[int]]:
    """Shape of each tensor of a safetensors file, by name. Raises ModelError when the header cannot be right."""
    try:
        with path.open("rb") as stream:
            (n_bytes,) = struct.unpack("<Q", stream.read(8))
            if n_bytes > _MAX_HEADER_BYTES:
                raise ModelError(f"{path} is no safetensors file; take the model's files again")
            header = json.loads(stream.read(n_bytes))
        return {name: list(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__"}
    except (OSError, struct.error, ValueError, RecursionError, AttributeError, TypeError, KeyError) as error:
        raise ModelError(f"{path} has no readable safetensors header: {error!r}") from error

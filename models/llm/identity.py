"""What identifies a language model: the hashes of its files, or what an endpoint says and its user declares."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2

from models.errors import ModelError, SettingsError
from models.llm import wire
from models.llm.connections import Fetched, fetch, open_http, run_alone
from models.llm.settings import LlmServerSettings, LlmSettings
from models.llm.wire import Endpoint
from models.model_files import fetch_snapshot, file_sha256, hash_files, read_json

# Raise when the same model and settings give other answers because this program asks in another way.
VERSION = 1

_WEIGHTS = ("*.safetensors", "*.gguf")
_TOKENIZER = (
    "tokenizer.json", "vocab.json", "merges.txt", "added_tokens.json", "special_tokens_map.json", "chat_template.json",
    "tekken.json", "*.model", "*.tiktoken", "*.jinja", "*.py",
)  # fmt: skip
_HUB_PATTERNS = ["*.safetensors", "*.gguf", "*.json", "*.txt", "*.model", "*.tiktoken", "*.jinja", "*.py"]
# Arguments of vLLM that decide how fast it answers, or where, and not what. Any other counts.
_SPEED_ARGUMENTS = frozenset(
    {"api-server-count", "async-scheduling", "block-size", "compilation-config", "cpu-offload-gb", "data-parallel-size",
     "disable-custom-all-reduce", "disable-log-requests", "disable-log-stats", "disable-uvicorn-access-log",
     "distributed-executor-backend", "download-dir", "dtype", "enable-chunked-prefill", "enable-log-requests",
     "enable-prefix-caching", "enforce-eager", "gpu-memory-utilization", "host", "kv-cache-memory-bytes",
     "max-model-len", "max-num-batched-tokens", "max-num-seqs", "max-parallel-loading-workers",
     "num-gpu-blocks-override", "pipeline-parallel-size", "port", "swap-space", "tensor-parallel-size",
     "uvicorn-log-level"}
)  # fmt: skip
_VOLATILE_KEYS = {"_name_or_path", "name_or_path", "transformers_version", "torch_dtype", "dtype"}
_TIMEOUT_SECONDS = 30.0
# For a name that nobody looks up in time: that cannot be cancelled.
_SPARE_SECONDS = 5.0


def resolve_llm(settings: LlmSettings) -> Path:
    """The folder, or the single file, of the model that vLLM is to load; a hub model is fetched.

    :raises SettingsError: none is named, or there is no such model.
    """
    if not settings.llm_model:
        raise SettingsError("llm_model is not set; name a folder or a hub model for vLLM, or set llm_url")
    path = Path(settings.llm_model).expanduser()
    if path.exists():
        return path
    return fetch_snapshot("llm_model", settings.llm_model, settings.llm_revision, _HUB_PATTERNS)


def files_identity(path: Path, server: LlmServerSettings) -> dict[str, Any]:
    """What decides the answers of a model whose files we have. Device, dtype and names of folders are not in it.

    :raises SettingsError: there are no weights, or the chat template cannot be read.
    """
    folder = path if path.is_dir() else path.parent
    weights = sorted({file for pattern in _WEIGHTS for file in folder.glob(pattern)}) if path.is_dir() else [path]
    if not weights:
        raise SettingsError(
            f"llm_model = {str(path)!r} holds no weights (*.safetensors, *.gguf); name a model's folder"
        )
    others = sorted({file for pattern in _TOKENIZER for file in folder.glob(pattern)}) if path.is_dir() else []
    configs = ("config.json", "tokenizer_config.json", "generation_config.json")
    config = {name: _stable(read_json(folder / name)) for name in configs} if path.is_dir() else {}
    return {
        "kind": "files",
        "version": VERSION,
        "weights_sha256": hash_files(folder, weights),
        "tokenizer_sha256": hash_files(folder, others),
        "config_sha256": hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest(),
        "chat_template_sha256": _template_sha256(server.llm_chat_template),
        "server_arguments": deciding_arguments(server.llm_server_arguments),
    }


def deciding_arguments(words: Sequence[str]) -> list[list[str]]:
    """The arguments of a server that may decide its answers, sorted; files are named by the sha256 of their content.

    >>> deciding_arguments(["--enforce-eager", "--quantization=fp8", "--max-num-seqs", "8", "--hf_overrides", "{}"])
    [['hf-overrides', '{}'], ['quantization', 'fp8']]
    """
    arguments: list[list[str]] = []
    for word in words:
        if word.startswith("-") and word.strip("-"):
            name, is_given, value = word.lstrip("-").partition("=")
            arguments.append([name.replace("_", "-"), *([_content(value)] if is_given else [])])
        else:
            arguments = arguments or [[""]]
            arguments[-1].append(_content(word))
    return sorted(argument for argument in arguments if argument[0].removeprefix("no-") not in _SPEED_ARGUMENTS)


def _content(value: str) -> str:
    path = Path(value).expanduser() if len(value) < 4096 and "\0" not in value else None
    try:
        return file_sha256(path) if path is not None and path.is_file() else value
    except OSError:
        return value


def endpoint_identity(endpoint: Endpoint, revision: str) -> dict[str, Any]:
    """What is known of a model whose files nobody here has seen: `is_declared` marks the revision as a promise."""
    return {
        "kind": "endpoint",
        "version": VERSION,
        "id": endpoint.model,
        "root": endpoint.root,
        "revision": revision,
        "is_declared": True,
    }


def find_endpoint(url: str, key: str, model: str | None, context_tokens: int | None) -> Endpoint:
    """The endpoint at `url`, as it describes itself.

    :param model: the id to use; none takes the only one that is served.
    :param context_tokens: the limit to keep to; none takes what the endpoint states.
    :raises ModelError: nothing answers there, or not in the protocol's form.
    :raises SettingsError: it serves no such model, several, or does not state its limit.
    """
    url = url.rstrip("/")
    served = _served_models(url, key)
    if model is None and len(served) != 1:
        raise SettingsError(f"{url} serves {len(served)} models ({', '.join(served)[:200]}); set llm_model")
    name = model or next(iter(served))
    if name not in served:
        raise SettingsError(f"llm_model = {name!r} is not served at {url}; it serves {', '.join(served)[:200]}")
    stated = served[name].get("max_model_len")
    limits = [limit for limit in (context_tokens, stated) if type(limit) is int and limit > 0]
    if not limits:
        raise SettingsError(f"{url} does not state how much {name!r} reads; set llm_context_tokens")
    return Endpoint(url, name, wire.words(served[name].get("root") or name), min(limits), key)


def _served_models(url: str, key: str) -> dict[str, dict[str, Any]]:
    fetched = _fetch(f"{url}/models", url, key)
    listed = wire.parse_object(fetched.data).get("data")
    if fetched.status != 200 or not isinstance(listed, list):
        detail = wire.error_detail(fetched.data, key)
        raise ModelError(
            f"{url}/models answers with status {fetched.status}: {detail}; check llm_url, "
            "and the key in the environment variable that llm_key_variable names"
        )
    return {wire.words(model["id"]): model for model in listed if isinstance(model, dict) and "id" in model}


def _fetch(address: str, url: str, key: str) -> Fetched:
    """One answer, within its time and size."""
    if not (key.isascii() and key.isprintable()):
        raise SettingsError("the endpoint's key has characters that no HTTP header carries; set its variable again")
    try:
        return run_alone(_fetch_once(address, key), _TIMEOUT_SECONDS + _SPARE_SECONDS)
    except TimeoutError as error:
        raise ModelError(f"{address} gave no whole answer in {_TIMEOUT_SECONDS:g} s; check the endpoint") from error
    except wire.UnreadableError as error:
        raise ModelError(f"{address} answers with {error}; check llm_url") from error
    except httpx2.HTTPError as error:
        words = str(error) or type(error).__name__
        is_unknown = "CERTIFICATE_VERIFY_FAILED" in words
        remedy = "name its authority's certificate in SSL_CERT_FILE" if is_unknown else "start the endpoint"
        raise ModelError(f"llm_url = {url!r} does not answer: {words}; {remedy}") from error
    except (httpx2.InvalidURL, ValueError) as error:
        raise SettingsError(
            f"llm_url = {url!r} is no address: {error}; give one such as http://host:8000/v1"
        ) from error


async def _fetch_once(address: str, key: str) -> Fetched:
    async with open_http(address, key, 1, _TIMEOUT_SECONDS) as http:
        return await fetch(http, "GET", address, _TIMEOUT_SECONDS)


def _stable(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in _VOLATILE_KEYS}


def _template_sha256(name: str | None) -> str:
    if name is None:
        return ""
    try:
        return file_sha256(Path(name))
    except OSError as error:
        raise SettingsError(f"llm_chat_template = {name!r} cannot be read: {error.strerror}; give a file") from error

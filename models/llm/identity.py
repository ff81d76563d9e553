"""What identifies a language model: the hashes of its files, or what an endpoint says and its user declares."""

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import httpx2

from models.errors import ModelError, SettingsError
from models.llm import wire
from models.llm.settings import LlmServerSettings, LlmSettings
from models.llm.wire import Endpoint
from models.model_files import fetch_snapshot, file_sha256, hash_files, read_json

# Raise when the same model and settings give other answers because this program asks in another way.
VERSION = 1

_WEIGHTS = ("*.safetensors", "*.gguf")
_TOKENIZER = ("tokenizer.json", "tokenizer.model", "vocab.json", "merges.txt", "*.jinja")
_HUB_PATTERNS = ["*.safetensors", "*.gguf", "*.json", "*.txt", "*.model", "*.jinja"]
_VOLATILE_KEYS = {"_name_or_path", "name_or_path", "transformers_version", "torch_dtype", "dtype"}
_TIMEOUT_SECONDS = 30.0


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
    }


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
    return Endpoint(url, name, _words(served[name].get("root") or name), min(limits), key)


def _served_models(url: str, key: str) -> dict[str, dict[str, Any]]:
    status, data = _fetch(f"{url}/models", url, key)
    listed = wire.parse_object(data).get("data")
    if status != 200 or not isinstance(listed, list):
        detail = wire.error_detail(data)
        raise ModelError(
            f"{url}/models answers with status {status}: {detail}; check llm_url, "
            "and the key in the environment variable that llm_key_variable names"
        )
    return {_words(model["id"]): model for model in listed if isinstance(model, dict) and "id" in model}


def _fetch(address: str, url: str, key: str) -> tuple[int, bytes]:
    """Status and body of one answer, within its time and size."""
    if not (key.isascii() and key.isprintable()):
        raise SettingsError("the endpoint's key has characters that no HTTP header carries; set its variable again")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    data, deadline = bytearray(), time.monotonic() + _TIMEOUT_SECONDS
    try:
        with httpx2.stream("GET", address, headers=headers, timeout=_TIMEOUT_SECONDS) as response:
            for part in response.iter_bytes():
                data += part
                if len(data) > wire.MAX_RESPONSE_BYTES:
                    raise ModelError(f"{address} answers with over {wire.MAX_RESPONSE_BYTES} bytes; check llm_url")
                if time.monotonic() > deadline:
                    raise ModelError(f"{address} gave no whole answer in {_TIMEOUT_SECONDS:g} s; check the endpoint")
    except httpx2.HTTPError as error:
        raise ModelError(
            f"llm_url = {url!r} does not answer: {error or type(error).__name__}; start the endpoint"
        ) from error
    except (httpx2.InvalidURL, ValueError) as error:
        raise SettingsError(
            f"llm_url = {url!r} is no address: {error}; give one such as http://host:8000/v1"
        ) from error
    return response.status_code, bytes(data)


def _words(value: object) -> str:
    """What an endpoint says, as text that can be stored: without lone surrogates."""
    return str(value).encode("utf-8", "replace").decode()


def _stable(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in _VOLATILE_KEYS}


def _template_sha256(name: str | None) -> str:
    if name is None:
        return ""
    try:
        return file_sha256(Path(name))
    except OSError as error:
        raise SettingsError(f"llm_chat_template = {name!r} cannot be read: {error.strerror}; give a file") from error

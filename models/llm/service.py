"""The language model as a process sees it: found or started, identified, and asked through one client."""

import hashlib
import json
import os
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from models.errors import SettingsError
from models.llm.budget import Budget
from models.llm.client import LlmClient
from models.llm.counting import load_counter
from models.llm.ending import ending_error
from models.llm.identity import endpoint_identity, files_identity, find_endpoint, resolve_llm
from models.llm.records import MODEL_CHANGED, LlmFailure, Request, Result
from models.llm.server import ServerPlan, SharedServer, served_name, vllm_plan
from models.llm.settings import LlmBudgetSettings, LlmServerSettings, LlmSettings
from models.llm.wire import Endpoint


@dataclass
class _Parts:
    """What a service holds, apart from it, so that it can be closed when the service is gone."""

    client: LlmClient | None = None
    server: SharedServer | None = None

    def close(self) -> None:
        if self.client is not None:
            self.client.close()
        if self.server is not None:
            self.server.close()
        self.client = self.server = None


class LlmService:
    """One per process. Nothing is loaded or started before the first request; `close` lets go of all of it.

    Where vLLM runs on this machine and has died, the next call starts it again.

    :param share: this process's share of the budget.
    :param identity: of the model that an endpoint must still serve, as `llm_identity` found it; none takes any.
    """

    def __init__(
        self,
        settings: LlmSettings,
        server: LlmServerSettings | None = None,
        budget: LlmBudgetSettings | None = None,
        share: float = 1.0,
        identity: Mapping[str, Any] | None = None,
    ) -> None:
        self._model = (identity or {}).get("model")
        self.settings, self.server_settings = settings, server or LlmServerSettings()
        n_devices = 1 if settings.llm_url else self.server_settings.tensor_parallel_size
        self.budget = Budget(budget or LlmBudgetSettings(), share, n_devices)
        self._lock = threading.Lock()
        self._parts = _Parts()
        # Beam drops a model without a word; then, and when the process ends, the server is let go of as well.
        self._finalizer = weakref.finalize(self, self._parts.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def client(self) -> LlmClient:
        """The client, made when first asked for. Raises as `find_endpoint`, `resolve_llm` and `SharedServer`.

        :raises RefusedError: the endpoint serves another model than that of `identity`.
        """
        with self._lock:
            parts = self._parts
            if parts.client is not None and parts.client.is_down and parts.server is not None:
                parts.close()
            if parts.client is None:
                parts.client = self._connect()
            return parts.client

    def ask(self, requests: Sequence[Request]) -> list[Result]:
        """One result for each request, in their order."""
        return self.client().ask(requests)

    def ask_each(
        self, requests: Sequence[Request], tick_seconds: float | None = None
    ) -> Iterator[tuple[int, Result] | None]:
        """As `LlmClient.ask_each`."""
        return self.client().ask_each(requests, tick_seconds)

    def close(self) -> None:
        """Closes the client and lets go of the server."""
        with self._lock:
            self._parts.close()

    def _connect(self) -> LlmClient:
        settings = self.settings
        if settings.llm_url is not None:
            endpoint = self._endpoint(settings.llm_url)
            return LlmClient(endpoint, settings, count_tokens=load_counter(settings), budget=self.budget)
        model = resolve_llm(settings)
        self._parts.server = server = SharedServer(self._plan(model))
        server.start()
        name = served_name(str(model))
        endpoint = find_endpoint(server.url, server.key, name, settings.llm_context_tokens)
        return LlmClient(endpoint, settings, count_tokens=load_counter(settings, model), budget=self.budget)

    def _endpoint(self, url: str) -> Endpoint:
        settings, key = self.settings, os.environ.get(self.settings.llm_key_variable, "")
        name = self._model["id"] if self._model else settings.llm_model
        endpoint = find_endpoint(url, key, name, settings.llm_context_tokens)
        if self._model and endpoint.root != self._model["root"]:
            instead = f"{endpoint.model!r} is {endpoint.root[:200]!r} there"
            raise ending_error(LlmFailure(MODEL_CHANGED, instead), settings, self.budget.settings)
        return endpoint

    def _plan(self, model: Path) -> ServerPlan:
        return vllm_plan(self.settings, self.server_settings, str(model))


def llm_identity(settings: LlmSettings, server: LlmServerSettings) -> dict[str, Any]:
    """What decides the answers beside prompt and request: the model, and how it is sampled. Loads no model.

    An endpoint is asked what it serves. Raises as `find_endpoint` and `files_identity`.
    """
    if settings.llm_url is not None:
        key = os.environ.get(settings.llm_key_variable, "")
        endpoint = find_endpoint(settings.llm_url, key, settings.llm_model, settings.llm_context_tokens)
        if settings.llm_revision is None:
            raise SettingsError(f"llm_url = {settings.llm_url!r} needs llm_revision")
        model = endpoint_identity(endpoint, settings.llm_revision)
    else:
        model = files_identity(resolve_llm(settings), server)
    sampling = ("llm_api", "llm_structured", "llm_prompt_prefix", "llm_temperature", "llm_seed")
    return {"model": model, "sampling": settings.model_dump(include=set(sampling))}


def identity_sha256(identity: dict[str, Any]) -> str:
    """One name for an identity, part of the key of every answer."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()

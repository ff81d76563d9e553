"""A server that the processes of one machine share: the first starts it, and it ends with the last, however that ends.

A watchdog process runs the server (`models/llm/watchdog.py`). A client holds a shared lock for as long as it lives.
"""

import fcntl
import importlib.util
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import httpx2

from models.errors import MissingExtraError, ModelError, SettingsError
from models.llm import serve_vllm, watchdog
from models.llm.server_folders import START, Locked, folder_of, sweep
from models.llm.settings import LlmServerSettings, LlmSettings

POLL_SECONDS = 0.5
GRACE_SECONDS = 15.0
KEY_VARIABLE = "VLLM_API_KEY"
_READY_POLL_SECONDS = 0.25


class ServerPlan(NamedTuple):
    """How a server is started. `{port}` in `command` is filled in; it must answer /health when it is ready."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = {}
    start_seconds: float = 1800.0
    poll_seconds: float = POLL_SECONDS
    grace_seconds: float = GRACE_SECONDS


def vllm_plan(settings: LlmSettings, server: LlmServerSettings, model: str) -> ServerPlan:
    """VLLM's own server for the folder, file or hub name `model`, at the settings' sizes, for this machine only."""
    arguments = {
        "--host": "127.0.0.1",
        "--port": "{port}",
        "--served-model-name": served_name(model),
        "--dtype": server.llm_dtype,
        "--tensor-parallel-size": str(server.tensor_parallel_size),
        "--gpu-memory-utilization": f"{server.gpu_memory_utilization:g}",
    }
    if settings.llm_context_tokens is not None:
        arguments["--max-model-len"] = str(settings.llm_context_tokens)
    if server.llm_chat_template is not None:
        arguments["--chat-template"] = server.llm_chat_template
    flat = [word for pair in arguments.items() for word in pair]
    flat.append("--disable-uvicorn-access-log")  # a line for each of millions of requests
    command = (_python(server.llm_python), serve_vllm.__file__, model, *flat, *server.llm_server_arguments)
    return ServerPlan(command, start_seconds=server.llm_start_seconds)


def served_name(model: str) -> str:
    """The name under which vLLM serves `model`: its last part.

    >>> served_name("/models/gemma/")
    'gemma'
    """
    return model.rstrip("/").rpartition("/")[2]


def _python(name: str | None) -> str:
    """The Python that has vLLM; our own must have it, another's server will say in its log."""
    if name is None:
        if importlib.util.find_spec("vllm") is None:
            raise MissingExtraError("vllm is not installed; run: pip install 'corpusmill[vllm]', or set llm_python")
        return sys.executable
    found = shutil.which(os.path.expanduser(name))
    if found is None:
        raise SettingsError(f"llm_python = {name!r} is no program; give the Python of the environment that holds vLLM")
    return found


class SharedServer:
    """This process's hold on the machine's server. `start` waits until it is ready; `close` lets go of it.

    :raises ModelError: the server ended, or was not ready in time; the message names its log.
    """

    def __init__(
        self, plan: ServerPlan, folder: Path | None = None, max_log_bytes: int = watchdog.MAX_LOG_BYTES
    ) -> None:
        self.plan, self._max_log_bytes = plan, max_log_bytes
        self.folder = folder or folder_of(plan.command, plan.environment)
        self._hold: IO[bytes] | None = None
        self._state: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._state['port']}/v1"

    @property
    def key(self) -> str:
        return str(self._state["key"])

    @property
    def pid(self) -> int:
        """Of the server, which leads its process group."""
        return int(self._state["pid"])

    @property
    def log(self) -> Path:
        return self.folder / watchdog.LOG

    def start(self) -> None:
        """Take hold of the server, starting it where none runs, and wait until it is ready."""
        try:
            with Locked(self.folder / START):
                self._hold = (self.folder / watchdog.CLIENTS).open("ab")
                # Waits for a watchdog that is just ending its server.
                fcntl.flock(self._hold, fcntl.LOCK_SH)
                if not self._is_served():
                    self._spawn()
                    sweep(self.folder)
            self._wait_until_ready()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go; the server ends when nobody holds it."""
        if self._hold is not None:
            self._hold.close()
            self._hold = None

    def _is_served(self) -> bool:
        """Whether a watchdog is at work here."""
        with (self.folder / watchdog.WATCHDOG).open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def _spawn(self) -> None:
        (self.folder / watchdog.STATE).unlink(missing_ok=True)
        key = secrets.token_hex(16)
        orders = {
            "folder": str(self.folder),
            "command": self.plan.command,
            "environment": {KEY_VARIABLE: key, **self.plan.environment},
            "key": key,
            "poll_seconds": self.plan.poll_seconds,
            "grace_seconds": self.plan.grace_seconds,
            "max_log_bytes": self._max_log_bytes,
        }
        # A session of its own: neither Ctrl-C nor the end of a terminal reaches it before its work is done.
        with (self.folder / "watchdog.log").open("wb") as output:
            command = [sys.executable, "-I", watchdog.__file__]
            words = json.dumps(orders).encode()
            subprocess.run(command, input=words, stdout=output, stderr=output, start_new_session=True, check=False)
        if not self._read_state():
            raise ModelError(f"the server could not be started; see {self.folder / 'watchdog.log'}")

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + self.plan.start_seconds
        while not self._is_ready():
            if time.monotonic() >= deadline:
                raise ModelError(f"the server was not ready after {self.plan.start_seconds:g} s; {self._last_words()}")
            time.sleep(_READY_POLL_SECONDS)

    def _is_ready(self) -> bool:
        self._state = self._read_state()
        if "port" not in self._state:
            raise ModelError(f"the server ended with code {self._state.get('exit_code')}; {self._last_words()}")
        try:
            url = f"http://127.0.0.1:{self._state['port']}/health"
            return bool(httpx2.get(url, timeout=5.0, trust_env=False).status_code == 200)
        except httpx2.HTTPError:
            return False

    def _last_words(self) -> str:
        try:
            lines = self.log.read_bytes()[-4000:].decode("utf-8", "replace").strip().splitlines()
        except OSError:
            lines = []
        return f"its log {self.log} ends: {lines[-1][:300] if lines else 'empty'}"

    def _read_state(self) -> dict[str, Any]:
        try:
            state = json.loads((self.folder / watchdog.STATE).read_text())
        except (OSError, ValueError):
            return {}
        return state if isinstance(state, dict) else {}

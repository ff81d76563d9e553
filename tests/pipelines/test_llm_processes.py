"""Whole runs that start a server for the language model: however they end, no process of theirs is left."""

import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from engines import IN_PROCESS, worker_environment
from obedient import essay

SERVER = Path(__file__).with_name("model_server.py")
SOLO = IN_PROCESS["FnApiRunner"]


class Started:
    """A run in a session of its own; what belongs to it is known by its temporary folder, which all inherit."""

    def __init__(self, base: Path, checkout: Path, runner: list[str], *server_arguments: str) -> None:
        self.base = base
        (base / "tmp").mkdir()
        for number in range(8):
            self._write(f"corpus/doc{number}.txt", essay(f"Name{number}"))
        words = [sys.executable, "-m", "pipelines", "ingest", "--input", f"{base}/corpus/*"]
        words += ["--output", f"{base}/index", "--encoder", "hashing", "--chunker", "llm"]
        words += ["--llm-model", self._model(), "--llm-python", self._python()]
        words += ["--llm-outage-seconds", "1", "--work-item-tokens", "64", "--llm-requests-in-flight", "1"]
        for word in ("--folder", str(base), *server_arguments):
            words.append(f"--llm-server-arguments={word}")
        environment = {**os.environ, **worker_environment(), "TMPDIR": str(base / "tmp")}
        environment["PYTHONPATH"] += f"{os.pathsep}{SERVER.parent}"
        with (base / "said").open("wb") as said:
            self.process = subprocess.Popen(
                [*words, *runner], cwd=checkout, env=environment, stdout=said, stderr=said, start_new_session=True
            )

    def _write(self, name: str, text: str | bytes) -> Path:
        path = self.base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def _model(self) -> str:
        header = json.dumps({"lm.weight": {"dtype": "F16", "shape": [3, 5], "data_offsets": [0, 30]}}).encode()
        self._write("model/model.safetensors", struct.pack("<Q", len(header)) + header + bytes(30))
        return str(self._write("model/config.json", '{"max_position_embeddings": 8192}').parent)

    def _python(self) -> str:
        path = self._write("python", f'#!/bin/sh\nexec "{sys.executable}" "{SERVER}" "$@"\n')
        path.chmod(0o755)
        return str(path)

    def said(self) -> str:
        return (self.base / "said").read_text()

    def until_asked(self) -> None:
        """Waits until the model has answered something."""
        until(lambda: (self.base / "asked").exists() or self.process.poll() is not None, "nothing was asked")
        assert self.process.poll() is None, self.said()
        assert any("model_server.py" in line for line in self.living())

    def living(self) -> list[str]:
        """Command lines of processes of this run."""
        mark, found = f"TMPDIR={self.base}/tmp".encode(), []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append((folder / "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue
        return found

    def check_that_nothing_is_left(self) -> None:
        until(lambda: not self.living(), lambda: f"these live on: {self.living()}")
        assert (self.base / "starts").read_text().count("started") == 1


def until(is_so, what) -> None:
    deadline = time.monotonic() + 90
    while not is_so():
        assert time.monotonic() < deadline, what() if callable(what) else what
        time.sleep(0.02)


@pytest.fixture
def start(tmp_path, checkout):
    runs = []

    def started(*arguments):
        runs.append(Started(tmp_path, checkout, *arguments))
        return runs[-1]

    yield started
    for run in runs:
        if run.process.poll() is None:
            os.killpg(run.process.pid, signal.SIGKILL)
        run.process.wait()


def test_success_with_one_server_for_all_workers(start):
    run = start(IN_PROCESS["multi_processing"])
    assert run.process.wait(timeout=120) == 0, run.said()
    run.check_that_nothing_is_left()


def test_failure_of_the_server(start):
    run = start(SOLO, "--requests-until-death", "2")
    assert run.process.wait(timeout=120) == 1
    assert "vLLM on the worker did not answer for 1 s" in run.said().splitlines()[-1]
    run.check_that_nothing_is_left()


@pytest.mark.parametrize(
    ("number", "runner"),
    [
        (signal.SIGINT, "FnApiRunner"),
        (signal.SIGKILL, "multi_processing"),
        pytest.param(signal.SIGKILL, "FnApiRunner", marks=pytest.mark.soak),
        pytest.param(signal.SIGINT, "multi_processing", marks=pytest.mark.soak),
    ],
)
def test_an_end_from_outside(start, number, runner):
    run = start(IN_PROCESS[runner])
    run.until_asked()
    if number == signal.SIGINT:
        os.killpg(run.process.pid, number)  # as a terminal does
    else:
        run.process.kill()
    assert run.process.wait(timeout=60) != 0
    run.check_that_nothing_is_left()

"""Runners and engines for tests: the arguments that run a pipeline on each, and one long-lived Flink job server.

Engines are no Python packages. They lie in the folder that $CORPUSMILL_ENGINES names, else in `engines` of the shared
files; a test that lacks one skips and says what is missing. Worker processes import this project from the checkout,
which `worker_environment` puts on their PYTHONPATH, so that no test depends on what is installed.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import grpc
import pytest
from apache_beam.portability.api import beam_job_api_pb2 as job_api
from apache_beam.portability.api import beam_job_api_pb2_grpc as job_services

IN_PROCESS = {
    "FnApiRunner": ["--runner=FnApiRunner"],
    "bundle_repeat": ["--runner=FnApiRunner", "--direct_runner_bundle_repeat=1"],
    "multi_processing": ["--runner=FnApiRunner", "--direct_running_mode=multi_processing", "--direct_num_workers=2"],
}
PORTABLE = [pytest.param(name, marks=pytest.mark.engine) for name in ("Prism", "Flink")]
CHECKOUT = Path(__file__).resolve().parents[2]
START_TIMEOUT_S = 60
ENDED = {job_api.JobState.DONE, job_api.JobState.FAILED, job_api.JobState.CANCELLED, job_api.JobState.STOPPED}


def find_engine(pattern: str) -> Path:
    """An engine's file. Skips the test where it, or the Java that a jar needs, is missing."""
    shared = Path(os.environ.get("CORPUSMILL_SHARED") or CHECKOUT.parent / "shared")
    folder = Path(os.environ.get("CORPUSMILL_ENGINES") or shared / "engines")
    found = sorted(folder.glob(pattern))
    if not found:
        pytest.skip(f"no {pattern} in {folder}; set CORPUSMILL_ENGINES to the folder that holds it")
    if found[0].suffix == ".jar" and shutil.which("java") is None:
        pytest.skip(f"{found[0].name} needs java 11 or 17 on PATH")
    return found[0]


def free_port() -> int:
    """A port on which nothing listens now."""
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return int(listener.getsockname()[1])


def worker_environment() -> dict[str, str]:
    """What worker processes need: this interpreter first on PATH, and the project importable."""
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(CHECKOUT), os.environ.get("PYTHONPATH")])),
    }


class JobServer:
    """Beam's job server for Flink. Starting one takes seconds and 0.8 GB, so a test session shares it."""

    def __init__(self, jar: Path, home: Path, master: str = "[local]") -> None:
        self.endpoint = f"localhost:{free_port()}"
        port = self.endpoint.rpartition(":")[2]
        command = ["java", "-jar", str(jar), "--flink-master", master, "--job-port", port, "--artifact-port", "0"]
        command += ["--expansion-port", "0", "--artifacts-dir", str(home / "artifacts")]
        self.log = home / "job-server.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            with grpc.insecure_channel(self.endpoint) as channel:
                grpc.channel_ready_future(channel).result(timeout=START_TIMEOUT_S)
        except grpc.FutureTimeoutError:
            self.stop()
            pytest.fail(f"the job server did not start in {START_TIMEOUT_S} s: {self.log.read_text()[-500:]}")

    @property
    def arguments(self) -> list[str]:
        """What runs a pipeline here, with workers as threads of this process."""
        return [
            "--runner=PortableRunner",
            f"--job_endpoint={self.endpoint}",
            "--parallelism=2",
            "--environment_type=LOOPBACK",
        ]

    def cancel_leftovers(self) -> None:
        """Cancel what a test that failed or ran out of time left running."""
        with grpc.insecure_channel(self.endpoint) as channel:
            service = job_services.JobServiceStub(channel)
            for job in service.GetJobs(job_api.GetJobsRequest(), timeout=30).job_info:
                if job.state not in ENDED:
                    service.Cancel(job_api.CancelJobRequest(job_id=job.job_id), timeout=30)

    def stop(self) -> None:
        """End the server's process, by force where it does not follow."""
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class FlinkCluster:
    """A real Flink cluster of two TaskManagers with two slots each, so that one of them is enough to go on."""

    def __init__(self, script: Path, sdist: Path, home: Path) -> None:
        self._script, self._home = script, home
        self._rest_port = free_ports_in_a_row(3)
        self.master = f"localhost:{self._rest_port}"
        self._call("start", "--sdist", str(sdist), "--rest-port", str(self._rest_port), "--task-managers", "2")

    def kill_task_manager(self, number: int) -> None:
        """End a TaskManager at once, as if its machine had been switched off."""
        os.kill(int((self._home / f"taskmanager{number}.pid").read_text()), signal.SIGKILL)

    def n_task_managers(self) -> int:
        """TaskManagers that the cluster believes alive."""
        with urllib.request.urlopen(f"http://{self.master}/overview", timeout=10) as reply:
            return int(json.load(reply)["taskmanagers"])

    def stop(self) -> None:
        """End every process of the cluster; jobs end with it."""
        self._call("stop")

    def _call(self, command: str, *options: str) -> None:
        words = [sys.executable, str(self._script), command, "--home", str(self._home), *options]
        subprocess.run(words, check=True, timeout=180, stdout=subprocess.DEVNULL)


def free_ports_in_a_row(n_ports: int) -> int:
    """The first of `n_ports` neighbouring ports on which nothing listens now."""
    while True:
        first = free_port()
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in range(first, first + n_ports):
                stack.enter_context(socket.socket()).bind(("localhost", port))
            return first

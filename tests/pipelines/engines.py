"""Runners and engines for tests: the arguments that run a pipeline on each, and one long-lived Flink job server.

Engines are no Python packages. They lie in the folder that $CORPUSMILL_ENGINES names, else in `engines` of the shared
files; a test that lacks one skips and says what is missing. Worker processes import this project from the checkout,
which `worker_environment` puts on their PYTHONPATH, so that no test depends on what is installed.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
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
START_TIMEOUT_S = 60
ENDED = {job_api.JobState.DONE, job_api.JobState.FAILED, job_api.JobState.CANCELLED, job_api.JobState.STOPPED}


def find_engine(shared: Path | None, pattern: str) -> Path:
    """An engine's file. Skips the test where it, or the Java that a jar needs, is missing."""
    folder = Path(os.environ["CORPUSMILL_ENGINES"]) if os.environ.get("CORPUSMILL_ENGINES") else shared
    found = sorted(folder.glob(pattern)) if folder else []
    if not found:
        pytest.skip(
            f"no {pattern} in {folder or '../shared/engines'}; set CORPUSMILL_ENGINES to the folder that holds it"
        )
    if found[0].suffix == ".jar" and shutil.which("java") is None:
        pytest.skip(f"{found[0].name} needs java 11 or 17 on PATH")
    return found[0]


def free_port() -> int:
    """A port on which nothing listens now."""
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return int(listener.getsockname()[1])


def worker_environment(checkout: Path) -> dict[str, str]:
    """What worker processes need: this interpreter first on PATH, and the project importable."""
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(checkout), os.environ.get("PYTHONPATH")])),
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


@contextlib.contextmanager
def flink_cluster(script: Path, sdist: Path, home: Path) -> Iterator[str]:
    """A real Flink cluster of two TaskManagers with a slot each; yields its REST address."""
    port = next(port for port in iter(free_port, 0) if port < 65_000)
    options = ["--sdist", str(sdist), "--rest-port", str(port), "--task-managers", "2", "--slots", "1"]
    start = [sys.executable, str(script), "start", "--home", str(home), *options, "--managed-mb", "768"]
    subprocess.run(start, check=True, timeout=180)
    try:
        yield f"localhost:{port}"
    finally:
        subprocess.run([sys.executable, str(script), "stop", "--home", str(home)], check=True, timeout=60)


def wait_for(condition: "object", timeout_s: float, what: str) -> None:
    """Poll until `condition()` holds; the test fails after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while not condition():  # type: ignore[operator]
        if time.monotonic() > deadline:
            pytest.fail(f"{what} did not happen in {timeout_s:.0f} s")
        time.sleep(0.1)

"""Fixtures of whole runs."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from engines import IN_PROCESS, JobServer, find_engine, worker_environment
from mill import Mill, prose


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    """An empty corpus and no index yet."""
    return Mill(tmp_path)


@pytest.fixture
def turned(mill: Mill) -> Mill:
    """A mill with eight documents that has turned once."""
    for number in range(8):
        mill.write(f"doc{number}.md", f"# Document {number}\n\n{prose(f'd{number}')}\n")
    report = mill.run()
    assert report.published and report.documents["indexed"] == 8
    return mill


@pytest.fixture(scope="session")
def job_server(tmp_path_factory):
    server = JobServer(find_engine("beam-flink-*-job-server-*.jar"), tmp_path_factory.mktemp("flink"))
    yield server
    server.stop()


@pytest.fixture
def on(request, monkeypatch):
    """`on("Prism")` are the arguments that run a pipeline there; the test skips where the engine is missing."""
    for name, value in worker_environment().items():
        monkeypatch.setenv(name, value)

    def arguments(runner: str) -> list[str]:
        if runner in IN_PROCESS:
            return IN_PROCESS[runner]
        if runner == "Prism":
            return ["--runner=PrismRunner", f"--prism_location={find_engine('prism')}"]
        server = request.getfixturevalue("job_server")
        request.addfinalizer(server.cancel_leftovers)
        return server.arguments

    return arguments

"""A Flink cluster loses one of its two machines in the middle of a run: the run recovers, with the same files."""

import os
import threading
import time
from pathlib import Path

import pytest
from engines import FlinkCluster, JobServer, find_engine, worker_environment
from mill import Mill, prose

pytestmark = [pytest.mark.soak, pytest.mark.engine, pytest.mark.timeout(2400)]


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A cluster whose workers are processes that import this project from the checkout."""
    for name, value in worker_environment().items():
        monkeypatch.setenv(name, value)
    jar = find_engine("beam-flink-*-job-server-*.jar")
    running = FlinkCluster(find_engine("flink_cluster.py"), find_sdist(), tmp_path / "cluster")
    try:
        server = JobServer(jar, tmp_path, running.master)
        try:
            yield running, server, find_engine("beam_worker.py")
        finally:
            server.cancel_leftovers()
            server.stop()
    finally:
        running.stop()


def find_sdist() -> Path:
    """Flink itself, which no engine folder need carry: $CORPUSMILL_FLINK_SDIST names it too."""
    named = os.environ.get("CORPUSMILL_FLINK_SDIST")
    if named:
        return Path(named)
    try:
        return find_engine("apache-flink-libraries-*.tar.gz")
    except pytest.skip.Exception:
        pytest.skip(
            "Flink is missing; run `pip download --no-deps --no-binary :all: apache-flink-libraries==1.19.3` "
            "and set CORPUSMILL_FLINK_SDIST to the file"
        )


def test_a_killed_task_manager_costs_no_document(cluster, tmp_path):
    running, server, worker = cluster
    settings = {"work_item_tokens": 2048}
    here = Mill(tmp_path, settings)
    for number in range(400):
        here.write(f"doc{number}.md", f"# Document {number}\n\n{prose(f'd{number}', 400)}\n")
    expected = here.run()
    there = Mill(tmp_path / "there", {**settings, "input": [f"{here.source}/**"]})
    killer = Killer(running, Path(there.root))
    killer.start()
    report = there.run(
        [
            "--runner=PortableRunner",
            f"--job_endpoint={server.endpoint}",
            "--parallelism=2",
            "--environment_type=PROCESS",
            f"--environment_option=process_command={worker}",
            "--execution_mode_for_batch=BATCH_FORCED",
        ]
    )
    killer.join()
    assert killer.killed_at, "the run had ended before a TaskManager was killed"
    assert (report.documents, report.units) == (expected.documents, expected.units)
    ours, theirs = here.manifest(), there.manifest()
    assert (theirs.shards, theirs.document_shards) == (ours.shards, ours.document_shards)
    assert running.n_task_managers() == 1


class Killer(threading.Thread):
    """Kills a TaskManager as soon as the run has encoded something, before it has published."""

    def __init__(self, cluster: FlinkCluster, root: Path) -> None:
        super().__init__(daemon=True)
        self._cluster, self._root = cluster, root
        self.killed_at = 0.0

    def run(self) -> None:
        while not (self._root / "CURRENT").exists():
            if any(self._root.glob("runs/*/vectors/*")):
                self._cluster.kill_task_manager(1)
                self.killed_at = time.monotonic()
                return
            time.sleep(0.05)

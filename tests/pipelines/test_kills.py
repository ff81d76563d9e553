"""A run may die at any moment: the old version stays whole, and the next run ends where an undisturbed one would.

Runs are killed in forked children, which need not import anything again.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from mill import Mill, prose

import transforms.store.files as files_module
from pipelines.cli import main
from pipelines.ingest import IngestReport
from transforms.attempts import spent_tokens
from transforms.context import open_store
from transforms.store.faults import VARIABLE, crash_point, kind_of
from transforms.store.lease import all_runs, expired_runs
from transforms.store.verify import verify

ITEM_TOKENS = 256
SETTINGS = {
    "encoder": "hashing",
    "hashing_dimension": 256,
    "window_tokens": 10,
    "work_item_tokens": ITEM_TOKENS,
    "max_failures": "10%",
    "min_recall_at_10": 0,
    "recall_queries": 20,
}
SCRATCH = [
    "scratch",
    *(f"scratch-{name}" for name in ("changes", "reads", "records", "contents", "units", "attempts", "vectors")),
]
STORED = ["documents", "files", "rows", "failures", "contents", "snapshots", "units", "vectors", "training", "index"]
KINDS = [*SCRATCH, *STORED, "ledger", "manifest", "pointer"]
"""Every kind of write of a run that reads, encodes, indexes and publishes, in about the order of their first times."""

TIMEOUT_SECONDS = 150


class Corpus:
    """A published version, the changes that follow it, and what an undisturbed run makes of them.

    Documents are edited in whole and in part, added, deleted and broken, rows of a table change, and the index becomes
    another kind, so that files of every kind are written.
    """

    def __init__(self, base: Path) -> None:
        self.base = base
        self.before = Mill(base / "before", {**SETTINGS, "index": "flat"})
        for number in range(24):
            self._write(number, "d")
        self._write_table(12, "old")
        self.before.run()
        self.old_version = self.before.manifest().version
        for number in range(4):
            self._write(number, "e")
        for number in range(4, 6):
            self._write(number, "d", "One sentence more than before.")
        for number in range(24, 32):
            self._write(number, "d")
        self._write_table(13, "new")
        self.before.write("broken.pdf", b"this is no PDF")
        os.remove(self.before.source / "doc20.md")
        undisturbed = self.copy(base / "undisturbed")
        self.kinds: set[str] = set()
        self.report = self._watched(undisturbed.run)
        self.files = files_of(undisturbed)

    def _write(self, number: int, name: str, more: str = "") -> None:
        self.before.write(f"doc{number}.md", f"# Document {number}\n\n{prose(f'{name}{number}')}\n\n{more}\n")

    def _write_table(self, n_rows: int, word: str) -> None:
        rows = ({"id": f"r{n}", "text": f"row {n} is {word if n < 2 else 'kept'}"} for n in range(n_rows))
        self.before.write("table.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def _watched(self, run: Callable[[], IngestReport]) -> IngestReport:
        """Runs and notes which kinds of files were written."""

        def note(path: str, moment: str) -> None:
            self.kinds.add(kind_of(path))

        files_module.crash_point = note
        try:
            return run()
        finally:
            files_module.crash_point = crash_point

    def copy(self, base: Path) -> Mill:
        """The published version at another place, over the changed corpus."""
        shutil.copytree(self.before.root, base / "index")
        return Mill(base, {**SETTINGS, "index": "ivfpq", "pq_bytes": 16, "input": [f"{self.before.source}/**"]})


def files_of(mill: Mill) -> tuple[object, ...]:
    """All that a version consists of, by the hashes of its files; the bill apart, which has seconds in it."""
    manifest = mill.manifest()
    return manifest.shards, manifest.document_shards, manifest.training


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    return Corpus(tmp_path_factory.mktemp("kills"))


def start(mill: Mill, crash_at: str = "") -> int:
    """Run `corpusmill ingest` in a child process and return its pid; what it says lies in `said(pid)`."""
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        said = os.open(mill.base / f"said-{os.getpid()}", os.O_WRONLY | os.O_CREAT)
        sys.stdout = sys.stderr = os.fdopen(said, "w", buffering=1)
        os.environ[VARIABLE] = crash_at
        code = main(["ingest", "--output", mill.root, *flags(mill)])
    finally:
        os._exit(code)


def flags(mill: Mill) -> list[str]:
    settings = {"input": [f"{mill.source}/**"], **mill.settings}
    words = (
        (f"--{name.replace('_', '-')}", value if isinstance(value, list) else [value])
        for name, value in settings.items()
    )
    return [str(word) for flag, values in words for word in (flag, *values)]


def said(mill: Mill, pid: int) -> str:
    return (mill.base / f"said-{pid}").read_text()


def wait_for(pid: int) -> int:
    """The exit code of a child, negative where a signal ended it. A child that hangs is killed and fails the test."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError(f"a run did not end within {TIMEOUT_SECONDS} s")


def kill_at(mill: Mill, point: str) -> None:
    """Run until a write that must happen, and die there."""
    pid = start(mill, point)
    assert wait_for(pid) == -signal.SIGKILL, said(mill, pid)


def check_old_or_new(corpus: Corpus, mill: Mill) -> bool:
    """After a kill: what is current is whole and answers. Returns whether it is the old version."""
    assert verify(open_store(mill.root)) == []
    assert mill.finds(prose("d10", 24), "d10word3")
    return mill.manifest().version == corpus.old_version


def check_recovery(corpus: Corpus, mill: Mill, n_kills: int = 1) -> None:
    """After kills: the next run ends where an undisturbed one does, and pays for what was missing and in work."""
    store = open_store(mill.root)
    is_old = check_old_or_new(corpus, mill)
    spent = spent_tokens(file.path for file in store.list("runs")) if is_old else 0
    report = mill.run()
    assert files_of(mill) == corpus.files
    assert report.published == is_old  # though the broken document is tried again in any case
    assert all_runs(store) == []
    needed = corpus.report.tokens["encoded"] if is_old else 0
    assert report.tokens["wasted"] == spent + report.tokens["encoded"] - needed
    assert 0 <= report.tokens["wasted"] <= n_kills * ITEM_TOKENS
    if is_old:
        ledger = mill.rows("ledger")
        assert sum(row["wasted_tokens"] for row in ledger) == report.tokens["wasted"]
        assert sum(row["n_tokens"] for row in ledger if row["stage"] == "encode") == report.tokens["encoded"]


def test_these_are_all_kinds_of_writes(corpus):
    assert corpus.kinds - {"lease"} == set(KINDS)
    assert corpus.report.tokens["wasted"] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_killed_after_each_kind_of_write(corpus, tmp_path, kind):
    mill = corpus.copy(tmp_path)
    kill_at(mill, f"{kind}/after:1")
    check_recovery(corpus, mill)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_killed_before_each_kind_of_write(corpus, tmp_path, kind):
    mill = corpus.copy(tmp_path)
    kill_at(mill, f"{kind}/before:1")
    check_recovery(corpus, mill)


def test_killed_again_and_again(corpus, tmp_path):
    """Each run gets further than the one before, since it starts from what that had finished."""
    mill = corpus.copy(tmp_path)
    points = [
        "scratch-attempts/after:4",
        "scratch-vectors/before:4",
        "any/before:45",
        "manifest/before:2",
        "pointer/before:1",
    ]
    for point in points:
        kill_at(mill, point)
        assert check_old_or_new(corpus, mill)
    check_recovery(corpus, mill, n_kills=len(points))


def kill_at_random(corpus: Corpus, base: Path, seed: int) -> None:
    mill = corpus.copy(base)
    pid = start(mill)
    time.sleep(random.Random(seed).uniform(0.1, corpus.report.seconds["wall"] * 1.1))
    os.kill(pid, signal.SIGKILL)
    assert wait_for(pid) in (-signal.SIGKILL, 0)
    check_recovery(corpus, mill)


@pytest.mark.parametrize("seed", range(5))
def test_killed_at_random(corpus, tmp_path, seed):
    kill_at_random(corpus, tmp_path, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 150))
def test_killed_at_random_many_times(corpus, tmp_path, seed):
    kill_at_random(corpus, tmp_path, seed)


def race(corpus: Corpus, base: Path) -> None:
    """Two runs at once: one publishes, the other says in one line who did, and its work counts as waste."""
    mill = corpus.copy(base)
    pids = [start(mill), start(mill)]
    by_code = {wait_for(pid): said(mill, pid) for pid in pids}
    assert sorted(by_code) == [0, 1], by_code
    assert check_old_or_new(corpus, mill) is False
    assert files_of(mill) == corpus.files
    complaints = [
        line for line in by_code[1].splitlines() if not line.startswith(("reading:", "encoding:", "indexing:"))
    ]
    assert len(complaints) == 1
    assert f"version {mill.manifest().version} was published first" in complaints[0]
    check_that_the_loser_is_wasted(mill)


def check_that_the_loser_is_wasted(mill: Mill) -> None:
    store = open_store(mill.root)
    (loser,) = expired_runs(store)
    spent = spent_tokens(file.path for file in store.list(f"runs/{loser.run}"))
    report = mill.run()
    assert (report.tokens["encoded"], report.tokens["wasted"]) == (0, spent)
    assert all_runs(store) == []


def test_two_runs_at_once_have_one_winner(corpus, tmp_path):
    race(corpus, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("pair", range(20))
def test_two_runs_at_once_many_times(corpus, tmp_path, pair):
    race(corpus, tmp_path)


def test_damaged_leftovers_are_counted_and_not_trusted(corpus, tmp_path):
    mill = corpus.copy(tmp_path)
    kill_at(mill, "snapshots/before:1")
    leftovers = sorted((tmp_path / "index" / "runs").glob("*/vectors/*.arrow"))
    for number, path in enumerate(leftovers):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 255
        path.write_bytes(data if number % 2 else data[: len(data) // 2])
    report = mill.run()
    assert report.outcomes["damaged_leftovers"] == len(leftovers) > 10
    assert report.tokens["encoded"] == report.tokens["wasted"] == corpus.report.tokens["encoded"]
    assert files_of(mill) == corpus.files


def test_a_first_run_that_is_killed_leaves_nothing_that_looks_published(mill):
    for number in range(4):
        mill.write(f"doc{number}.md", prose(f"d{number}"))
    kill_at(mill_with_flags(mill), "pointer/before:1")
    assert verify(open_store(mill.root)) == []
    assert main(["search", mill.root, "d1word3"]) == 1
    report = mill.run()
    assert (report.published, report.documents["indexed"], report.tokens["encoded"]) == (True, 4, 0)
    assert mill.finds(prose("d1", 24), "d1word3")


def test_a_run_that_was_killed_when_it_had_published_wasted_nothing(mill):
    mill.write("doc.md", prose("doc"))
    kill_at(mill_with_flags(mill), "pointer/after:1")
    store = open_store(mill.root)
    assert len(expired_runs(store)) == 1
    mill.write("other.md", prose("other"))
    report = mill.run()
    assert (report.documents["indexed"], report.documents["unchanged"]) == (1, 1)
    assert (report.tokens["encoded"], report.tokens["wasted"]) == (report.tokens["cut"], 0)
    assert all_runs(store) == []


def test_waste_is_reported_where_there_is_nothing_to_publish(mill):
    path = mill.write("doc.md", prose("doc"))
    mill.run()
    stamp = path.stat().st_mtime
    mill.write("doc.md", prose("other"))
    kill_at(mill_with_flags(mill), "scratch-vectors/after:1")
    mill.write("doc.md", prose("doc"))
    os.utime(path, (stamp, stamp))
    report = mill.run()
    assert (report.published, report.tokens["encoded"]) == (False, 0)
    assert report.tokens["wasted"] > 100
    assert all_runs(open_store(mill.root)) == []


def mill_with_flags(mill: Mill) -> Mill:
    """The settings that `Mill.run` takes by itself, for a run by command."""
    mill.settings = {"encoder": "hashing", "window_tokens": 40, "hashing_dimension": 512}
    return mill

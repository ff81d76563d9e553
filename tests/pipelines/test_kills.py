"""A run may die at any moment: the old version stays whole, and the next run ends where an undisturbed one would."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest
from mill import Mill, prose

from models.errors import ConflictError
from transforms.context import open_store
from transforms.store.lease import all_runs

SETTINGS = {"work_item_tokens": 256, "accept_deletes": True}
ITEM_TOKENS = 2 * SETTINGS["work_item_tokens"]
BEFORE = ("scratch", "units", "contents", "files", "index", "manifest", "pointer")
AFTER = ("scratch", "snapshots", "vectors", "documents", "ledger", "manifest", "pointer")
POINTS = [f"{kind}/before:1" for kind in BEFORE] + [f"{kind}/after:1" for kind in AFTER] + ["scratch/after:12"]


class Corpus:
    """A published version, the edits, additions and deletes after it, and what an undisturbed run makes of them."""

    def __init__(self, base: Path) -> None:
        self.before = Mill(base / "before", dict(SETTINGS))
        for number in range(24):
            self.before.write(f"doc{number}.md", f"# Document {number}\n\n{prose(f'd{number}')}\n")
        self.before.run()
        self.old_version = self.before.manifest().version
        for number in range(6):
            self.before.write(f"doc{number}.md", f"# Document {number}\n\n{prose(f'e{number}')}\n")
        for number in range(24, 32):
            self.before.write(f"doc{number}.md", f"# Document {number}\n\n{prose(f'd{number}')}\n")
        os.remove(self.before.source / "doc20.md")
        undisturbed = self.copy(base / "undisturbed")
        self.report = undisturbed.run()
        self.files = self.files_of(undisturbed)

    def copy(self, base: Path) -> Mill:
        """The published version at another place, over the same corpus."""
        shutil.copytree(self.before.root, base / "index")
        return Mill(base, {**SETTINGS, "input": [f"{self.before.source}/**"]})

    @staticmethod
    def files_of(mill: Mill):
        manifest = mill.manifest()
        return manifest.shards, manifest.document_shards, manifest.training


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    return Corpus(tmp_path_factory.mktemp("kills"))


def start(mill: Mill, crash_at: str = "") -> int:
    """Run the ingest in a child process and return its pid. Forked, so that nothing is imported again."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        if crash_at:
            os.environ["CORPUSMILL_CRASH_AT"] = crash_at
        mill.run()
        code = 0
    except ConflictError:
        code = 7
    finally:
        os._exit(code)


def check_recovery(corpus: Corpus, mill: Mill) -> None:
    """After a kill: the old version (or the new one) answers; the next run finishes, paying for what was missing."""
    store = open_store(mill.root)
    is_old = mill.manifest().version == corpus.old_version
    assert mill.finds(prose("d10", 24), "d10word3")
    marks = [file.path for file in store.list("runs") if "/attempts/" in file.path]
    attempted = sum(int(mark.rsplit("/", 1)[1].split("-")[0]) for mark in marks)
    report = mill.run()
    assert Corpus.files_of(mill) == corpus.files
    assert report.published == is_old
    whole = corpus.report.tokens["encoded"]
    assert (
        report.tokens["encoded"] <= max(0, whole - attempted) + ITEM_TOKENS if is_old else report.tokens["encoded"] == 0
    )
    assert report.tokens["wasted"] <= ITEM_TOKENS
    assert all_runs(store) == []


@pytest.mark.parametrize("point", POINTS)
def test_kill_at_each_kind_of_write(corpus, tmp_path, point):
    mill = corpus.copy(tmp_path)
    _, status = os.waitpid(start(mill, point), 0)
    assert os.waitstatus_to_exitcode(status) in (-signal.SIGKILL, 137)
    check_recovery(corpus, mill)


def kill_at_random(corpus: Corpus, base: Path, seed: int) -> None:
    mill = corpus.copy(base)
    pid = start(mill)
    time.sleep(random.Random(seed).uniform(0.1, corpus.report.seconds["wall"] * 1.1))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    check_recovery(corpus, mill)


@pytest.mark.parametrize("seed", range(5))
def test_kill_at_random(corpus, tmp_path, seed):
    kill_at_random(corpus, tmp_path, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 150))
def test_kill_at_random_many_times(corpus, tmp_path, seed):
    kill_at_random(corpus, tmp_path, seed)


def race(corpus: Corpus, base: Path) -> None:
    mill = corpus.copy(base)
    codes = sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in [start(mill), start(mill)])
    assert codes == [0, 7]
    assert Corpus.files_of(mill) == corpus.files
    assert not mill.run().published


def test_two_runs_at_once_have_one_winner(corpus, tmp_path):
    race(corpus, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("pair", range(20))
def test_two_runs_at_once_many_times(corpus, tmp_path, pair):
    race(corpus, tmp_path)


def test_interrupted_work_is_counted_as_useful_or_wasted(corpus, tmp_path):
    mill = corpus.copy(tmp_path)
    os.waitpid(start(mill, "snapshots/before:1"), 0)
    report = mill.run()
    assert report.tokens["encoded"] == 0 and report.units["reused"] >= corpus.report.units["encoded"]
    assert report.tokens["wasted"] == 0


@pytest.mark.parametrize("damage", ["flipped", "cut short"])
def test_damaged_leftovers_are_not_trusted(corpus, tmp_path, damage):
    mill = corpus.copy(tmp_path)
    os.waitpid(start(mill, "snapshots/before:1"), 0)
    leftovers = sorted((tmp_path / "index" / "runs").glob("*/vectors/*.arrow"))
    assert leftovers
    for path in leftovers:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 255
        path.write_bytes(data if damage == "flipped" else data[: len(data) // 2])
    report = mill.run()
    assert report.outcomes["damaged_leftovers"] == len(leftovers)
    assert Corpus.files_of(mill) == corpus.files


def test_unwritable_root_is_one_line_and_leaves_nothing(mill):
    from models.errors import CorpusmillError

    mill.write("doc.md", prose("doc"))
    Path(mill.root).write_text("a file where the root should be")
    with pytest.raises(CorpusmillError) as caught:
        mill.run()
    assert "\n" not in str(caught.value)
    assert Path(mill.root).read_text() == "a file where the root should be"

"""Roots that cannot be written: one line, the old version as it was, and no half file."""

import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mill import Mill, prose

from pipelines.cli import main
from transforms.context import open_store

PROGRESS = ("reading:", "encoding:", "indexing:")


@pytest.fixture
def ingest(capsys, caplog) -> Callable[..., tuple[int, str]]:
    """`ingest(mill, below="")` runs the command and returns its exit code and all that it said, progress apart."""

    def run(mill: Mill, below: str = "") -> tuple[int, str]:
        capsys.readouterr()
        words = ["--encoder=hashing", "--window-tokens=40", "--hashing-dimension=512", "--work-item-tokens=256"]
        code = main(["ingest", "--input", f"{mill.source}/**", "--output", mill.root + below, *words])
        assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR", "CRITICAL")] == []
        lines = capsys.readouterr().err.splitlines()
        return code, "\n".join(line for line in lines if not line.startswith(PROGRESS))

    return run


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """An empty file system of 1 MiB where the mill has its root."""
    folder = tmp_path / "index"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def largest_file(n_bytes: int) -> Iterator[None]:
    """No file may grow over `n_bytes` in this process."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def fill(folder: Path, n_bytes_free: int) -> None:
    """Leave so many bytes on a small disk."""
    free = os.statvfs(folder)
    (folder / "fill").write_bytes(bytes(free.f_bavail * free.f_frsize - n_bytes_free))


def write_corpus(mill: Mill, name: str) -> None:
    for number in range(8):
        mill.write(f"doc{number}.md", f"# Document {number}\n\n{prose(f'{name}{number}')}\n")


def check_failed(mill: Mill, answer: tuple[int, str], version: str, *parts: str) -> None:
    """The run failed in one line with these parts, and nothing happened to the version before."""
    code, line = answer
    assert code == 1
    assert line.startswith("corpusmill: cannot write ") and "\n" not in line
    assert all(part in line for part in parts), line
    store = open_store(mill.root)
    assert mill.manifest().version == version
    assert store.list("", temporary=True) == []
    assert mill.finds(prose("d3", 24), "d3word3")


def test_a_write_that_fails_late_changes_nothing_and_the_next_run_goes_on(mill, ingest):
    write_corpus(mill, "d")
    assert ingest(mill)[0] == 0
    version = mill.manifest().version
    write_corpus(mill, "e")
    with largest_file(20_000):
        answer = ingest(mill)
    check_failed(mill, answer, version, "/vectors/0000-0fff/", "File too large", "ulimit -f")
    report = mill.run(work_item_tokens=256)
    assert (report.documents["indexed"], report.tokens["encoded"], report.tokens["wasted"]) == (8, 0, 0)
    assert mill.finds(prose("e3", 24), "e3word3")


def test_a_full_and_then_a_read_only_disk(small_disk, mill, ingest):
    write_corpus(mill, "d")
    assert ingest(mill)[0] == 0
    version = mill.manifest().version
    write_corpus(mill, "e")
    fill(small_disk, 64_000)
    check_failed(mill, ingest(mill), version, "No space left on device", "free space there or choose another root")
    (small_disk / "fill").unlink()
    subprocess.run(["mount", "-o", "remount,bind,ro", str(small_disk)], check=True)
    check_failed(mill, ingest(mill), version, "Read-only file system", "choose a root on a writable file system")
    subprocess.run(["mount", "-o", "remount,bind,rw", str(small_disk)], check=True)
    assert mill.run(work_item_tokens=256).documents["indexed"] == 8
    assert mill.finds(prose("e3", 24), "e3word3")


@pytest.mark.parametrize("below", ["", "/deeper"])
def test_a_file_where_the_root_should_be(mill, ingest, below):
    mill.write("doc.md", prose("doc"))
    file = Path(mill.root)
    file.write_text("something else")
    code, line = ingest(mill, below)
    assert (code, line.count("\n")) == (1, 0)
    assert "a file lies where a folder is needed" in line
    assert file.read_text() == "something else"

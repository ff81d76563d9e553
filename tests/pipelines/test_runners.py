"""The same corpus gives the same files on every runner. Prism and Flink come from a folder kept beside the checkout."""

import os
import shutil
from pathlib import Path

import pytest
from engines import IN_PROCESS, find_engine
from mill import Mill, prose

from models.errors import RefusedError
from models.fakes import HashingEncoder

RUNNERS = ("bundle_repeat", "multi_processing", "Prism", "Flink")


def engine_arguments(runner: str, shared=None) -> list[str]:
    """Beam's arguments for a runner; the test skips where the engine is missing."""
    if runner in IN_PROCESS:
        return IN_PROCESS[runner]
    if runner == "Prism":
        return ["--runner=PrismRunner", f"--prism_location={find_engine(shared('engines'), 'prism')}"]
    jar = find_engine(shared("engines"), "beam-flink-*-job-server-*.jar")
    return [
        "--runner=FlinkRunner",
        f"--flink_job_server_jar={jar}",
        "--flink_master=[local]",
        "--parallelism=2",
        "--environment_type=LOOPBACK",
    ]


class Reference:
    """Two versions of a corpus, the second one after edits, as the FnApiRunner makes them."""

    def __init__(self, base: Path, examples: Path) -> None:
        self.mill = Mill(base / "reference", {"work_item_tokens": 512, "accept_deletes": True})
        shutil.copytree(examples, self.mill.source)
        for path in sorted(self.mill.source.rglob("*")):
            if path.is_file():
                self.mill.stamp(str(path.relative_to(self.mill.source)))
        for number in range(20):
            self.mill.write(f"doc{number}.md", f"# Document {number}\n\n{prose(f'd{number}')}\n")
        self.first_report, self.first = self.mill.run(), self.files(self.mill)
        shutil.copytree(self.mill.source, base / "first")
        self.edit(self.mill)
        shutil.copytree(self.mill.source, base / "second")
        self.second_report, self.second = self.mill.run(), self.files(self.mill)
        self.states = (base / "first", base / "second")

    @staticmethod
    def edit(mill: Mill) -> None:
        mill.write("doc1.md", f"# Document 1\n\n{prose('edited')}\n")
        os.rename(mill.source / "doc2.md", mill.source / "renamed.md")
        os.remove(mill.source / "doc3.md")
        mill.write("new.txt", prose("new"))

    @staticmethod
    def files(mill: Mill):
        manifest = mill.manifest()
        return manifest.shards, manifest.document_shards, manifest.training

    def show(self, state: int) -> None:
        """Put the corpus into its first or second state, at the one place that its uris name."""
        shutil.rmtree(self.mill.source)
        shutil.copytree(self.states[state], self.mill.source)


@pytest.fixture(scope="module")
def reference(tmp_path_factory, checkout) -> Reference:
    return Reference(tmp_path_factory.mktemp("runners"), checkout / "examples" / "corpus")


def same_but_seconds(report) -> tuple:
    """All that is counted, apart from what a runner that repeats work wastes."""
    return report.documents, report.units, {**report.tokens, "wasted": 0}, report.outcomes


@pytest.mark.engine
@pytest.mark.parametrize("runner", RUNNERS)
def test_every_runner_makes_the_same_files(reference, runner, tmp_path, shared):
    arguments = engine_arguments(runner, shared)
    other = Mill(tmp_path, {**reference.mill.settings, "input": [f"{reference.mill.source}/**"]})
    reference.show(0)
    assert same_but_seconds(other.run(arguments)) == same_but_seconds(reference.first_report)
    assert Reference.files(other) == reference.first
    reference.show(1)
    assert same_but_seconds(other.run(arguments)) == same_but_seconds(reference.second_report)
    assert Reference.files(other) == reference.second


@pytest.mark.engine
@pytest.mark.parametrize("runner", ("Prism", "Flink"))
def test_a_document_of_20_megabytes(mill, runner, shared):
    arguments = engine_arguments(runner, shared)
    mill.settings = {"window_tokens": 180, "work_item_tokens": 262_144}
    mill.write("book.txt", "\n\n".join(prose(f"p{number}", 200) for number in range(8_500)))
    assert (mill.source / "book.txt").stat().st_size > 20_000_000
    report = mill.run(arguments)
    assert report.documents["indexed"] == 1 and report.documents["failed"] == 0


def test_no_large_record_crosses_a_shuffle(mill, monkeypatch):
    from transforms.records import RecordCoder

    sizes = []
    encode = RecordCoder.encode
    monkeypatch.setattr(RecordCoder, "encode", lambda self, value: sizes.append(encode(self, value)) or sizes[-1])
    mill.write("book.txt", "\n\n".join(prose(f"p{number}", 200) for number in range(2_000)))
    rows = "".join(f'{{"id": "{"long" * 50}{n}", "text": "row {n}", "tag": "{"x" * 500}"}}\n' for n in range(2_000))
    mill.write("rows.jsonl", rows)
    for number in range(300):
        mill.write(f"{'deep/' * 20}{'name' * 40}{number}.md", f"text {number} of many")
    mill.run()
    assert max(map(len, sizes)) <= 256 * 1024


def test_a_worker_that_raises_fails_the_run_in_one_line(mill, monkeypatch):
    mill.write("doc.md", prose("doc"))
    mill.run()
    version = mill.manifest().version
    mill.write("doc.md", prose("other"))
    with monkeypatch.context() as patch, pytest.raises(RefusedError, match="ZeroDivisionError") as caught:
        patch.setattr(HashingEncoder, "encode", lambda self, texts: 1 / 0)
        mill.run()
    assert "\n" not in str(caught.value) and "Traceback" not in str(caught.value)
    assert mill.manifest().version == version


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_worker_process_that_dies_fails_the_run(mill, monkeypatch):
    mill.write("doc.md", prose("doc"))
    with monkeypatch.context() as patch, pytest.raises(RefusedError, match="the run failed"):
        patch.setenv("CORPUSMILL_CRASH_AT", "units/before:1")
        mill.run(engine_arguments("multi_processing"))
    assert mill.run().documents["indexed"] == 1

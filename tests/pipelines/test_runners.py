"""The same corpus gives the same files on every runner, and a run that fails says so in one line on each of them.

Prism and Flink come from a folder kept beside the checkout, see `engines.py`. Flink's workers are threads of this
process, so these tests also show that stages stand several threads at once.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from engines import PORTABLE
from mill import Mill, prose
from obedient import answers, essay

from models.errors import RefusedError, SettingsError
from models.fake_llm import FakeEndpoint, refused
from models.fakes import HashingEncoder

RUNNERS = ["bundle_repeat", "multi_processing", *PORTABLE]

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),  # a job's end cuts its streams
]


class Reference:
    """Two versions of a corpus of mixed formats, the second one after edits, as the FnApiRunner makes them."""

    def __init__(self, base: Path, examples: Path) -> None:
        settings = {"work_item_tokens": 512, "accept_deletes": True, "max_failures": "30%"}
        self.mill = Mill(base / "reference", settings)
        self.plant(examples)
        self.first_report, self.first = self.mill.run(), published(self.mill)
        self.first_sources = shutil.copytree(self.mill.source, base / "first")
        self.edit()
        self.second_report, self.second = self.mill.run(), published(self.mill)
        self.second_sources = shutil.copytree(self.mill.source, base / "second")

    def plant(self, examples: Path) -> None:
        shutil.copytree(examples, self.mill.source)
        for path in sorted(path for path in self.mill.source.rglob("*") if path.is_file()):
            self.mill.stamp(str(path.relative_to(self.mill.source)))
        for number in range(20):
            self.mill.write(f"doc{number}.md", f"# Document {number}\n\n{prose(f'd{number}')}\n")
        self.mill.write("twin.md", (self.mill.source / "doc0.md").read_bytes())
        self.mill.write("broken.pdf", b"%PDF-1.7 nonsense")
        self.mill.write("rows.jsonl", "".join(f'{{"id": {n % 90}, "text": "row {n} of many"}}\n' for n in range(100)))

    def edit(self) -> None:
        self.mill.write("doc1.md", f"# Document 1\n\n{prose('d1').replace('d1word50', 'edited')}\n")
        self.mill.write("rows.jsonl", "".join(f'{{"id": {n}, "text": "row {n} of all"}}\n' for n in range(45, 120)))
        self.mill.write("new.txt", prose("new"))
        self.mill.write("doc4.md", b"\xff\xfe\x00\xd8" * 3)
        os.rename(self.mill.source / "doc2.md", self.mill.source / "renamed.md")
        os.remove(self.mill.source / "doc3.md")

    def show(self, sources: Path) -> None:
        """Put the corpus into one of its states, at the one place that its uris name."""
        shutil.rmtree(self.mill.source)
        shutil.copytree(sources, self.mill.source)


def published(mill: Mill) -> dict[str, object]:
    """Ids, spans and texts of all units, and every stored file but those that hold seconds."""
    manifest = mill.manifest()
    units = [(row["unit_id"], row["content_id"], row["start"], row["end"], row["text"]) for row in mill.rows("units")]
    return {
        "units": units,
        "shards": manifest.shards,
        "documents": manifest.document_shards,
        "training": manifest.training,
        "failures": manifest.failures,
    }


def counted(report) -> tuple[dict[str, int], ...]:
    """All that is counted, apart from what a runner that repeats work wastes."""
    return report.documents, report.units, {**report.tokens, "wasted": 0}, report.outcomes


@pytest.fixture(scope="module")
def reference(tmp_path_factory, checkout) -> Reference:
    return Reference(tmp_path_factory.mktemp("runners"), checkout / "examples" / "corpus")


def test_the_reference_has_something_of_everything(reference):
    first, second = reference.first_report, reference.second_report
    assert first.documents["failed"] == 11 and first.documents["indexed"] > 100
    assert min(second.documents[name] for name in ("indexed", "unchanged", "failed", "deleted", "stale")) > 0
    assert min(second.units[name] for name in ("encoded", "reused", "removed")) > 0


@pytest.mark.parametrize("runner", RUNNERS)
def test_every_runner_makes_the_same_files(reference, runner, tmp_path, on):
    arguments = on(runner)
    other = Mill(tmp_path, {**reference.mill.settings, "input": [f"{reference.mill.source}/**"]})
    reference.show(reference.first_sources)
    assert counted(other.run(arguments)) == counted(reference.first_report)
    assert published(other) == reference.first
    reference.show(reference.second_sources)
    assert counted(other.run(arguments)) == counted(reference.second_report)
    assert published(other) == reference.second


ASKING = {
    "boundaries": {"chunker": "llm"},
    "summaries, then propositions": {"chunker": "pic", "pic_min_chars": 200, "rewrite": "propositions"},
}
PRICES = {"work_item_tokens": 128, "usd_per_million_prompt_tokens": 1000, "llm_revision": "1"}
NAMES = ("Harrow", "Marlow", "Yarrow", "Barrow", "Farrow", "Garrow", "Jarrow", "Tarrow", "Warrow", "Zarrow")


class Asked:
    """What the FnApiRunner makes of a corpus that a model cuts or rewrites, one prompt of which is refused."""

    def __init__(self, base: Path, endpoint: FakeEndpoint, way: str) -> None:
        self.endpoint = endpoint
        self.settings = {**ASKING[way], **PRICES, "llm_url": endpoint.url}
        self.mill = Mill(base, self.settings)
        for name in NAMES:
            self.mill.write(f"{name}.txt", essay(name))
        self.mill.write("twin.txt", essay(NAMES[0]))
        self.mill.write("short.txt", essay("Short", 1))
        self.report, self.n_requests, self.files = self.run(self.mill)
        self.n_refused = sum(is_refused(prompt) for prompt in endpoint.prompts[-self.n_requests :])

    def run(self, mill: Mill, arguments: list[str] | None = None):
        n_before = self.endpoint.n_requests
        report = mill.run(arguments)
        return report, self.endpoint.n_requests - n_before, published(mill)


def is_refused(prompt):
    return "Marlow cats" in prompt.text


def answers_but_one(prompt):
    return refused(400) if is_refused(prompt) else answers(prompt)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    made: dict[str, Asked] = {}
    with FakeEndpoint(answers_but_one) as endpoint:
        yield lambda way: made.get(way) or made.setdefault(way, Asked(tmp_path_factory.mktemp("asked"), endpoint, way))


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("way", ASKING)
def test_every_runner_makes_the_same_of_a_models_answers(asked, way, runner, tmp_path, on):
    arguments, reference = on(runner), asked(way)
    assert reference.report.documents["indexed"] == len(NAMES) + 2
    assert reference.n_requests >= len(NAMES) and reference.n_refused > 0
    other = Mill(tmp_path, {**reference.settings, "input": [f"{reference.mill.source}/**"]})
    report, n_requests, files = reference.run(other, arguments)
    assert files == reference.files
    assert counted(report) == counted(reference.report)
    assert n_requests == reference.n_requests + reference.n_refused * (runner == "bundle_repeat")  # not stored
    sums = ("answers", "retries", "usd")
    assert [report.llm[name] for name in sums] == [reference.report.llm[name] for name in sums]


@pytest.mark.parametrize("runner", PORTABLE)
def test_a_document_of_20_megabytes(mill, runner, on):
    arguments = on(runner)
    mill.settings = {"window_tokens": 180, "work_item_tokens": 262_144, "hashing_dimension": 64, "recall_queries": 20}
    mill.write("book.txt", book(20_000_000))
    report = mill.run(arguments)
    assert report.documents["indexed"] == 1 and report.documents["failed"] == 0


def book(n_bytes: int) -> str:
    """Text of at least `n_bytes` whose paragraphs differ; few long words, since words are what costs time here."""
    words = "extraordinarily " * 100
    return "\n\n".join(f"{number} {words}" for number in range(n_bytes // len(words) + 1))


@pytest.mark.parametrize("runner", ["FnApiRunner", "multi_processing", *PORTABLE])
def test_a_worker_that_raises_fails_the_run_in_one_line(mill, runner, on, monkeypatch, tmp_path):
    arguments = on(runner)
    mill.write("doc.md", prose("doc"))
    mill.run()
    version = mill.manifest().version
    mill.write("doc.md", prose("other"))
    with monkeypatch.context() as patch, pytest.raises(RefusedError) as caught:
        break_encoder(patch, tmp_path / "broken")
        mill.run(arguments)
    line = "the run failed: RuntimeError: the device fell off the bus; the old version is still current. "
    assert str(caught.value).startswith(line)
    assert mill.manifest().version == version
    assert mill.finds("docword3 docword4", "docword3")


def break_encoder(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let the encoder raise in this process, and in worker processes, which import a module `sitecustomize` first."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "from models.fakes import HashingEncoder\n"
        "def broken(self, texts):\n"
        "    raise RuntimeError('the device fell off the bus')\n"
        "HashingEncoder.encode = broken\n"
    )
    patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ["PYTHONPATH"]]))

    def broken(self, texts):
        raise RuntimeError("the device fell off the bus")

    patch.setattr(HashingEncoder, "encode", broken)


def test_a_worker_process_that_dies_fails_the_run(mill, on, monkeypatch):
    mill.write("doc.md", prose("doc"))
    with monkeypatch.context() as patch, pytest.raises(RefusedError, match="the run failed") as caught:
        patch.setenv("CORPUSMILL_CRASH_AT", "units/before:1")
        mill.run(on("multi_processing"))
    assert "\n" not in str(caught.value)
    assert mill.run().documents["indexed"] == 1


def test_multi_threading_is_refused_before_anything_starts(mill):
    mill.write("doc.md", prose("doc"))
    with pytest.raises(SettingsError, match=r"multi_threading.*lose rows.*use multi_processing"):
        mill.run(["--direct_running_mode=multi_threading"])
    assert not Path(mill.root).exists()


def test_workers_of_other_stages_than_the_encoder_import_no_heavy_library(checkout):
    program = "import sys, transforms.stages; print(sorted({'torch', 'faiss', 'transformers'} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", program], cwd=checkout, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"

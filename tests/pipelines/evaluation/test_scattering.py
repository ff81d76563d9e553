"""Evaluations and audits as pipelines are those of one process, number for number."""

import json
import pickle
from pathlib import Path

import pytest
from engines import IN_PROCESS, PORTABLE
from mill import Mill, prose

from models.errors import SettingsError
from pipelines import cli
from pipelines.evaluation import evaluate, measuring, scattering
from pipelines.evaluation.measuring import QUESTIONS_AT_ONCE

RUNNER = ["--runner=FnApiRunner"]

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # as in test_runners


@pytest.fixture
def questions(mill, tmp_path):
    """Eleven questions, one of them about a document that is not there; the mill has not turned."""
    rows = []
    for number in range(10):
        text = prose(f"d{number}")
        mill.write(f"d{number}.md", f"# Document {number}\n\n{text}\n\nFact {number} stands at the end of it.\n")
        quote = f"Fact {number} stands at the end of it."
        rows.append({"question": f"What is fact {number}?", "references": [{"uri": f"d{number}.md", "quote": quote}]})
    rows.append({"question": "Who?", "references": [{"uri": "gone.md", "quote": "nobody"}]})
    path = tmp_path / "questions.jsonl"
    path.write_text("\n\n".join(map(json.dumps, rows)) + "\n")
    return str(path)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(measuring, "QUESTIONS_AT_ONCE", 4)
    monkeypatch.setattr(scattering, "QUESTIONS_AT_ONCE", 4)


@pytest.mark.parametrize(
    "settings", [{}, {"index": "ivfpq", "min_recall_at_10": 0.0, "nprobe": 2}, {"shard_chars": 400}]
)
def test_a_pipeline_measures_what_one_process_does(mill, questions, small_blocks, settings):
    mill.run(**{"window_tokens": 12, **settings})
    asked = {"k": 3, "budget_tokens": 40, "max_lost_share": 0.2}
    here = evaluate(questions, root=mill.root, **asked)
    there = evaluate(questions, root=mill.root, beam_args=RUNNER, **asked)
    assert here.n_questions == 10 and there.to_json() == here.to_json()


def test_two_roots_in_many_shards_and_processes(mill, questions, small_blocks, tmp_path):
    mill.run(window_tokens=12, shard_chars=300)
    other = Mill(tmp_path / "other", {"window_tokens": 20})
    for path in mill.source.iterdir():
        other.write(path.name, path.read_text())
    other.run()
    asked = {"k": 2, "budget_tokens": 30, "max_lost_share": 0.2, "against": other.root}
    here = evaluate(questions, root=mill.root, **asked).to_json()
    flags = [*IN_PROCESS["multi_processing"], f"--temp_location={tmp_path}/passing"]
    assert evaluate(questions, root=mill.root, beam_args=flags, **asked).to_json() == here
    assert not list((tmp_path / "passing").rglob("part-*"))


@pytest.mark.parametrize("runner", PORTABLE)
def test_every_runner_measures_the_same(mill, questions, on, runner, tmp_path):
    """Two roots of many shards, and in more than one block; workers are other processes, or threads of this one."""
    arguments = on(runner)
    mill.run(window_tokens=12, shard_chars=2000)
    other = Mill(tmp_path / "other", {"window_tokens": 20, "input": [f"{mill.source}/**"]})
    other.run()
    copies = Path(questions).read_text() * 60
    Path(questions).write_text(copies)
    asked = {"k": 3, "budget_tokens": 40, "max_lost_share": 0.2, "against": other.root}
    here = evaluate(questions, root=mill.root, **asked).to_json()
    assert len(here["per_question"]) == 600 > QUESTIONS_AT_ONCE
    assert evaluate(questions, root=mill.root, beam_args=arguments, **asked).to_json() == here


@pytest.mark.parametrize("runner", PORTABLE)
def test_every_runner_audits_the_same(mill, on, runner, capsys):
    arguments = on(runner)
    write_mixed(mill)
    words = ["--input", mill.source, *LIMIT]
    code, here = audited(capsys, *words)
    assert code == 0 and audited(capsys, *words, *arguments)[1].out == here.out
    mill.run(window_tokens=20, shard_chars=500, max_failures="20%")
    code, here = audited(capsys, "--root", mill.root)
    assert code == 0 and audited(capsys, "--root", mill.root, *arguments)[1].out == here.out


def test_no_vectors_go_through_a_shuffle(mill, questions, monkeypatch):
    """All blocks of a shard share a key, and so do all shards of a block."""
    mill.run(window_tokens=12, shard_chars=600)
    monkeypatch.setattr(scattering, "QUESTIONS_AT_ONCE", 11)
    Path(questions).write_text(Path(questions).read_text() * 40)
    sizes = recorded_sizes(monkeypatch)
    evaluate(questions, root=mill.root, k=20, budget_tokens=400, max_lost_share=0.2, beam_args=RUNNER)
    assert len(sizes) > 40 and max(sizes) < 1000


def recorded_sizes(monkeypatch):
    sizes = []
    for name in ("_Encode", "_Search"):
        step = getattr(scattering, name)

        def process(self, element, process=step.process):
            for keyed in process(self, element):
                sizes.append(len(pickle.dumps(keyed)))
                yield keyed

        monkeypatch.setattr(step, "process", process)
    return sizes


def test_policies_are_measured_in_memory(mill, questions):
    with pytest.raises(SettingsError, match="leave out Beam's flags"):
        evaluate(
            questions, input=f"{mill.source}/**", max_lost_share=0.2, beam_args=RUNNER,
            overrides={"encoder": "hashing"},
        )  # fmt: skip


def test_as_a_command(mill, questions, capsys):
    mill.run()
    words = ["evaluate", "--root", mill.root, "--questions", questions, "--max-lost-share", "0.2", "--json"]
    assert cli.main(words) == 0
    here = capsys.readouterr().out
    assert cli.main([*words, *RUNNER]) == 0
    assert capsys.readouterr().out == here
    assert cli.main([*words, "--runer=x"]) == 2


def audited(capsys, *words):
    code = cli.main(["audit", "--json", *map(str, words)])
    return code, capsys.readouterr()


LIMIT = ["--encoder", "hashing", "--max-input-tokens", 64]


def write_mixed(mill):
    for number in range(3):
        mill.write(f"part{number % 2}/d{number}.txt", prose(f"d{number}") * (1 + 20 * number))
    rows = [{"id": n, "text": "word " * (40 * n), "of": f"book{n % 2}"} for n in range(1, 9)]
    mill.write("chunks.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    mill.write("empty.txt", " ")
    mill.write("broken.pdf", b"no pdf")


def test_audits_of_a_corpus_and_of_a_root_are_those_of_one_process(mill, capsys):
    write_mixed(mill)
    for words in (["--input", mill.source], ["--input", mill.source / "chunks.jsonl", "--document-column", "of"]):
        code, here = audited(capsys, *words, *LIMIT)
        assert code == 0 and audited(capsys, *words, *LIMIT, *RUNNER)[1].out == here.out
        assert json.loads(here.out)["total"]["n_over_limit"] > 0
    mill.run(window_tokens=20, shard_chars=500, max_failures="20%")
    code, here = audited(capsys, "--root", mill.root)
    assert code == 0 and audited(capsys, "--root", mill.root, *RUNNER)[1].out == here.out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--input", "{source}", "--questions", "q.jsonl"], "--questions"),
        (["--input", "{source}", "--document-column", "of"], "no column 'of'"),
        (["--input", "{source}/nothing/*"], "no document with text"),
    ],
)
def test_a_mistake_is_one_line(mill, capsys, words, part):
    mill.write("a.txt", "some words")
    chosen = [word.replace("{source}", str(mill.source)) for word in words]
    code, said = audited(capsys, *chosen, "--encoder", "hashing", *RUNNER)
    assert code == 2 and part in said.err and said.err.count("\n") == 1

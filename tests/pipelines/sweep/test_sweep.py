import csv
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from models.errors import SettingsError
from pipelines import cli
from pipelines.config import load_settings
from pipelines.evaluation import evaluate
from pipelines.evaluation.encoding import VectorMemo
from pipelines.sweep import SweepRequest, sweep
from pipelines.sweep import work as work_room

SETTINGS = {"encoder": "hashing", "hashing_dimension": "512", "max_input_tokens": "40", "chunker": "fixed"}
LONG, SMALL, SIZES = 160, 30, (20, 80, 160, 1000)
RANGES = [("much", "C - A", 0.05, 1.0), ("little", "C - A", -0.05, 0.05), ("diluted", "B - C", 0.0, 1.0)]


def fact(document, number):
    return f"Fact {number} of d{document} says topic{document}x{number} is value{number}y{document} beyond doubt."


@pytest.fixture
def corpus(tmp_path):
    """Four documents of forty sentences, which the short encoder cannot read, and twelve of one, which it can."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for document in range(16):
        n_facts = 40 if document < 4 else 1
        (folder / f"d{document}.txt").write_text(" ".join(fact(document, n) for n in range(n_facts)))
    return folder


@pytest.fixture
def questions(tmp_path):
    rows = [(d, n) for d in range(4) for n in range(0, 40, 4)] + [(d, 0) for d in range(4, 16)]
    file = tmp_path / "questions.jsonl"
    lines = (
        {"question": f"What is topic{d}x{n}?", "references": [{"uri": f"d{d}.txt", "quote": fact(d, n)}]}
        for d, n in rows
    )
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


@pytest.fixture
def expect(tmp_path):
    """Writes a file of hypotheses from (name, quantity, low, high)."""

    def write(*ranges, name="expected.toml", more=""):
        parts = [
            f'[[hypothesis]]\nname = "{n}"\nquantity = "{quantity}"\nlow = {low}\nhigh = {high}\n{more}'
            for n, quantity, low, high in ranges
        ]
        (tmp_path / name).write_text("\n".join(parts))
        return tmp_path / name

    return write


@pytest.fixture
def run(corpus, questions, expect, tmp_path):
    def start(settings=None, **request):
        chosen = load_settings(None, {**SETTINGS, "input": [str(corpus)], **(settings or {})})
        given = {
            "questions": questions,
            "hypotheses": expect(*RANGES),
            "work": tmp_path / "work",
            "long_max_input_tokens": LONG,
            "small_tokens": SMALL,
            "sizes": SIZES,
            "k": 2,
            "budget_tokens": 200,
            "n_resamples": 200,
        }
        return sweep(chosen, SweepRequest(**given | request))

    return start


def test_truncation_is_found_where_the_short_encoder_reads_a_quarter(run):
    found = run().findings
    difference = found.differences["long"]["C - A"]["within_budget"]["recall"].estimate
    assert difference.low > 0.2
    assert found.is_valid is True and found.n_questions == {"all": 52, "long": 40, "control": 12}
    assert [(verdict.quantity, verdict.hit) for verdict in found.verdicts] == [
        ("C - A", "much"),
        ("B - C", "diluted" if found.verdicts[1].estimate.mean >= 0 else None),
    ]


def test_the_parts_add_up_question_by_question(run):
    for quantities in run().findings.differences.values():
        for cut in ("at_matched_k", "within_budget"):
            for metric in ("recall", "iou"):
                c_a, b_c, b_a = (quantities[name][cut][metric].estimate.mean for name in ("C - A", "B - C", "B - A"))
                assert c_a + b_c == pytest.approx(b_a)


def test_an_arm_is_what_evaluate_measures(run, corpus, questions, tmp_path):
    """Arm C, and the curve at its size, against a policy with the long encoder."""
    found = run().findings
    policy = tmp_path / "long.toml"
    policy.write_text(
        '[encoder]\nencoder = "hashing"\nhashing_dimension = 512\nmax_input_tokens = 160\n'
        '[chunking]\nchunker = "fixed"\nwindow_tokens = 160\n'
    )
    means = evaluate(str(questions), input=str(corpus), policy=policy, k=2, budget_tokens=200).means("within_budget")
    for arm in (found.arms[2], next(arm for arm in found.curve if arm.plan.name == "160 long")):
        assert {name: e.mean for name, e in arm.estimates["all"]["within_budget"].items()} == pytest.approx(means)


def test_a_and_c_are_the_same_spans_and_each_text_is_encoded_once(run, monkeypatch):
    seen = []
    encode = VectorMemo._encode

    def counting(self, texts):
        seen.extend((self._stage, text) for text in texts)
        encode(self, texts)

    monkeypatch.setattr(VectorMemo, "_encode", counting)
    report = run()
    a, b, c = report.findings.arms
    assert (a.n_units, a.unit_tokens) == (c.n_units, c.unit_tokens) and b.n_units > a.n_units
    assert len(seen) == len(set(seen)) == sum(one.n_encoded for one in report.encoding.values()) < report.n_units


def test_a_second_run_encodes_nothing_and_says_the_same(run, tmp_path):
    first, again = run().to_json(), run().to_json()
    assert [one.pop("texts_kept") for one in again["encoders"].values()] == [
        one.pop("texts_encoded") for one in first["encoders"].values()
    ]
    for report in (first, again):
        for one in report["encoders"].values():
            one.pop("texts_kept", None), one.pop("texts_encoded", None)
    assert first == again


def test_an_interrupted_run_keeps_what_it_had(run, monkeypatch):
    monkeypatch.setattr("pipelines.evaluation.encoding.TEXTS_AT_ONCE", 16)
    keep, blocks = work_room.VectorFiles.keep, []

    def stop_at_the_third(self, block):
        if len(blocks) == 2:
            raise KeyboardInterrupt
        blocks.append(block)
        keep(self, block)

    monkeypatch.setattr(work_room.VectorFiles, "keep", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        run()
    monkeypatch.setattr(work_room.VectorFiles, "keep", keep)
    assert run().encoding["short"].n_kept == 32


def test_a_damaged_file_of_vectors_is_made_again(run, tmp_path, capsys):
    first = run().findings
    file = next((tmp_path / "work").glob("vectors/*/*.arrow"))
    file.write_bytes(file.read_bytes()[:-9] + b"x" * 9)
    again = run()
    assert "1 files of vectors" in capsys.readouterr().err
    assert again.findings.differences == first.differences
    assert sum(one.n_encoded for one in again.encoding.values()) > 0


@pytest.mark.parametrize("change", ["hypotheses", "questions", "documents", "cuts", "arms", "encoders"])
def test_what_was_set_down_is_not_changed_afterwards(run, expect, questions, corpus, change):
    run()
    given = {}
    if change == "hypotheses":
        given = {"hypotheses": expect(("other", "C - A", 0.3, 0.4), name="other.toml")}
    elif change == "questions":
        questions.write_text("\n" + questions.read_text())
    elif change == "documents":
        (corpus / "new.txt").write_text("One more.")
    else:
        given = {"cuts": {"k": 3}, "arms": {"small_tokens": 20}, "encoders": {"settings": {"batch_tokens": "999"}}}[
            change
        ]
    with pytest.raises(SettingsError, match=rf"record.json was written .* with other {change}; .* another --work"):
        run(**given)


def test_nothing_is_cut_off(run, tmp_path):
    for file in (tmp_path / "corpus").glob("d[0-3].txt"):
        file.write_text(file.read_text().split(". ")[0])
    lines = (tmp_path / "questions.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "questions.jsonl").write_text("".join(lines[40:]))
    with pytest.raises(SettingsError, match=r"0 of 16 big chunks over the 40 tokens .* wrong experiment; .* --force"):
        run()
    assert not (tmp_path / "work").exists()
    assert run(force=True).to_json()["audit"]["forced"]


def test_an_attribution_without_a_control_is_not_called_valid(run, tmp_path):
    lines = (tmp_path / "questions.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "questions.jsonl").write_text("".join(lines[:45]))
    assert run().findings.is_valid is None


def test_a_sample_has_every_document_that_answers(run, corpus):
    for number in range(40):
        (corpus / f"other{number}.txt").write_text(fact(100 + number, 0))
    report = run(sample_documents=20)
    assert report.n_documents == (20, 56) and report.is_sample and not report.asked.left_out
    with pytest.raises(SettingsError, match=r"sample of 15 documents has no room for the 16 that answer"):
        run(sample_documents=15)


@pytest.mark.parametrize(
    ("request_", "settings", "part"),
    [
        ({"long_max_input_tokens": 40}, {}, "the long encoder reads 40 tokens and the short one 40"),
        ({"big_tokens": 40}, {}, "big_tokens = 40 must be above the 40"),
        ({"big_tokens": 161}, {}, "at most the 160"),
        ({"small_tokens": 41}, {}, "arm B must be read whole"),
        ({"k": 0}, {}, "k = 0"),
        ({"overlap_share": 1.0}, {}, "overlap_share = 1.0"),
        ({}, {"window_tokens": "30"}, "window_tokens = 30 and overlap_tokens = 0 are what a sweep varies"),
        ({}, {"budget_tokenizer": "tiktoken:cl100k_base", "window_tokens": "30"}, "counts in the encoder's tokens"),
        ({"questions": "nowhere.jsonl"}, {}, "cannot be read"),
        ({"hypotheses": "nowhere.toml"}, {}, "cannot be read"),
    ],
)
def test_mistakes_are_said_in_one_line_before_anything_is_written(run, tmp_path, request_, settings, part):
    with pytest.raises(SettingsError) as error:
        run(settings, **request_)
    assert part in str(error.value) and "\n" not in str(error.value) and not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("ranges", "more", "part"),
    [
        ([], "", "no hypothesis"),
        ([("a", "C - A", 0.0, 0.2), ("b", "C - A", 0.1, 0.3)], "", "'a' and 'b' overlap"),
        ([("a", "C - B", 0.0, 0.2)], "", "must be one of C - A, B - C, B - A"),
        ([("a", "C - A", 0.2, 0.0)], "", "must be below"),
        ([("a", "C - A", 0.0, 0.2)], 'metric = "bleu"\n', "metric = 'bleu' must be one of recall"),
        ([("a", "C - A", 0.0, 0.2)], "best = 3\n", "best"),
    ],
)
def test_hypotheses_that_cannot_be_judged(run, expect, ranges, more, part):
    with pytest.raises(SettingsError, match=part):
        run(hypotheses=expect(*ranges, more=more, name="bad.toml"))


def test_questions_that_an_encoder_does_not_read_whole(run, tmp_path):
    file = tmp_path / "questions.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows[0]["question"] = "word " * 41
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(SettingsError, match="1 questions are longer than the short encoder reads"):
        run()


@pytest.fixture
def command(corpus, questions, expect, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    expect(*RANGES)

    def start(*flags):
        sizes = ["--small-tokens", "30", "--long-max-input-tokens", "160", "--sizes", *map(str, SIZES)]
        settings = ["--encoder", "hashing", "--hashing-dimension", "512", "--max-input-tokens", "40"]
        files = ["--input", "corpus", "--questions", "questions.jsonl", "--hypotheses", "expected.toml", "--work", "w"]
        code = cli.main(["sweep", *files, *settings, *sizes, "--budget-tokens", "200", *flags])
        return code, capsys.readouterr()

    return start


def test_as_a_command(command, checkout):
    code, captured = command("--json")
    answer = json.loads(captured.out)
    section = (checkout / "docs" / "json.md").read_text().split("## corpusmill sweep\n")[1].split("\n## ")[0]
    assert code == 0 and all(f"`{key}`" in section for key in [*answer, *answer["arms"][0]])
    assert answer == json.loads(Path("w/sweep.json").read_text())
    rows = list(csv.DictReader(Path("w/sweep.csv").read_text().splitlines()))
    assert {row["arm"] for row in rows} >= {"A", "B", "C", "20 short", "160 long"}
    assert float(rows[0]["mean"]) == answer["arms"][0]["means"]["all"]["at_k"]["recall"]["mean"]
    ElementTree.parse("w/sweep.svg")
    assert "texts" in captured.err and answer["sizes_left_out"] == [1000]


def test_the_tables_fit_80_columns(command):
    code, captured = command()
    assert code == 0 and max(map(len, captured.out.splitlines())) <= 80
    assert "C - A" in captured.out and "hit: much" in captured.out and "valid:" in captured.out


def test_a_mistake_is_one_line_and_exit_code_2(command):
    code, captured = command("--small-tokens", "50")
    assert code == 2 and captured.out == "" and captured.err.count("\n") == 1

"""Calibration as a command: what it says, what it writes, and what it refuses."""

import json

import pytest

from pipelines import cli
from pipelines.config import load_settings

CATS = [f"The cat number {n} slept on the warm window sill beside the cat food." for n in range(6)]
BANKS = [f"The central bank raised interest rates by {n} points and markets fell." for n in range(6)]
TREES = [f"The old oak tree number {n} lost its leaves in the autumn forest." for n in range(6)]


@pytest.fixture
def folder(tmp_path):
    texts = tmp_path / "texts" / "deep"
    texts.mkdir(parents=True)
    for number, sections in enumerate([(CATS, BANKS), (BANKS, TREES, CATS), (TREES, CATS)]):
        lines = [line for section in sections for line in ("========,1,title.", *section)]
        (texts / f"{number}.txt").write_text("\n".join(lines) + "\n")
    (texts / "readme.md").write_text("# No marks\n\nOnly text here. And more.\n")
    (texts / "bytes.bin").write_bytes(b"\xff\xfe\x00\xd8")
    return tmp_path / "texts"


def run(capsys, *words):
    code = cli.main(["calibrate", *map(str, words), "--encoder", "hashing", "--hashing-dimension", "512"])
    return code, capsys.readouterr()


def test_texts_that_part_clearly_are_told_apart(folder, capsys, checkout):
    code, captured = run(capsys, folder, "--json")
    answer = json.loads(captured.out)
    assert code == 0 and (answer["n_texts"], answer["n_skipped"]) == (3, 2)
    assert (answer["n_gaps"], answer["n_boundaries"]) == (11 + 17 + 11, 1 + 2 + 1)
    assert answer["separation"]["delta"] > 3
    best = next(row for row in answer["thresholds"] if row["percentile"] == 90.0)
    assert best["recall"] == 1.0 and best["model_recall"] > 0.5
    section = (checkout / "docs" / "json.md").read_text().split("## corpusmill calibrate\n")[1]
    assert all(f"`{key}`" in section for key in answer)
    assert all(f"`thresholds[].{key}`" in section for key in answer["thresholds"][0])
    assert all(f"`overlap.{key}`" in section for key in answer["overlap"])


def test_a_person_reads_a_table_of_80_columns(folder, capsys):
    code, captured = run(capsys, folder)
    assert code == 0 and "Delta" in captured.out and "for the same money" in captured.out
    assert max(map(len, captured.out.splitlines()[:16])) <= 80


def test_what_is_chosen_is_written_and_can_be_used(folder, capsys, tmp_path):
    code, captured = run(capsys, folder, "--write", tmp_path / "cuts.toml", "--neighbour-sentences", "2", "--json")
    answer = json.loads(captured.out)
    assert code == 0 and answer["settings_file"] == str(tmp_path / "cuts.toml")
    settings = load_settings(tmp_path / "cuts.toml")
    assert (settings.chunking.chunker, settings.semantic.neighbour_sentences) == ("semantic", 2)
    assert settings.semantic.threshold_percentile == answer["chosen"]["threshold_percentile"]
    assert settings.semantic.min_distance == answer["chosen"]["min_distance"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("nowhere",), "is no folder"),
        ((".",), "holds no text with two sections"),
        ((".", "--write", "a.yaml"), "must end in .toml"),
        ((".", "--write", "taken.toml"), "exists"),
        ((".", "--write", "no/folder.toml"), "make it first"),
        ((".", "--span-tokens", "0"), "above 0"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, monkeypatch, capsys, words, part):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken.toml").write_text("")
    code, captured = run(capsys, *words)
    assert code == 2 and captured.out == "" and captured.err.count("\n") == 1 and part in captured.err

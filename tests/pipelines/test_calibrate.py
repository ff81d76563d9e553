"""Calibration as a command: what it says, what it writes, and what it refuses."""

import json

import pytest

from models.fake_llm import FakeEndpoint
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


def test_the_spread_guard_is_fitted_to_similarities_and_written(folder, capsys, tmp_path, checkout):
    alike = [text if number % 2 else text.replace("slept", "sat and slept") for number, text in enumerate(CATS)]
    (folder / "one.txt").write_text("\n".join(["========,1,all of one kind.", *alike]) + "\n")
    with FakeEndpoint(lambda prompt: "The cat slept on the sill beside the food.") as endpoint:
        flags = ["--llm-url", endpoint.url, "--llm-revision", "1", "--pic-min-chars", "9", "--chunker", "pic"]
        flags += ["--pic-min-sentences", "3"]
        code, captured = run(capsys, folder, *flags, "--write", tmp_path / "cuts.toml", "--json")
        assert endpoint.n_requests == 4
    answer = json.loads(captured.out)
    guard = answer["spread_guard"]
    assert code == 0 and (guard["n_texts"], guard["n_skipped"], guard["anchor"]) == (4, 0, "summary")
    assert guard["chosen"]["pk"] <= min(row["pk"] for row in guard["rows"])
    # The text of one section is the one that had better not be cut.
    assert guard["chosen"]["one_run_share"] == 0.25 and guard["chosen"]["pk"] < guard["rows"][0]["pk"]
    settings = load_settings(tmp_path / "cuts.toml")
    assert (settings.chunking.chunker, settings.pic.pic_min_spread) == ("pic", guard["chosen"]["min_spread"])
    assert answer["chosen"]["pic_min_spread"] == settings.pic.pic_min_spread
    section = (checkout / "docs" / "json.md").read_text().split("## corpusmill calibrate\n")[1]
    assert all(f"`spread_guard.{key}`" in section for key in guard)


def test_a_person_sees_the_guard_or_why_there_is_none(folder, capsys):
    code, captured = run(capsys, folder, "--pic-anchor", "centroid", "--pic-min-chars", "100")
    assert code == 0 and "by similarity to the centroid of 3 texts" in captured.out and "one run" in captured.out
    code, captured = run(capsys, folder)
    assert code == 0 and "no model is named to write summaries" in captured.out
    code, captured = run(capsys, folder, "--pic-anchor", "centroid")
    assert code == 0 and "no text is large enough for it; lower --pic-min-chars" in captured.out


def test_few_boundaries_are_said_to_tell_little(folder, capsys):
    code, captured = run(capsys, folder)
    assert code == 0 and "3 texts, 39 gaps, 4 boundaries" in captured.out and "mark 30 or more" in captured.out
    lines = ["One cat sat.", "One cat slept."]
    sections = "\n".join("\n".join(["========,1,x.", *lines]) for _ in range(31))
    (folder / "long.txt").write_text(sections + "\n")
    assert "mark 30 or more" not in run(capsys, folder)[1].out


def test_the_written_file_names_its_encoder(folder, capsys, tmp_path):
    assert run(capsys, folder, "--write", tmp_path / "cuts.toml")[0] == 0
    assert "# Chosen for distances by encoder 'hashing' (Pk 0." in (tmp_path / "cuts.toml").read_text()


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

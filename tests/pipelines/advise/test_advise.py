import json

import pytest

from models.errors import SettingsError
from pipelines import cli
from pipelines.advise import advise, measuring
from pipelines.config import load_settings
from pipelines.evaluation import evaluate
from transforms.planning import advice
from transforms.planning.geometry import pooled_score

HASHING = {"encoder": "hashing", "hashing_dimension": "512"}


def prose(topic, n):
    return " ".join(f"The {topic} number {i} of the {topic} house is kept for {i} days and nights." for i in range(n))


@pytest.fixture
def corpus(tmp_path):
    """Two plain texts of two topics each, parted by a blank line, and one in Markdown."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.txt").write_text(f"{prose('film', 30)}\n\n{prose('boat', 30)}")
    (folder / "b.txt").write_text(f"{prose('tool', 30)}\n\n{prose('river', 30)}")
    (folder / "c.md").write_text(
        f"# One\n\n{prose('record', 4)}\n\n# Two\n\n{prose('meadow', 4)}\n\n# Three\n\n{prose('lamp', 4)}\n"
    )
    (folder / "copy.txt").write_text((folder / "a.txt").read_text())
    return folder


@pytest.fixture
def questions(tmp_path):
    quotes = [("a.txt", "The film number 3 of the film house is kept for 3 days and nights.")]
    quotes += [("b.txt", f"The tool number {n} of the tool house is kept for {n} days and nights.") for n in range(9)]
    file = tmp_path / "q.jsonl"
    rows = ({"question": "For how long?", "references": [{"uri": uri, "quote": quote}]} for uri, quote in quotes)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def ask(corpus):
    def run(*arguments, **changes):
        return advise(load_settings(None, {**HASHING, **changes}), [f"{corpus}/*"], *arguments)

    return run


def test_what_is_measured(ask, questions):
    report = ask(questions)
    assert len(report.documents.n_tokens) == 3 and report.documents.has_markup.sum() == 1
    assert len(report.sentences.lengths) == 60 + 60 + 15
    assert report.traits.answer_tokens == 16 and report.answers.fates == {"found": 10}
    assert 0 < report.traits.rho < 1 and report.traits.long_unmarked_share > 0.8
    sections = report.sentences.by_section.separation()
    assert sections.prevalence == pytest.approx(2 / 14)
    assert report.sentences.by_paragraph.separation().delta > 1


def test_the_settings_file_does_what_the_report_says(ask, corpus, questions, tmp_path):
    file = tmp_path / "advised.toml"
    report = ask(questions, str(file))
    settings = load_settings(file)
    assert {name: getattr(settings.chunking, name) for name in report.chunking} == report.chunking
    found = evaluate(str(questions), input=f"{corpus}/*", policy=str(file), overrides={"encoder": "hashing"})
    overlap = next(one for one in report.advice if one.topic == "overlap")
    assert found.arms[0].misses["severed"] == overlap.figures["severed_with" if overlap.tokens else "severed"]
    window = next(one for one in report.advice if one.topic == "window")
    assert window.figures["units"] == found.arms[0].description["n_units"]
    with pytest.raises(SettingsError, match="exists"):
        ask(questions, str(file))


def test_questions_say_how_near_answers_and_their_neighbours_are(ask, questions):
    report = ask(questions)
    found = report.traits.pooling
    assert found.n_answers == 10 and found.n_sentences > 1
    levels = next(one for one in report.advice if one.topic == "levels").figures
    assert levels["pooled_score"] == pooled_score(
        found.n_sentences, found.answer_similarity, found.neighbour_similarity, report.traits.rho
    )
    assert "distractor_wins_above" in next(one for one in report.advice if one.topic == "propositions").figures
    assert ask().traits.pooling is None


@pytest.mark.parametrize("has_llm", [True, False])
def test_a_rewriting_worth_a_trial_is_in_the_file(ask, tmp_path, monkeypatch, has_llm):
    monkeypatch.setattr(advice, "LEAST_ANAPHORA", 0.0)
    file = tmp_path / "advised.toml"
    report = ask(None, str(file), **({"llm_url": "http://localhost:1/v1", "llm_revision": "1"} if has_llm else {}))
    chosen = next(one.rewrite for one in report.advice if one.topic == "propositions")
    assert chosen in ("propositions", "context")
    assert load_settings(file).rewriting.rewrite == (chosen if has_llm else "none")
    assert f'rewrite = "{chosen}"' in file.read_text()


def test_without_questions_answers_are_sentences(ask):
    report = ask()
    assert report.answers is None and report.traits.answers_are_assumed
    assert report.traits.answer_tokens == 16


def test_only_so_many_sentences_are_encoded(ask, monkeypatch):
    monkeypatch.setattr(measuring, "MAX_SENTENCES", 50)
    report = ask()
    assert len(report.sentences.lengths) <= 50 and len(report.documents.n_tokens) == 3


@pytest.fixture
def command(corpus, questions, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*flags):
        code = cli.main(["advise", "--sample", "corpus/**", "--encoder", "hashing", *flags])
        return code, capsys.readouterr()

    return run


def test_as_a_command(command, checkout, tmp_path):
    code, captured = command("--questions", "q.jsonl", "--write", "advised.toml", "--json")
    answer = json.loads(captured.out)
    section = (checkout / "docs" / "json.md").read_text().split("## corpusmill advise\n")[1].split("\n## ")[0]
    assert code == 0 and all(f"`{key}`" in section for key in [*answer, *answer["advice"][0]])
    assert (tmp_path / answer["settings_file"]).exists()
    topics = [one["topic"] for one in answer["advice"]]
    assert topics == ["chunker", "window", "overlap", "levels", "propositions", "LLM boundaries"]


def test_the_text_fits_80_columns(command):
    code, captured = command("--questions", "q.jsonl")
    assert code == 0 and max(map(len, captured.out.splitlines())) <= 80
    assert "chunker: auto" in captured.out and "Cost (propositions): ~" in captured.out


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        (["--write", "advised.yaml"], "must end in .toml"),
        (["--questions", "nowhere.jsonl"], "cannot be read"),
        (["--input", "corpus"], "name what to measure after --sample alone"),
        (["--sample", "nothing/*"], "has no document with text"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(corpus, tmp_path, monkeypatch, capsys, flags, part):
    monkeypatch.chdir(tmp_path)
    sample = [] if "--sample" in flags else ["--sample", "corpus/**"]
    assert cli.main(["advise", *sample, *flags, "--encoder", "hashing"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and part in captured.err


def test_questions_about_other_documents(ask, tmp_path):
    file = tmp_path / "other.jsonl"
    file.write_text(json.dumps({"question": "q", "references": [{"uri": "z.txt", "quote": "x"}]}))
    with pytest.raises(SettingsError, match="none of its references is in the sample"):
        ask(file)

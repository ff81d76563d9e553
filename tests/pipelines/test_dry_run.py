"""A dry run beside the run that follows it, and the root that it must not touch."""

import json
import os
import shutil
from pathlib import Path

import pytest
import tokenizers
from mill import prose

from models.errors import SettingsError
from models.fake_llm import FakeEndpoint
from pipelines import cli
from pipelines.config import load_settings
from pipelines.dry_run import dry_run


def answers(prompt):
    """Every sentence that is shown, said again; a summary or prefix where none is numbered."""
    lines = [line for line in prompt.text.splitlines() if line.startswith("[")]
    said = [{"text": line.partition("] ")[2], "sentences": [i]} for i, line in enumerate(lines, 1)]
    return json.dumps({"propositions": said}) if lines else "This is about the mills of the county."


def trial(mill, **settings):
    chosen = {
        "input": [f"{mill.source}/**"],
        "encoder": "hashing",
        "window_tokens": 40,
        "hashing_dimension": 512,
        **settings,
    }
    before = tree(mill.root)
    report = dry_run(load_settings(None, chosen), mill.root)
    assert tree(mill.root) == before
    return report


def tree(root):
    """Every file with its size and time."""
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in Path(root).rglob("*") if path.is_file()
    }


def figures(report):
    return {key: figure.value for key, figure in report.policies[0].figures.items()}


def assert_foretold(dry, report):
    """Everything that both tell is the same."""
    assert dry.documents == {name: report.documents[name] for name in dry.documents}
    assert dry.units == {name: report.units[name] for name in dry.units}
    assert figures(dry)["encoder_tokens"] == report.tokens["encoded"]
    assert dry.refusal == ""


def edit(mill):
    mill.write("doc3.md", f"# Document 3\n\n{prose('d3')}\n\nAnd something new at the end of it.\n")
    shutil.copy(mill.source / "doc1.md", mill.source / "copy.md")
    os.rename(mill.source / "doc2.md", mill.source / "renamed.md")
    os.unlink(mill.source / "doc5.md")
    mill.write("rows.csv", "id,text\n1,First row of it.\n2,Second row.\n3,First row of it.\n4,\n")
    mill.write("broken.pdf", b"no pdf")
    mill.write("empty.txt", "  \n")


def edit_again(mill):
    mill.write("rows.csv", "id,text\n1,First row of it.\n2,Second row, changed.\n5,A new row.\n")
    os.unlink(mill.source / "copy.md")
    mill.write("empty.txt", "Not empty now.\n")


@pytest.mark.slow
def test_each_run_does_what_its_dry_run_said(turned):
    settings = {"max_failures": "50%", "accept_deletes": True}
    for change in (edit, edit_again):
        change(turned)
        assert_foretold(trial(turned, **settings), turned.run(**settings))


def test_a_first_run_and_one_without_changes(mill):
    mill.write("a.md", f"# A\n\n{prose('a')}\n")
    first = trial(mill)
    assert tree(mill.root) == {} and not os.path.exists(mill.root)
    report = mill.run()
    assert_foretold(first, report)
    again = trial(mill)
    assert_foretold(again, mill.run())
    assert figures(again)["units"] == 0 and again.units["total"] == report.units["total"]
    whole = {key: figure.value for key, figure in again.policies[1].figures.items()}
    assert whole["units"] == report.units["total"] and whole["content_tokens"] == report.tokens["cut"]


def test_a_new_encoder_encodes_stored_units_and_a_new_window_cuts_again(turned):
    for settings in ({"hashing_dimension": 128}, {"hashing_dimension": 128, "window_tokens": 60}):
        stopped = trial(turned, **settings)
        assert "--accept-recipe-change" in stopped.refusal
        dry = trial(turned, **settings, accept_recipe_change=True)
        assert_foretold(dry, turned.run(**settings, accept_recipe_change=True))
        assert figures(dry)["units"] == figures(stopped)["units"] == dry.units["total"]


def test_a_guard_that_would_stop_the_run_is_told(turned):
    for number in range(5):
        os.unlink(turned.source / f"doc{number}.md")
    dry = trial(turned)
    assert "5 of 8 known documents vanished" in dry.refusal
    assert trial(turned, accept_deletes=True).refusal == ""


def test_what_an_interrupted_run_finished_is_taken_off(turned, monkeypatch):
    turned.write("late.md", f"# Late\n\n{prose('late', 400)}\n")
    monkeypatch.setattr("transforms.stages.writing.publish", lambda *_: 1 / 0)
    with pytest.raises(Exception, match="the run failed"):
        turned.run()
    monkeypatch.undo()
    dry = trial(turned)
    assert dry.units["encoded"] == 0 and dry.units["reused"] > 5 and figures(dry)["encoder_tokens"] == 0
    report = turned.run()
    assert report.units["encoded"] == 0


@pytest.fixture
def run(capsys):
    def run_main(*words):
        code = cli.main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_main


def test_as_a_command(mill, run, checkout):
    mill.write("a.md", f"# A\n\n{prose('a')}\n")
    words = ["ingest", "--input", mill.source, "--output", mill.root, "--encoder", "hashing", "--dry-run"]
    code, out, err = run(*words)
    assert (code, err) == (0, "") and not os.path.exists(mill.root)
    assert max(map(len, out.splitlines())) <= 80 or mill.root in out.splitlines()[0]
    assert "nothing was written" in out and "this run" in out and "whole corpus" in out and "baseline" in out
    answer = json.loads(run(*words, "--json", "--turnover", "10%")[1])
    assert answer["dry_run"] and answer["turnover"] == 0.1
    section = (checkout / "docs" / "json.md").read_text().split("## corpusmill ingest\n")[1].split("\n## ")[0]
    assert all(f"`{key}`" in section for key in answer)


def test_a_run_shows_the_plan_beside_what_it_measured(mill, run, tmp_path):
    mill.write("a.md", f"# A\n\n{prose('a')}\n")
    words = ["ingest", "--input", mill.source, "--output", mill.root, "--encoder", "hashing"]
    plan = tmp_path / "plan.json"
    plan.write_text(run(*words, "--dry-run", "--json")[1])
    tokens = json.loads(plan.read_text())["policies"][0]["figures"]["encoder_tokens"]["value"]
    code, out, _ = run(*words, "--planned", plan)
    assert code == 0 and f"1 units (measured 1), {tokens:,.0f} encoder tokens (measured {tokens:,.0f})" in " ".join(
        out.split()
    )
    again = json.loads(run(*words, "--planned", plan, "--json")[1])
    assert again["planned"]["units"] == {"planned": 1, "measured": 0}
    plan.write_text('{"dry_run": true, "policies": []}')
    code, out, err = run(*words, "--planned", plan)
    assert (code, out) == (2, "") and "--dry-run --json" in err


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--prices", "x.toml"], "--dry-run"),
        (["--turnover", "5%"], "--dry-run"),
        (["--dry-run", "--prices", "nowhere.toml"], "nowhere.toml"),
        (["--planned", "nowhere.json"], "nowhere.json"),
        (["--dry-run", "--input", "nowhere/*"], "matches no file"),
        (["--dry-run", "--runer", "x"], "--runer"),
    ],
)
def test_a_mistake_is_one_line(mill, run, words, part):
    mill.write("a.md", "some words")
    code, out, err = run(
        "ingest",
        "--output",
        mill.root,
        "--encoder",
        "hashing",
        *(["--input", mill.source] if "--input" not in words else []),
        *words,
    )
    assert (code, out) == (2, "") and err.count("\n") == 1 and part in err


@pytest.mark.parametrize("chosen", [{}, {"detection_windows": "text", "neighbour_sentences": 2}])
def test_what_semantic_cuts_read_is_counted_and_their_units_are_assumed(mill, chosen):
    chosen = {"chunker": "semantic", "accept_recipe_change": True, **chosen}
    for name in "ab":
        mill.write(f"{name}.txt", " ".join(f"The mill {n} of {name} grinds {n} sacks of rye." for n in range(40)))
    mill.write("one.txt", "A single sentence is one unit, whatever an encoder says.")
    dry, report = trial(mill, **chosen), mill.run(**chosen)
    assert dry.documents["indexed"] == report.documents["indexed"] == 3 and dry.refusal == ""
    assert figures(dry)["encoder_tokens"] == report.tokens["encoded"] + report.tokens["detected"]
    assert figures(dry)["content_tokens"] == figures(dry)["encoder_tokens"]
    assert dry.units["encoded"] == pytest.approx(report.units["encoded"], rel=0.6)
    assert {name for name, n in dry.outcomes.items() if n != report.outcomes.get(name)} == set()
    kinds = {name: figure.mark for name, figure in dry.policies[0].figures.items()}
    assert (kinds["units"], kinds["content_tokens"]) == ("assumed", "measured")
    again = trial(mill, **chosen)
    assert figures(again)["encoder_tokens"] == 0 and again.units["total"] == report.units["total"]
    mill.write("b.txt", "A new text. It has two sentences.")
    dry, report = trial(mill, **chosen), mill.run(**chosen)
    assert figures(dry)["encoder_tokens"] == report.tokens["encoded"] + report.tokens["detected"] > 0


def test_pic_is_counted_by_stored_summaries_and_real_questions(mill, tmp_path):
    for name in "ab":
        mill.write(f"{name}.txt", " ".join(f"The mill {n} of {name} grinds {n} sacks of rye." for n in range(40)))
    log = tmp_path / "log.csv"
    log.write_text(f"{mill.source}/a.txt,how much rye is ground\n/elsewhere.txt,and who asks\n")
    with FakeEndpoint(answers) as endpoint:
        asked = {"chunker": "pic", "llm_url": endpoint.url, "llm_revision": "1", "pic_min_chars": 100}
        asked |= {"query_log": str(log), "accept_recipe_change": True}
        dry = trial(mill, **asked)
        assert (dry.outcomes["anchored_on_questions"], dry.outcomes["llm_requests"], endpoint.n_requests) == (1, 1, 0)
        report = mill.run(**asked)
        measured = report.tokens["encoded"] + report.tokens["detected"]
        assert figures(dry)["encoder_tokens"] == pytest.approx(measured, rel=0.2) and endpoint.n_requests == 1
        # Another window is another recipe: all is cut again, with the summary that is stored.
        dry = trial(mill, **asked | {"window_tokens": 30})
        assert dry.outcomes["stored_llm_answers"] == 1 and "llm_requests" not in dry.outcomes
        report = mill.run(**asked | {"window_tokens": 30})
        assert {name for name, n in dry.outcomes.items() if n != report.outcomes.get(name)} <= {"stored_llm_answers"}
        assert report.tokens["detected"] == 2 * 40 * 11 + 5 + 9
        assert figures(dry)["encoder_tokens"] == report.tokens["cut"] + report.tokens["detected"]
        assert endpoint.n_requests == 1


def word_tokenizer(folder):
    """The path of a tokenizer with a token for each word."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return str(folder / "tokenizer.json")


@pytest.mark.parametrize("name", ["propositions", "context", "summary"])
def test_rewriting_is_priced_for_what_has_no_stored_answer(mill, name, tmp_path):
    with FakeEndpoint(answers) as endpoint:
        asked = {"rewrite": name, "llm_url": endpoint.url, "llm_revision": "1", "window_tokens": 24}
        mill.settings = {key: str(value) for key, value in asked.items()}
        for place in ("Harrow", "Marlow"):
            mill.write(f"{place}.txt", f"The {place} mill grinds rye. The {place} mill has 24 blades.\n")
        dry = trial(mill, **asked)
        assert dry.outcomes["llm_requests"] == 2 and endpoint.n_requests == 0
        first = figures(dry)
        # Nothing is stored yet: nothing is reused, and the run is the whole corpus.
        assert dry.units["reused"] == 0 and first == {
            key: figure.value for key, figure in dry.policies[1].figures.items() if key in first
        }
        assert first["llm_input_tokens"] > 0 and first["llm_output_tokens"] > 0
        assert dry.policies[0].figures["llm_input_tokens"].mark == "assumed"  # nothing to count tokens with
        exact = trial(mill, **asked, llm_tokenizer=word_tokenizer(tmp_path)).policies[0].figures["llm_input_tokens"]
        assert exact.mark == "measured" and 0 < exact.value < first["llm_input_tokens"]

        mill.run()
        assert endpoint.n_requests == 2
        dry = trial(mill, **asked)
        assert (figures(dry)["llm_input_tokens"], figures(dry)["units"], figures(dry)["usd"]) == (0, 0, 0)

        mill.write("Yarrow.txt", "The Yarrow mill grinds oats. The Yarrow mill has 24 blades.\n")
        mill.write("Marlow.txt", "The Marlow mill grinds rye. The Marlow mill has 24 blades.\n\n")
        dry = trial(mill, **asked)
        # A summary is asked for with the whole text, units with their own sentences.
        assert dry.outcomes["llm_requests"] == (2 if name == "summary" else 1)
        assert 0 < figures(dry)["llm_input_tokens"] <= first["llm_input_tokens"]
        assert endpoint.n_requests == 2


def test_answers_that_are_stored_cut_and_others_are_assumed(mill):
    words = " ".join(f"Sentence number {n} of it is here." for n in range(8))
    with FakeEndpoint('{"cut_after": [3]}') as endpoint:
        asked = {"chunker": "llm", "llm_url": endpoint.url, "llm_revision": "1", "window_tokens": 40}
        asked |= {"accept_recipe_change": True}
        mill.settings = {key: str(value) for key, value in asked.items()}
        mill.write("a.txt", words)
        dry = trial(mill, **asked)
        assert dry.outcomes["llm_requests"] == 1 and "boundary_fallbacks" not in dry.outcomes
        assert dry.policies[0].figures["units"].mark == "assumed" and figures(dry)["units"] > 1
        mill.run()
        n_requests = endpoint.n_requests
        edited = {**asked, "overlap_tokens": 8}
        dry = trial(mill, **edited)
        assert dry.outcomes["stored_llm_answers"] == 1 and dry.outcomes.get("llm_requests", 0) == 0
        mill.settings = {key: str(value) for key, value in edited.items()}
        assert_foretold(dry, mill.run())
        assert endpoint.n_requests == n_requests


@pytest.mark.parametrize("window", [[], ["--window-tokens", "60"]])
def test_of_marked_up_texts_the_blocks_are_counted(mill, run, checkout, window):
    """The formula for running text says 33 units of the examples, and there are 80."""
    words = ["ingest", "--input", checkout / "examples" / "corpus", "--output", mill.root, "--encoder", "minilm"]
    planned = json.loads(run(*words, *window, "--json")[1])["planned"]
    assert planned["units"]["planned"] == pytest.approx(planned["units"]["measured"], rel=0.1)
    assert planned["encoder_tokens"]["planned"] == pytest.approx(planned["encoder_tokens"]["measured"], rel=0.1)
    assert planned["source"].startswith("recursive formula, 23 texts of 4,836 characters; blocks of 10 texts of ")


def test_texts_that_are_cut_again_are_planned_by_the_formula(mill, run):
    """Only who reads a document sees its blocks."""
    mill.write("a.md", "# One\n\n" + "\n\n".join(prose(f"a{n}") for n in range(4)))
    words = ["ingest", "--input", mill.source, "--output", mill.root, "--encoder", "hashing", "--json"]
    assert json.loads(run(*words)[1])["planned"]["source"].startswith("blocks of 1 text ")
    again = json.loads(run(*words, "--window-tokens", "40", "--accept-recipe-change")[1])
    assert again["planned"]["source"].startswith("recursive formula, 1 text ")


def test_without_a_dry_run_the_formulas_stand_beside(mill, run):
    mill.write("a.txt", prose("a") * 40)
    words = ["ingest", "--input", mill.source, "--output", mill.root, "--encoder", "hashing"]
    words += ["--chunker", "fixed", "--window-tokens", "30", "--json"]
    answer = json.loads(run(*words)[1])
    planned = answer["planned"]
    assert planned["units"]["measured"] == answer["units"]["encoded"] and "1 text of" in planned["source"]
    assert planned["units"]["planned"] == pytest.approx(answer["units"]["encoded"], rel=1)
    assert "planned" not in json.loads(run(*words)[1])


def test_what_is_read_to_find_cuts_is_planned_and_measured_alike(mill, run, tmp_path):
    facts = (f"Mill {n} of the old town can grind all the rye or oats of {n} men in one day." for n in range(300))
    mill.write("a.txt", " ".join(facts))
    words = ["ingest", "--input", mill.source, "--encoder", "hashing", "--window-tokens", "60", "--json"]

    def beside(name, *more):
        answer = json.loads(run(*words, "--output", tmp_path / name, *more)[1])
        tokens = answer["planned"]["encoder_tokens"]
        assert tokens["measured"] == answer["tokens"]["encoded"] + answer["tokens"]["detected"]
        return tokens["planned"], tokens["measured"]

    once, windows = beside("mean", "--chunker", "semantic"), beside("text", "--chunker", "semantic", *WINDOWS)
    for planned, measured in (once, windows):
        assert planned == pytest.approx(measured, rel=0.3)
    assert windows[0] > 1.6 * once[0]
    with FakeEndpoint(answers) as endpoint:
        pic = ["--chunker", "pic", "--llm-url", endpoint.url, "--llm-revision", "1"]
        plan = tmp_path / "plan.json"
        plan.write_text(run(*words, "--output", tmp_path / "pic", *pic, "--dry-run")[1])
        planned, measured = beside("pic", *pic, "--planned", plan)
    assert planned == pytest.approx(measured, rel=0.2)


WINDOWS = ("--detection-windows", "text", "--neighbour-sentences", "2")


def test_an_encoder_of_stated_facts_runs_nothing(mill, tmp_path):
    mill.write("a.md", "some words")
    prices = tmp_path / "prices.toml"
    prices.write_text("[encoder]\nparameters = 1\nlayers = 1\nhidden_size = 1\ndimension = 8\nmax_input_tokens = 99\n")
    settings = load_settings(None, {"input": [f"{mill.source}/**"], "encoder": "hashing"})
    with pytest.raises(SettingsError, match="leave its sizes out"):
        dry_run(settings, mill.root, str(prices))

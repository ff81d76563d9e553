"""Whole runs whose units a language model at an endpoint rewrites: what is asked, billed, stored and found."""

import json

import pytest

from models.errors import SettingsError
from models.fake_llm import FakeEndpoint
from pipelines import cli


def answers(prompt):
    """Every sentence that is shown, said again; a summary or prefix where none is numbered."""
    lines = [line for line in prompt.text.splitlines() if line.startswith("[")]
    said = [{"text": line.partition("] ")[2], "sentences": [i]} for i, line in enumerate(lines, 1)]
    return json.dumps({"propositions": said}) if lines else "This is about the mills of the county."


@pytest.fixture
def endpoint():
    with FakeEndpoint(answers) as fake:
        yield fake


@pytest.fixture
def rewriting(mill, endpoint):
    """A mill of three documents whose units are rewritten as propositions, which has not turned yet."""
    mill.settings = {"rewrite": "propositions", "llm_url": endpoint.url, "llm_revision": "1", "window_tokens": "24"}
    for name in ("Harrow", "Marlow", "Yarrow"):
        mill.write(
            f"{name}.txt", f"The {name} mill grinds rye. The {name} mill has 24 blades.\n\n{name} Road is old.\n"
        )
    return mill


def test_propositions_are_stored_billed_and_found_and_asked_for_once(rewriting, endpoint):
    report = rewriting.run()
    assert report.published and (endpoint.n_requests, report.outcomes["propositions"]) == (3, 9)
    levels = [unit["level"] for unit in rewriting.rows("units")]
    assert (levels.count("passage"), levels.count("proposition"), len(levels)) == (3, 9, 12)
    billed = [row for row in rewriting.rows("ledger") if row["stage"] == "propositions"]
    assert sorted(row["uri"].rsplit("/", 1)[1] for row in billed) == ["Harrow.txt", "Marlow.txt", "Yarrow.txt"]
    best = rewriting.search("The Marlow mill has 24 blades.")[0]
    assert best.uri.endswith("Marlow.txt") and best.matched.text == "The Marlow mill has 24 blades."
    assert best.text.startswith("The Marlow mill grinds rye.") and best.level == "passage"

    rewriting.write("Yarrow.txt", "The Yarrow mill grinds oats. The Yarrow mill has 24 blades.\n")
    report = rewriting.run()
    assert report.published and endpoint.n_requests == 4
    assert report.units["reused"] >= 1  # the sentence that did not change


def test_a_document_is_shown_with_what_was_written_of_it(rewriting, endpoint, capsys):
    flags = ["--encoder", "hashing", "--rewrite", "propositions", "--llm-url", endpoint.url, "--llm-revision", "1"]
    path = str(rewriting.source / "Marlow.txt")
    assert cli.main(["chunk", path, *flags]) == 0
    text = capsys.readouterr().out
    assert "= 2 proposition [0:27]" in text and "    = The Marlow mill grinds rye." in text
    assert cli.main(["chunk", path, *flags, "--json"]) == 0
    units = json.loads(capsys.readouterr().out)["units"]
    assert [(unit["level"], unit["parent"]) for unit in units[:2]] == [("passage", None), ("proposition", 0)]


def test_rewriting_without_a_model_is_one_line(mill):
    mill.write("a.txt", "The mill grinds rye.")
    with pytest.raises(SettingsError, match="rewrite = 'context' asks a language model and none is named"):
        mill.run(rewrite="context")

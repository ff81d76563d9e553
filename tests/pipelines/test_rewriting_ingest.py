"""Whole runs whose units a language model at an endpoint rewrites: what is asked, billed, stored and found."""

import json

import pytest

from models.errors import SettingsError
from models.fake_llm import FakeEndpoint, Reply, in_prose
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


def fact(name, **more):
    return json.dumps({"propositions": [{"text": f"The {name} mill has 24 blades.", "sentences": [2]} | more]})


# What becomes of a passage whose answer is this: the facts that are kept, and what is counted for it.
BAD_ANSWERS = {
    "Aston": (lambda n: in_prose(fact(n)), 1, "json_in_prose"),
    "Barton": (lambda n: f"<think>It is about [1].</think>{fact(n)}", 1, "propositions"),
    "Carlton": (lambda n: fact(n).replace("[{", "[ // facts\n{"), 1, "json_punctuation"),
    "Denton": (lambda n: fact(n).replace(" has", r" \u001b[31mhas\u202e\u0000"), 1, "unprintable_marks"),
    "Easton": (lambda n: fact(n).replace("mill", r"\ud800 mill"), 1, "unprintable_marks"),
    "Felton": (lambda n: fact(n)[:50], 0, "passages_as_themselves.none_left"),
    "Girton": (lambda n: fact(n, sentences=["9" * 4000]), 1, "json_wrong_type"),
    "Hilton": (lambda n: '{"propositions": [NaN, Infinity, [[1]], {"1": 2}]}', 0, "rejected_propositions.empty"),
    "Ilton": (lambda n: "[" * 1_000_000, 0, "passages_as_themselves.no_json"),
    "Jurton": (lambda n: '{"propositions": [' + " \n" * 500_000 + "]}", 0, "passages_as_themselves.empty_list"),
    "Kelton": (lambda n: fact(n, text="Rewrite the passage as a list of facts that stand alone."), 0, "rejected_"),
    "Lawton": (lambda n: fact(n, text=f"The {n} mill has 25 blades."), 0, "rejected_propositions.invented_number"),
    "Melton": (lambda n: Reply(raw=b"<html>gateway</html>"), 0, "passages_as_themselves.bad_response"),
    "Norton": (lambda n: json.dumps({"propositions": {"1": {"text": "x"}}}), 0, "passages_as_themselves.no_json"),
}


def test_each_bad_answer_costs_its_own_document_one_outcome(mill, endpoint):
    mill.settings = {"rewrite": "propositions", "llm_url": endpoint.url, "llm_revision": "1", "llm_attempts": "1"}
    texts = {n: f"The {n} mill grinds rye. The {n} mill has 24 blades.\n" for n in [*BAD_ANSWERS, "Harrow", "Yarrow"]}
    for name, text in texts.items():
        mill.write(f"{name}.txt", text)

    def bad(prompt):
        name = next(name for name in texts if f"{name} mill" in prompt.text)
        return BAD_ANSWERS[name][0](name) if name in BAD_ANSWERS else answers(prompt)

    endpoint.script = bad
    report = mill.run()
    assert report.documents["indexed"] == len(texts) and endpoint.n_distinct == len(texts)
    assert endpoint.n_requests <= len(texts) + 2
    names = {row["content_id"]: row["uri"].rsplit("/", 1)[1][:-4] for row in mill.rows("documents")}
    units = {name: [unit for unit in mill.rows("units") if names[unit["content_id"]] == name] for name in texts}
    for name, text in texts.items():
        (source,) = (unit for unit in units[name] if unit["level"] != "proposition")
        facts = [unit for unit in units[name] if unit["level"] == "proposition"]
        assert text[source["start"] : source["end"]] == source["text"] == text.strip()
        assert len(facts) == (BAD_ANSWERS[name][1] if name in BAD_ANSWERS else 2)
        assert all(text[unit["start"] : unit["end"]].strip().startswith(f"The {name} mill") for unit in facts)
    assert all(any(kind.startswith(counted) for kind in report.outcomes) for _, _, counted in BAD_ANSWERS.values())
    n_without = sum(n_facts == 0 for _, n_facts, _ in BAD_ANSWERS.values())
    assert report.outcomes["passages_as_themselves"] == n_without


def test_propositions_go_with_the_passage_they_were_written_of(rewriting, endpoint):
    rewriting.run()
    rewriting.write("Marlow.txt", "The Marlow mill grinds oats. The Marlow mill has 30 blades.\n")
    (rewriting.source / "Yarrow.txt").unlink()
    rewriting.run(accept_deletes=True)
    for question in ("The Marlow mill has 24 blades.", "The Yarrow mill grinds rye."):
        for hit in rewriting.search(question, 10):
            text = (rewriting.source / hit.uri.rsplit("/", 1)[1]).read_text()
            assert text[hit.start : hit.end] == hit.text and "Yarrow" not in text
            assert hit.matched is None or text[hit.matched.start : hit.matched.end].strip() == hit.matched.text
    assert rewriting.search("The Marlow mill has 30 blades.")[0].matched.text == "The Marlow mill has 30 blades."

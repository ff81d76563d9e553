"""Whole runs cut by a language model: what is asked, what is billed, and what is never asked twice."""

import json

import pytest

from models.fake_llm import FakeEndpoint

CATS = [f"The cat number {n} slept on the warm window sill beside the cat food." for n in range(5)]
BANKS = [f"The central bank raised interest rates by {n} points and markets fell." for n in range(5)]


def text(name, order=(CATS, BANKS)):
    return " ".join(f"{sentence}" for part in order for sentence in part) + f" This is {name}.\n"


def answers(prompt):
    """A summary for a text, and a cut after the fifth sentence for numbered ones."""
    return json.dumps({"cut_after": [5]}) if "response_format" in prompt.body else "A cat slept beside the cat food."


@pytest.fixture
def endpoint():
    with FakeEndpoint(answers) as fake:
        yield fake


@pytest.fixture
def asking(mill, endpoint):
    """A mill whose documents are cut by the endpoint, which has not turned yet."""
    mill.settings = {
        "chunker": "llm", "llm_url": endpoint.url, "llm_revision": "1", "window_tokens": "200", "pic_min_chars": "100",
        "llm_outage_seconds": "0.5", "llm_attempts": "2", "usd_per_million_prompt_tokens": "1000",
    }  # fmt: skip
    for name in ("a", "b", "c"):
        mill.write(f"{name}.txt", text(name))
    return mill


@pytest.mark.parametrize(("chunker", "stage"), [("llm", "boundaries"), ("pic", "summary")])
def test_units_are_cut_where_the_model_says_and_every_document_is_billed(asking, endpoint, chunker, stage):
    report = asking.run(chunker=chunker)
    assert report.outcomes[f"chunker:{chunker}"] == 3 and endpoint.n_requests == 3
    texts = {row["text"] for row in asking.rows("units")}
    assert " ".join(CATS) in texts and any(found.startswith(BANKS[0]) for found in texts)
    rows = [row for row in asking.rows("ledger") if row["stage"] == stage]
    assert sorted(row["uri"].rsplit("/", 1)[1] for row in rows) == ["a.txt", "b.txt", "c.txt"]
    assert sum(row["n_tokens"] for row in rows) == report.tokens["llm_prompt"] > 300
    assert sum(row["n_answer_tokens"] for row in rows) == report.tokens["llm_answer"] > 0
    assert report.llm["usd"] == pytest.approx(report.tokens["llm_prompt"] / 1000)
    assert (report.llm["answers"], report.llm["retries"]) == (3, 0)
    manifest = asking.manifest()
    assert manifest.tokens["llm_prompt"] == report.tokens["llm_prompt"] and manifest.llm == report.llm

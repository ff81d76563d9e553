"""Whole runs cut by a language model: what is asked, what is billed, and what is never asked twice."""

import json
import os
import shutil
import threading
import time

import pytest
from engines import IN_PROCESS
from hand_mill import CUT_ME_NOT, HandMill
from test_kills import kill_at

from models.errors import RefusedError, SettingsError
from models.fake_llm import FakeEndpoint, Reply, refused
from pipelines import cli
from pipelines.search import open_index
from transforms.answers_garbage import collect_answers

CATS = [f"The cat number {n} slept on the warm window sill beside the cat food." for n in range(5)]
BANKS = [f"The central bank raised interest rates by {n} points and markets fell." for n in range(5)]


def text(name):
    return " ".join([*CATS, *BANKS, f"This is {name}."]) + "\n"


def answers(prompt):
    """A summary for a text, and a cut after the fifth sentence for numbered ones."""
    return json.dumps({"cut_after": [5]}) if "response_format" in prompt.body else "A cat slept beside the cat food."


@pytest.fixture
def endpoint():
    with FakeEndpoint(answers) as fake:
        yield fake


def settings(endpoint, **more):
    return {
        "chunker": "llm", "llm_url": endpoint.url, "llm_revision": "1", "window_tokens": "200", "pic_min_chars": "100",
        "llm_outage_seconds": "0.5", "llm_attempts": "2", "usd_per_million_prompt_tokens": "1000",
        "llm_parameters": "1000", **more,
    }  # fmt: skip


@pytest.fixture
def asking(mill, endpoint):
    """A mill on a runner, whose documents are cut by the endpoint; it has not turned yet."""
    mill.settings = settings(endpoint)
    for name in ("a", "b", "c"):
        mill.write(f"{name}.txt", text(name))
    return mill


@pytest.fixture
def by_hand(tmp_path, endpoint):
    """The same without a runner."""
    mill = HandMill(tmp_path, settings(endpoint))
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
    n_prompt, n_answer = report.tokens["llm_prompt"], report.tokens["llm_answer"]
    assert sum(row["n_tokens"] for row in rows) == n_prompt > 300
    assert sum(row["n_answer_tokens"] for row in rows) == n_answer > 0
    assert sum(row["flops"] for row in rows) == 2 * 1000 * (n_prompt + n_answer) == asking.manifest().flops["llm"]
    assert report.llm["usd"] == pytest.approx(n_prompt / 1000)
    assert (report.llm["answers"], report.llm["retries"], report.llm["wasted_tokens"]) == (3, 0, 0)
    manifest = asking.manifest()
    assert manifest.tokens["llm_prompt"] == n_prompt and manifest.llm == report.llm


def test_labels_are_stored_found_and_refused_where_they_would_be_an_experiment(asking, endpoint):
    asking.run(chunker="pic")
    assert {row["label"] for row in asking.rows("units")} == {"near", "far"}
    hits = open_index(asking.root).search(["the cat beside the cat food"], 9)[0]
    assert {hit.label for hit in hits} == {"near", "far"} and hits[0].label == "near"
    with pytest.raises(SettingsError, match="pic_anchor = 'centroid' is for evaluation only"):
        asking.run(chunker="pic", pic_anchor="centroid")


def test_an_ablation_is_measured_without_a_model(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("\n".join(["========,1,a.", *CATS, "========,1,b.", *BANKS]))
    flags = ["--chunker", "pic", "--encoder", "hashing", "--pic-min-chars", "9", "--pic-anchor", "centroid"]
    assert cli.main(["boundaries", str(tmp_path), *flags]) == 0
    assert cli.main(["chunk", str(tmp_path / "a.txt"), "--explain", *flags]) == 0
    assert "mean of the document's own sentences" in capsys.readouterr().out
    assert cli.main(["boundaries", str(tmp_path), *flags[:-1], "other"]) == 2
    assert "pic_other_document" in capsys.readouterr().err


def test_work_that_a_runner_does_twice_is_asked_and_billed_once(asking, endpoint):
    once = asking.run(encoder_min_ram_gb="1")
    units = {row["unit_id"] for row in asking.rows("units")}
    shutil.rmtree(asking.root)
    twice = asking.run(IN_PROCESS["bundle_repeat"])
    assert {row["unit_id"] for row in asking.rows("units")} == units
    assert endpoint.n_requests == 6 and twice.tokens["llm_prompt"] == once.tokens["llm_prompt"] > 0
    assert twice.llm["answers"] == 3


def test_the_prompts_of_an_item_are_in_flight_together(by_hand, endpoint):
    endpoint.script = lambda prompt: Reply(answers(prompt), delay_seconds=0.05)
    for number in range(32):
        by_hand.write(f"{number}.txt", text(number))
    turn = by_hand.run()
    assert [len(work.entries) for work in turn.work] == [35]
    assert endpoint.n_requests == 35 and endpoint.most_in_flight > 1


@pytest.mark.parametrize("chunker", ["pic", "llm"])
def test_only_what_changed_is_asked_about(by_hand, endpoint, chunker):
    by_hand.run(chunker=chunker)
    assert by_hand.run(chunker=chunker).outcome.published is False and endpoint.n_requests == 3
    by_hand.write("b.txt", text("another b"))
    turn = by_hand.run(chunker=chunker)
    assert turn.outcome.published and turn.outcome.llm["answers"] == 1
    assert endpoint.n_requests == 4 and "another b" in endpoint.prompts[-1].text


@pytest.mark.parametrize("chunker", ["pic", "llm"])
def test_a_changed_embedder_cuts_anew_and_asks_nothing(by_hand, endpoint, chunker):
    by_hand.run(chunker=chunker)
    turn = by_hand.run(chunker=chunker, hashing_dimension=16, max_input_tokens=100, accept_recipe_change=True,
                       window_tokens="90")  # fmt: skip
    assert turn.outcome.published and turn.outcome.outcomes[f"chunker:{chunker}"] == 3
    assert endpoint.n_requests == 3 and turn.outcome.llm["answers"] == 0 and turn.outcome.tokens["llm_prompt"] == 0


def test_after_a_collection_what_is_kept_is_cut_anew_without_a_question(by_hand, endpoint):
    by_hand.settings |= {"window_tokens": "90", "accept_recipe_change": True}
    by_hand.run(chunker="pic")
    by_hand.run(chunker="llm")
    by_hand.write("b.txt", text("another b"))
    by_hand.run(chunker="llm")
    current, n_before = by_hand.manifest().version, endpoint.n_requests
    assert n_before == 7
    done = collect_answers(by_hand.store, [current], now=time.time() + 40 * 86_400)
    assert (done.n_removed_answers, done.n_kept_answers) == (4, 3)  # three summaries and the cuts of the former b
    turn = by_hand.run(chunker="llm", hashing_dimension=16, max_input_tokens=100)
    assert turn.outcome.published and endpoint.n_requests == n_before


def test_a_changed_revision_asks_anew(by_hand, endpoint):
    by_hand.run()
    turn = by_hand.run(llm_revision="2", accept_recipe_change=True)
    assert endpoint.n_requests == 6 and turn.outcome.llm["answers"] == 3
    recipe = by_hand.manifest().recipes["cut"]["parts"]
    assert (recipe["llm"]["model"]["revision"], recipe["llm"]["model"]["is_declared"]) == ("2", True)
    assert "rewriting.boundaries" in recipe["versions"] and len(recipe["prompt"]) == 16


def test_one_document_of_32_that_fails_costs_the_others_nothing(by_hand, endpoint):
    for number in range(28):
        by_hand.write(f"{number}.txt", text(number))
    by_hand.write("bad.txt", f"{text('bad')} {CUT_ME_NOT}")
    turn = by_hand.run(max_failures="1")
    assert endpoint.n_requests == 31 and turn.outcome.documents["indexed"] == 31
    (letter,) = by_hand.failures()
    assert letter["uri"].endswith("bad.txt") and letter["reason"] == "cutter_error"


def test_one_prompt_of_32_that_is_refused_falls_back(by_hand, endpoint):
    endpoint.script = lambda prompt: refused(400) if "This is b." in prompt.text else answers(prompt)
    for number in range(29):
        by_hand.write(f"{number}.txt", text(number))
    turn = by_hand.run()
    assert turn.outcome.documents["indexed"] == 32
    assert turn.outcome.outcomes["boundary_fallbacks"] == turn.outcome.outcomes["boundary_fallbacks.refused"] == 1
    assert text("b").strip() in {unit["text"] for unit in by_hand.live_units()}
    (letter,) = by_hand.failures()
    assert letter["uri"].endswith("b.txt") and (letter["stage"], letter["reason"]) == ("boundaries", "refused")
    assert turn.outcome.documents["failed"] == 0 and endpoint.n_requests == 32


def test_waste_and_device_time_are_billed_but_are_no_outcomes_of_documents(by_hand, endpoint):
    held_back = Reply("A summary.", finish_reason="content_filter")
    endpoint.script = lambda prompt: held_back if "This is b." in prompt.text else answers(prompt)
    turn = by_hand.run(usd_per_gpu_hour="3600")
    assert turn.outcome.llm["wasted_tokens"] > 0 and not any(name.startswith("llm:") for name in turn.outcome.outcomes)
    assert turn.outcome.llm["busy_seconds"] > 0
    rows = by_hand.table(by_hand.manifest().ledger)
    (noted,) = [row for row in rows if row["stage"] == "llm"]
    assert noted["wasted_tokens"] == turn.outcome.llm["wasted_tokens"]
    assert sum(row["usd"] for row in rows) == pytest.approx(turn.outcome.llm["usd"])


def test_an_endpoint_that_dies_half_way_ends_the_run_and_keeps_its_answers(by_hand, endpoint):
    by_hand.settings |= {"work_item_tokens": "20", "llm_requests_in_flight": "1"}

    def dying(prompt):
        if prompt.number < 2:
            return answers(prompt)
        threading.Thread(target=endpoint.stop).start()
        return Reply("never sent", delay_seconds=30)

    endpoint.script = dying
    with pytest.raises(RefusedError, match=r"did not answer for 0.5 s.*what was answered is kept"):
        by_hand.run()
    endpoint.start()
    endpoint.script, n_before = answers, endpoint.n_requests
    turn = by_hand.run()
    assert turn.outcome.documents["indexed"] == 3 and endpoint.n_requests == n_before + 1


def test_a_spent_budget_ends_the_run_in_one_line_and_keeps_its_answers(by_hand, endpoint):
    by_hand.settings |= {"work_item_tokens": "20", "llm_requests_in_flight": "1"}
    with pytest.raises(RefusedError, match=r"budget_usd = 1 is spent; what was answered is kept"):
        by_hand.run(budget_usd="1")
    n_before = endpoint.n_requests
    assert 0 < n_before < 3
    assert by_hand.run(budget_usd="100").outcome.documents["indexed"] == 3 and endpoint.n_requests == 3


def test_spent_device_time_ends_the_run_in_one_line_and_keeps_its_answers(asking, endpoint):
    asking.settings |= {"work_item_tokens": "20", "llm_requests_in_flight": "1", "encoder": "hashing"}
    endpoint.script = lambda prompt: Reply(answers(prompt), delay_seconds=0.4)
    with pytest.raises(RefusedError, match=r"budget_gpu_hours = .* is spent; what was answered is kept"):
        asking.run(budget_gpu_hours=f"{0.5 / 3600:.9f}")
    assert 0 < endpoint.n_requests < 3
    endpoint.script = answers
    report = asking.run(budget_gpu_hours="1")
    assert report.documents["indexed"] == 3 and endpoint.n_requests == report.llm["answers"] == 3
    assert report.llm["busy_seconds"] >= 0.4


def test_a_run_that_asks_nothing_bills_a_dead_one_that_did(asking, endpoint):
    asking.settings |= {"encoder": "hashing", "work_item_tokens": "20", "llm_requests_in_flight": "1"}
    with pytest.raises(RefusedError, match="is spent"):
        asking.run(budget_usd="1")
    n_asked = endpoint.n_requests
    report = asking.run(chunker="recursive")
    assert endpoint.n_requests == report.llm["answers"] == n_asked > 0
    assert report.llm["usd"] == pytest.approx(report.tokens["llm_prompt"] / 1000)
    assert sum(row["usd"] for row in asking.rows("ledger")) == pytest.approx(report.llm["usd"])


def test_a_budget_in_money_needs_prices(by_hand, endpoint):
    by_hand.settings.pop("usd_per_million_prompt_tokens")
    with pytest.raises(SettingsError, match="budget_usd = 20 limits nothing without prices"):
        by_hand.run(budget_usd="20")
    assert not endpoint.n_requests


def test_a_model_that_is_not_named_or_not_there_is_one_line(asking, endpoint, capsys):
    words = ["ingest", "--input", f"{asking.source}/**", "--output", asking.root, "--encoder", "hashing"]
    assert cli.main([*words, "--chunker", "pic"]) == 2
    said = capsys.readouterr().err
    assert "chunker = 'pic' asks a language model" in said and said.count("\n") == 1
    endpoint.stop()
    assert cli.main([*words, "--chunker", "llm", "--llm-url", endpoint.url, "--llm-revision", "1"]) == 1
    said = capsys.readouterr().err
    assert "does not answer" in said and said.count("\n") == 1


def test_a_kill_asks_no_stored_answer_again_and_the_next_run_bills_them_all(asking, endpoint):
    del asking.settings["pic_min_chars"]  # which no command takes beside another chunker
    asking.settings |= {"encoder": "hashing", "hashing_dimension": "512", "work_item_tokens": "20"}
    kill_at(asking, "answers/after:2")
    n_before = endpoint.n_requests
    report = asking.run()
    assert n_before == 2 and endpoint.n_requests == endpoint.n_distinct == 3
    assert report.documents["indexed"] == 3 and report.llm["answers"] == 3
    rows = [row for row in asking.rows("ledger") if row["stage"] == "boundaries"]
    assert sum(row["n_tokens"] for row in rows) == report.tokens["llm_prompt"]
    assert len(rows) == 3 and all(row["n_tokens"] for row in rows)


def test_only_the_busiest_documents_are_asked_about(by_hand, endpoint):
    traffic = by_hand.base / "traffic.csv"
    names = {name: str(by_hand.source / f"{name}.txt") for name in "abc"}
    traffic.write_text(f"{names['a']},5\n{names['b']},50\n{names['c']},1\n")
    by_hand.settings |= {"traffic": str(traffic), "busiest_share": "0.3", "window_tokens": "190"}
    turn = by_hand.run()
    assert endpoint.n_requests == 1 and "This is b." in endpoint.prompts[0].text
    assert (turn.outcome.outcomes["chunker:llm"], turn.outcome.outcomes["chunker:recursive"]) == (1, 2)
    traffic.write_text(f"{names['a']},500\n{names['b']},50\n{names['c']},1\n")
    by_hand.run(accept_recipe_change=True)
    assert endpoint.n_requests == 2 and "This is a." in endpoint.prompts[1].text


def test_real_questions_take_the_place_of_the_summary(by_hand, endpoint):
    log = by_hand.base / "log.csv"
    log.write_text(f"{by_hand.source / 'a.txt'},where did the cat sleep beside the food\n")
    turn = by_hand.run(chunker="pic", query_log=str(log))
    assert endpoint.n_requests == 2 and turn.outcome.outcomes["anchored_on_questions"] == 1
    assert " ".join(CATS) in {unit["text"] for unit in by_hand.live_units()}


def test_small_documents_are_one_run_and_ask_nothing(by_hand, endpoint):
    turn = by_hand.run(chunker="pic", pic_min_chars="2000")
    assert endpoint.n_requests == 0 and turn.outcome.outcomes["below_pic_size"] == 3
    assert len(by_hand.live_units()) == 3
    assert not os.path.exists(f"{by_hand.root}/answers")

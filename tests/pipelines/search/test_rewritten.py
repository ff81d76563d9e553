"""Mills whose model answers as a test likes: stores are sound; propositions are matched and passages served."""

import json
import random

import numpy as np
import pytest
from asking_models import Asked
from hand_mill import HandMill

from models.fake_llm import count_words
from models.llm.records import LlmFailure
from models.llm.settings import LlmBudgetSettings, LlmServerSettings, LlmSettings
from pipelines import run_context
from pipelines.evaluation.published import PublishedArm
from pipelines.search import open_index
from transforms import cutters
from transforms.elements import CHUNK, PASSAGE, PROPOSITION, SOURCE_LEVELS, SUMMARY
from transforms.indexing.searching import exact_search
from transforms.rewriting.asking import Asking, AskingPlan
from transforms.store.verify import verify

TEXTS = {
    f"doc{n:02d}.txt": " ".join(
        f"The {place} line{n} carries {10 * n + i} tonnes of {good}."
        for i, (place, good) in enumerate(
            [("Harrow", "rye"), ("Marlow", "oats"), ("Yarrow", "coal"), ("Barrow", "salt")]
        )
    )
    for n in range(12)
}


def copying(content, number):
    """Says every sentence again, as two facts of different words."""
    sentences = [line.partition("] ")[2] for line in content.splitlines() if line.startswith("[")]
    said = [{"text": text, "sentences": [i]} for i, text in enumerate(sentences, 1)]
    more = [{"text": text.replace("carries", "line carries"), "sentences": [i]} for i, text in enumerate(sentences, 1)]
    return json.dumps({"propositions": said + more})


@pytest.fixture
def mill(tmp_path, monkeypatch):
    """A mill whose model answers with `mill.ask`."""
    made = HandMill(tmp_path)
    llm = LlmSettings(llm_url="http://127.0.0.1:9/v1", llm_revision="1")
    plan = AskingPlan(llm, LlmServerSettings(), LlmBudgetSettings(), {"id": "m"}, "0" * 64, 2000)
    asking = Asking(lambda requests: made.ask(requests), plan.identity, plan.context_tokens, count_words)
    monkeypatch.setattr(run_context, "plan_asking", lambda *_: plan)
    monkeypatch.setattr(run_context, "make_asking", lambda *_: asking)
    monkeypatch.setattr(cutters, "make_asking", lambda *_: asking)
    for name, text in TEXTS.items():
        made.write(name, text)
    made.ask = Asked(copying)
    return made


def by_id(mill):
    return {unit["unit_id"]: unit for unit in mill.live_units()}


def test_a_hit_on_a_proposition_serves_its_passage(mill):
    mill.run(rewrite="propositions", window_tokens=20)
    index = open_index(mill.root)
    (hits,) = index.search(["The Yarrow line5 line carries 52 tonnes of coal."], k=3)
    best, units = hits[0], by_id(mill)
    assert best.level == PASSAGE and units[best.unit_id]["level"] == PASSAGE
    text = TEXTS["doc05.txt"]
    assert text[best.start : best.end] == best.text and len(best.text) > len(best.matched.text)
    assert best.matched.text == "The Yarrow line5 line carries 52 tonnes of coal."
    assert text[best.matched.start : best.matched.end] == "The Yarrow line5 carries 52 tonnes of coal."
    assert units[best.matched.unit_id]["parent_id"] == best.unit_id
    assert best.score == pytest.approx(1, abs=1e-3)
    assert index.has_propositions and index.fan_in >= 1


def test_propositions_of_some_documents_are_searched_alone(mill):
    mill.run(rewrite="propositions", window_tokens=20)
    index = open_index(mill.root)
    (hits,) = index.search(["The Yarrow line5 line carries 52 tonnes of coal."], k=100, uri="*/doc0[57].txt")
    assert {hit.uri.rpartition("/")[2] for hit in hits} == {"doc05.txt", "doc07.txt"}
    everywhere = index.search(["The Yarrow line5 line carries 52 tonnes of coal."], k=100)[0]
    assert hits == [hit for hit in everywhere if hit.uri.endswith(("doc05.txt", "doc07.txt"))]


@pytest.mark.parametrize("k", [1, 5, 100])
def test_passages_come_once_each_with_their_best_propositions_score(mill, k):
    mill.run(rewrite="propositions", window_tokens=20)
    index, units = open_index(mill.root), mill.live_units()
    matchable = [unit for unit in units if unit["level"] != PASSAGE]
    ids = np.array(sorted(unit["vector_id"] for unit in matchable))
    owners = {unit["vector_id"]: unit["parent_id"] or unit["unit_id"] for unit in matchable}
    question = "How many tonnes does the Marlow line7 carry?"
    vectors = np.concatenate([shard.live.vectors(np.sort(ids[shard.holds(ids)])) for shard in index._shards])
    order = np.concatenate([np.sort(ids[shard.holds(ids)]) for shard in index._shards])
    exact = exact_search(order, vectors, index.encode([question]), len(ids))
    wanted, n_matched = {}, 0
    for number, score in zip(exact.ids[0].tolist(), exact.scores[0].tolist(), strict=True):
        n_matched += 1
        wanted.setdefault(owners[number], score)
        if len(wanted) == k:
            break
    (hits,) = index.search([question], k=k)
    assert [(hit.unit_id, hit.score) for hit in hits] == list(wanted.items())
    assert all((hit.level == PASSAGE) == (hit.matched is not None) for hit in hits)
    assert index.fan_in == n_matched / len(wanted)
    assert index.rank(index.encode([question]), k).ids[0].tolist()[: len(hits)] == [
        next(unit["vector_id"] for unit in units if unit["unit_id"] == hit.unit_id) for hit in hits
    ]


def test_passages_with_propositions_are_neither_encoded_nor_indexed(mill):
    turn = mill.run(rewrite="propositions", window_tokens=20)
    units = mill.live_units()
    n_passages = sum(unit["level"] == PASSAGE for unit in units)
    counts = turn.outcome.units
    assert n_passages > 0 and counts["encoded"] == counts["total"] - n_passages == len(units) - n_passages
    assert counts["reused"] == 0
    assert sum(shard.index.n_rows for shard in mill.manifest().shards if shard.index) == len(units) - n_passages
    assert {unit["embed_hash"] == "" for unit in units if unit["level"] == PASSAGE} == {True}
    assert verify(mill.store) == []


def test_what_was_a_passage_has_a_vector_once_it_is_a_chunk(mill):
    mill.run(rewrite="propositions", window_tokens=20)
    mill.write("doc03.txt", TEXTS["doc03.txt"] + " The Farrow line0 carries 99 tonnes of sand.")
    turn = mill.run(window_tokens=20, accept_recipe_change=True)
    assert {unit["level"] for unit in mill.live_units()} == {CHUNK} and verify(mill.store) == []
    assert turn.outcome.units["encoded"] + turn.outcome.units["reused"] == turn.outcome.units["total"]
    index = open_index(mill.root)
    for unit in mill.live_units():
        assert index.search([unit["text"]], k=1)[0][0].score > 0.9


def test_what_a_model_leaves_out_is_found_as_itself(mill):
    replies = [copying, lambda content, number: "[]", lambda content, number: LlmFailure("timed_out")]
    mill.ask = Asked(lambda content, number: replies[number % 3](content, number))
    turn = mill.run(rewrite="propositions", window_tokens=20)
    units = mill.live_units()
    levels = {unit["level"] for unit in units}
    assert levels == {CHUNK, PASSAGE, PROPOSITION}
    assert turn.outcome.outcomes["passages_as_themselves"] == sum(unit["level"] == CHUNK for unit in units)
    index = open_index(mill.root)
    for unit in units:
        if unit["level"] == CHUNK:
            hit = index.search([unit["text"]], k=1)[0][0]
            assert (hit.unit_id, hit.matched, hit.level) == (unit["unit_id"], None, CHUNK)


@pytest.mark.parametrize("kind", ["propositions", "context", "summary"])
def test_random_answers_make_sound_stores(mill, kind):
    draw = random.Random(7)
    words = ["The mill", "Harrow", "12", "rye.", "It", "costs", '{"propositions": [', "]}", '"', ",", "{", "夜"]

    def reply(content, number):
        if draw.random() < 0.3:
            return copying(content, number)
        return " ".join(draw.choices(words, k=draw.randrange(9)))

    mill.ask = Asked(reply)
    mill.run(rewrite=kind)  # fails unless the store is sound
    mill.write("doc00.txt", TEXTS["doc00.txt"] + " The Farrow line0 carries 99 tonnes of sand.")
    mill.remove("doc11.txt")
    mill.run(rewrite=kind)
    assert verify(mill.store) == []
    texts = mill.texts()
    for unit in mill.live_units():
        text = texts[unit["content_id"]]
        assert 0 <= unit["start"] <= unit["end"] <= len(text)
        assert unit["level"] not in SOURCE_LEVELS or text[unit["start"] : unit["end"]] == unit["text"]
    assert len(open_index(mill.root).search(["tonnes of oats"], k=20)[0]) > 5


def test_a_summary_is_found_beside_the_chunks_of_its_document(mill):
    mill.ask = Asked("Fields, hedges and a brook between two villages.")
    mill.run(rewrite="summary")
    (hits,) = open_index(mill.root).search(["hedges and a brook between villages"], k=12)
    best = hits[0]
    assert (best.level, best.text, best.matched) == (SUMMARY, "Fields, hedges and a brook between two villages.", None)
    assert (best.start, best.end) == (0, len(TEXTS[best.uri.rpartition("/")[2]]))


def test_generated_prefixes_are_read_by_the_encoder_but_not_served(mill):
    mill.ask = Asked("About the zinc harbour of the county.")
    mill.run(rewrite="context", max_prefix_tokens="16")
    (hits,) = open_index(mill.root).search(["About the zinc harbour of the county."], k=3)
    assert all(
        "zinc" not in hit.text and TEXTS[hit.uri.rpartition("/")[2]][hit.start : hit.end] == hit.text for hit in hits
    )
    assert {unit["context"] for unit in mill.live_units()} == {"About the zinc harbour of the county."}
    assert hits[0].score > 0.2


def test_only_documents_that_changed_are_asked_about_again(mill):
    mill.run(rewrite="propositions")
    mill.ask = Asked(copying)
    mill.write("doc03.txt", "The Harrow line3 carries 1 tonne of tin.")
    mill.run(rewrite="propositions")
    assert len(mill.ask.requests) == 1
    mill.run(rewrite="propositions")
    assert len(mill.ask.requests) == 1


def test_another_way_of_rewriting_cuts_anew(mill):
    mill.run()
    assert {unit["level"] for unit in mill.live_units()} == {CHUNK} and not mill.ask.requests
    assert not open_index(mill.root).has_propositions
    mill.run(rewrite="propositions", accept_recipe_change=True)
    assert open_index(mill.root).has_propositions


def test_another_encoder_asks_nothing_again(mill):
    mill.run(rewrite="propositions")
    units = by_id(mill)
    mill.ask = Asked("not asked")
    mill.run(rewrite="propositions", hashing_dimension=64, accept_recipe_change=True)
    assert not mill.ask.requests and by_id(mill).keys() == units.keys()
    assert open_index(mill.root).search(["The Marlow line7 carries 71 tonnes of oats."])[0][0].matched is not None


@pytest.mark.parametrize("kind", ["propositions", "summary"])
def test_an_evaluation_counts_what_is_served(mill, kind):
    if kind == "summary":
        mill.ask = Asked("Fields, hedges and a brook between two villages.")
    mill.run(rewrite=kind, window_tokens=20)
    arm = PublishedArm(mill.root)
    uri = f"{mill.source}/doc05.txt"
    spans = arm.unit_spans([arm.resolve([uri])[uri]])
    sources = [(u["start"], u["end"]) for u in mill.live_units() if u["level"] in SOURCE_LEVELS]
    assert len(spans.starts) == len(sources) / len(TEXTS)
    found = arm.rank(arm.encode(["hedges, a brook, tonnes of coal"]), 30, arm.tokenizer).ranked
    is_there = found.documents[0] >= 0
    served = set(zip(found.starts[0][is_there].tolist(), found.ends[0][is_there].tolist(), strict=True))
    assert served - {(0, 0)} <= set(sources) and ((0, 0) in served) == (kind == "summary")
    assert arm.mean_unit_tokens(arm.tokenizer) > 10

"""PIC and LLM boundaries on answers that are scripted: where they cut, what they count, what they explain."""

import json
from itertools import groupby

import numpy as np
import pytest
from asking_models import Asked

from models.encoder import load_encoder
from models.errors import SettingsError
from models.fakes import NanEncoder
from models.llm.records import OVER_CONTEXT, LlmFailure
from models.settings import EncoderSettings
from models.tokenizer import HashingTokenizer
from transforms.chunkers.anchors import CENTROID, centroid
from transforms.chunking import Detection, Questioning, make_cutter
from transforms.elements import Block, Snapshot
from transforms.rewriting.asking import Asking, estimated_tokens
from transforms.rewriting.settings import BoundarySettings, PicSettings
from transforms.semantic.detection import Detector
from transforms.settings import ChunkingSettings, SemanticSettings

CATS, BANKS = "The cat slept on the warm sill. " * 3, "Markets fell when banks raised rates. " * 3
TEXT = (CATS + BANKS + CATS).strip()
SUMMARY = "The cat slept on the sill."
HASHING = EncoderSettings(encoder="hashing")


def cutter(chunker, reply, window=100, boundaries=None, embedder=HASHING, load=load_encoder, **pic):
    asked = Asked(reply)
    chosen = {"pic_min_chars": 0, "pic_min_sentences": 1, **pic}
    questioning = Questioning(
        Asking(asked, {"kind": "scripted"}, 4096, estimated_tokens),
        PicSettings(**chosen),
        boundaries or BoundarySettings(),
    )
    detection = Detection(SemanticSettings(), Detector(embedder, load))
    settings = ChunkingSettings(chunker=chunker, window_tokens=window, max_context_tokens=0)
    return make_cutter(settings, HashingTokenizer(), 0, detection, questioning), asked


def texts(document):
    return [unit.text for unit in document.units]


def test_pic_cuts_where_sentences_change_sides():
    made, asked = cutter("pic", SUMMARY)
    document = made.cut(Snapshot(TEXT))
    assert texts(document) == [CATS.strip(), BANKS.strip(), CATS.strip()]
    assert document.detection.n_inputs == 3 and asked.n_calls == 1  # equal sentences are read once
    assert (document.chunker, document.counts) == ("pic", {})
    assert [unit.label for unit in document.units] == ["near", "far", "near"]


def test_every_piece_of_a_run_has_its_label_and_one_run_has_none():
    made, _ = cutter("pic", SUMMARY, window=9)
    document = made.cut(Snapshot(TEXT))
    assert len(document.units) > 3 and [key for key, _ in groupby(unit.label for unit in document.units)] == [
        "near",
        "far",
        "near",
    ]
    assert all((unit.label == "far") == ("banks" in unit.text) for unit in document.units)
    made, _ = cutter("pic", SUMMARY, pic_min_spread=2.0)
    assert {unit.label for unit in made.cut(Snapshot(TEXT)).units} == {""}
    made, _ = cutter("llm", json.dumps({"cut_after": [3]}))
    assert {unit.label for unit in made.cut(Snapshot(TEXT)).units} == {""}


def test_pic_is_one_run_without_a_summary_a_spread_or_the_size():
    made, _ = cutter("pic", "")
    document = made.cut(Snapshot(TEXT))
    assert texts(document) == [TEXT] and document.counts["unsummarised_documents"] == 1
    made, _ = cutter("pic", SUMMARY, pic_min_spread=2.0)
    document = made.cut(Snapshot(TEXT))
    assert texts(document) == [TEXT] and document.counts == {"no_separation": 1}
    made, asked = cutter("pic", SUMMARY, pic_min_sentences=10)
    assert made.cut(Snapshot(TEXT)).counts == {"below_pic_size": 1} and not asked.requests
    made, _ = cutter("pic", LlmFailure(OVER_CONTEXT))
    assert made.cut(Snapshot(TEXT)).counts["failed_summaries.over_context"] == 1


def test_pic_explains_labels_threshold_and_anchor():
    made, _ = cutter("pic", SUMMARY)
    found = made.explain(Snapshot(TEXT))
    assert [row.label for row in found.sentences] == ["near"] * 3 + ["far"] * 3 + ["near"] * 3
    assert [number for number, row in enumerate(found.sentences) if row.is_cut] == [2, 5]
    assert (found.measure, found.anchor) == ("similarity", SUMMARY)
    assert all((row.score >= found.threshold) == (row.label == "near") for row in found.sentences)
    made, _ = cutter("pic", "")
    assert made.explain(Snapshot(TEXT)).threshold is None


def test_real_questions_are_the_anchor_of_their_document_alone(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("/a.txt,where did the cat sleep\n/a.txt,did the cat sleep on the sill\n")
    made, asked = cutter("pic", SUMMARY, query_log=str(log))
    document = made.cut(Snapshot(TEXT), "/a.txt")
    assert texts(document) == [CATS.strip(), BANKS.strip(), CATS.strip()] and not asked.requests
    assert document.counts == {"anchored_on_questions": 1} and made.addresses == {"/a.txt"}
    made.cut(Snapshot(TEXT), "/b.txt")
    assert asked.n_calls == 1
    assert made.identity["pic"].keys() >= {"questions_sha256", "pic_min_spread"}


def test_questions_are_encoded_as_a_search_encodes_them(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("/a.txt,where did the cat sleep\n/a.txt,why do markets fall\n")
    prompted = EncoderSettings(encoder="hashing", query_prompt="asked of banks and markets: ")
    made, _ = cutter("pic", SUMMARY, embedder=prompted, query_log=str(log))
    found, encoder = made.explain(Snapshot(TEXT), "/a.txt"), load_encoder(prompted)
    questions = encoder.encode_queries(["where did the cat sleep", "why do markets fall"]).vectors
    target = questions.astype(np.float64).mean(axis=0)
    sentences = encoder.encode([TEXT[row.start : row.end] for row in found.sentences]).vectors.astype(np.float64)
    scores = sentences @ target / np.linalg.norm(sentences, axis=1) / np.linalg.norm(target)
    assert [row.score for row in found.sentences] == scores.round(4).tolist()
    plain, _ = cutter("pic", SUMMARY, query_log=str(log))
    assert plain.identity != made.identity
    assert cutter("pic", SUMMARY, embedder=prompted)[0].identity == cutter("pic", SUMMARY)[0].identity
    document = made.cut(Snapshot(TEXT), "/a.txt")
    assert (document.detection.n_inputs, document.counts) == (2 + 2, {"anchored_on_questions": 1})


def test_a_summary_without_a_vector_is_one_run_and_counted():
    made, _ = cutter("pic", f"The cat {NanEncoder.mark} slept.", load=lambda settings: NanEncoder())
    document = made.cut(Snapshot(TEXT))
    assert texts(document) == [TEXT]
    assert document.counts.items() >= {"detections_without_vector": 1, "zero_anchors": 1, "no_separation": 1}.items()
    assert {row.label for row in made.explain(Snapshot(TEXT)).sentences} == {"near"}


@pytest.mark.parametrize("anchor", ["centroid", "sentence"])
def test_anchors_of_the_documents_own_ask_nobody(anchor):
    made, asked = cutter("pic", SUMMARY, pic_anchor=anchor)
    found = made.explain(Snapshot(TEXT))
    assert not asked.requests and made.cut(Snapshot(TEXT)) == made.cut(Snapshot(TEXT))
    scores = {row.label: row.score for row in found.sentences}
    assert len(scores) == 2 and scores["near"] > scores["far"]
    if anchor == "sentence":
        assert found.anchor in (CATS.strip().split(". ")[0] + ".", BANKS.strip().split(". ")[0] + ".")
        assert max(row.score for row in found.sentences) == 1.0
    else:
        assert found.anchor == CENTROID


def test_another_documents_summary_is_asked_for_once_and_never_for_itself(tmp_path):
    other = tmp_path / "other.txt"
    other.write_bytes(BANKS.encode() + b"\r\nMore of that.")
    made, asked = cutter("pic", "Markets fell.", pic_anchor="other", pic_other_document=str(other))
    document = made.cut(Snapshot(TEXT), "/a.txt")
    assert [unit.label for unit in document.units] == ["far", "near", "far"]
    assert [("cat" in request.messages[-1].content, request.owner) for request in asked.requests] == [(False, "")]
    assert made.cut(Snapshot(BANKS + "\nMore of that.")).counts["anchored_on_itself"] == 1
    assert "other_sha256" in made.identity["pic"] and "pic_other_document" not in made.identity["pic"]
    with pytest.raises(ValueError, match="pic_other_document"):
        PicSettings(pic_anchor="other")
    other.write_text(" ")
    with pytest.raises(SettingsError, match="is empty"):
        cutter("pic", "", pic_anchor="other", pic_other_document=str(other))


def test_a_sentence_without_direction_leaves_a_centroid_and_none_at_all_is_one_run():
    vectors = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert not centroid(vectors).any() and not centroid(np.zeros((3, 4))).any()
    found = centroid(np.array([[3.0, 0.0], [0.0, 0.0], [0.0, 0.5]]))
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert np.isclose((rows @ found).sum(), np.linalg.norm(rows.sum(axis=0)))  # the cosines add up to |S|


def test_llm_cuts_after_the_named_sentences():
    made, _ = cutter("llm", json.dumps({"cut_after": [3, 6]}))
    document = made.cut(Snapshot(TEXT))
    assert texts(document) == [CATS.strip(), BANKS.strip(), CATS.strip()]
    assert document.counts == {"boundary_windows": 1}
    found = made.explain(Snapshot(TEXT))
    assert [number for number, row in enumerate(found.sentences) if row.is_cut] == [2, 5]
    assert (found.measure, found.threshold) == ("model", None) and all(row.score is None for row in found.sentences)


def test_llm_falls_back_to_the_authors_structure():
    made, asked = cutter("llm", "no idea")
    text = f"{CATS.strip()}\n\n{BANKS.strip()}"
    document = made.cut(Snapshot(text, (Block("paragraph", 0, len(CATS.strip())),)))
    assert texts(document) == [CATS.strip(), BANKS.strip()]
    assert document.counts["boundary_fallbacks"] == 1 and asked.n_calls == 2


def test_runs_over_the_cap_are_packed_and_what_llm_reads_does_not_depend_on_the_window():
    prompts = []
    for window in (100, 9):
        made, asked = cutter("llm", json.dumps({"cut_after": [3]}), window)
        document = made.cut(Snapshot(TEXT))
        prompts.append([request.messages for request in asked.requests])
    assert document.counts["runs_over_cap"] == 2 and all(unit.n_tokens <= 9 for unit in document.units)
    assert prompts[0] == prompts[1]


def test_only_busy_addresses_are_asked_about(tmp_path):
    traffic = tmp_path / "traffic.csv"
    traffic.write_text("/a.txt,5\n/b.txt,1\n")
    boundaries = BoundarySettings(traffic=str(traffic), busiest_share=0.5)
    made, asked = cutter("llm", json.dumps({"cut_after": [3]}), boundaries=boundaries)
    assert made.cut(Snapshot(TEXT), "/b.txt").chunker == "recursive" and not asked.requests
    marked = Snapshot("Head\n" + TEXT, (Block("heading", 0, 4, 1),))
    assert made.cut(marked, "/c.txt").chunker == "structural"
    assert made.cut(Snapshot(TEXT), "/a.txt").chunker == "llm" and asked.n_calls == 1
    assert "busiest_sha256" in made.identity and made.asks and not made.detects

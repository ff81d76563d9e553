"""Semantic breakpoints: what is read, where is cut, and what is counted."""

import numpy as np
import pytest
import regex

from models.encoder import load_encoder
from models.errors import SettingsError
from models.fakes import CountingEncoder, HashingEncoder, NanEncoder
from models.settings import EncoderSettings
from models.tokenizer import HashingTokenizer
from transforms.chunking import Detection, make_cutter, make_detection
from transforms.elements import Block, Snapshot
from transforms.semantic.detection import Detector, detection_encoder
from transforms.settings import ChunkingSettings, SemanticSettings

HASHING = EncoderSettings(encoder="hashing")
CATS = [f"The cat number {n} sat on the warm window sill and slept near the cat food." for n in range(6)]
BANKS = [f"The central bank raised interest rates by {n} points and bond markets fell." for n in range(6)]
TOPICS = " ".join(CATS) + " " + " ".join(BANKS)


def cutter(encoder=None, window=200, **chosen):
    detector = Detector(HASHING, lambda settings: encoder or load_encoder(settings))
    semantic = SemanticSettings(**chosen)
    return make_cutter(
        ChunkingSettings(chunker="semantic", window_tokens=window),
        HashingTokenizer(),
        detection=Detection(semantic, detector),
    )


def test_a_cut_falls_where_the_subject_changes():
    document = cutter().cut(Snapshot(TOPICS))
    assert [unit.text for unit in document.units] == [" ".join(CATS), " ".join(BANKS)]
    assert (document.chunker, document.counts) == ("semantic", {})


@pytest.mark.parametrize("kind", ["percentile", "absolute", "deviation", "iqr", "gradient"])
def test_every_kind_of_threshold_finds_the_change(kind):
    factors = {"threshold_deviations": 2.0, "gradient_percentile": 85.0, "threshold_distance": 0.8}
    document = cutter(threshold=kind, **factors).cut(Snapshot(TOPICS))
    assert 1 < len(document.units) <= 3 and document.units[0].end < len(" ".join(CATS)) + 90


def test_each_distinct_sentence_is_read_once():
    encoder = CountingEncoder(HashingEncoder())
    sentences = ["One cat.", "Two dogs.", "One cat.", "Three birds.", "One cat."]
    document = cutter(encoder).cut(Snapshot(" ".join(sentences)))
    assert encoder.calls == [["One cat.", "Two dogs.", "Three birds."]]
    assert (document.detection.n_inputs, document.detection.n_tokens) == (3, 9)
    assert document.detection.n_pairs == 27


def test_windows_of_text_read_three_times_less_the_ends():
    encoder = CountingEncoder(HashingEncoder())
    sentences = [f"{'word ' * n}number {n}." for n in range(1, 9)]
    text = " ".join(sentences)
    document = cutter(encoder, detection_windows="text", compare_windows="overlapping").cut(Snapshot(text))
    sizes = HashingTokenizer().count(sentences)
    assert document.detection.n_tokens == 3 * sizes.sum() - sizes[0] - sizes[-1]
    assert encoder.calls[0][1] == " ".join(sentences[:3])


def test_one_document_is_one_call_whatever_else_is_cut():
    encoder = CountingEncoder(HashingEncoder())
    used = cutter(encoder)
    texts = [TOPICS, "A single sentence.", " ".join(BANKS)]
    together = [used.cut(Snapshot(text)) for text in texts]
    assert [len(call) for call in encoder.calls] == [12, 6]  # one sentence has no gap to measure
    assert together == [cutter().cut(Snapshot(text)) for text in texts]


def test_equal_distances_are_no_separation_and_are_cut_recursively():
    text = "\n\n".join(["One sentence that is always the same."] * 30)
    semantic = cutter(window=40).cut(Snapshot(text))
    chosen = ChunkingSettings(chunker="recursive", window_tokens=40)
    assert semantic.units == make_cutter(chosen, HashingTokenizer()).cut(Snapshot(text)).units
    assert semantic.counts == {"no_separation": 1}


def test_a_minimum_distance_stops_cuts_on_noise():
    assert len(cutter(min_distance=0.99).cut(Snapshot(" ".join(CATS))).units) == 1
    assert len(cutter().cut(Snapshot(" ".join(CATS))).units) > 1


def test_a_run_over_the_cap_splits_at_a_paragraph_break():
    first = " ".join(CATS[:3]) + "\n\n" + " ".join(CATS[3:])
    document = cutter(window=60).cut(Snapshot(first + "\n\n" + " ".join(BANKS[:3])))
    assert [unit.text for unit in document.units] == [" ".join(CATS[:3]), " ".join(CATS[3:]), " ".join(BANKS[:3])]
    assert document.counts == {"runs_over_cap": 1}


@pytest.mark.parametrize("windows", ["mean", "text"])
def test_no_input_of_detection_is_over_the_encoders_limit(windows):
    encoder = CountingEncoder(HashingEncoder())
    text = " ".join(f"Almost the same sentence, {'and so on ' * 8}number {n}." for n in range(300)) + " Word" * 900
    document = cutter(encoder, window=64, detection_windows=windows, neighbour_sentences=8).cut(Snapshot(text))
    assert max(HashingTokenizer().count(encoder.calls[0])) <= 256
    assert document.counts["split_sentences"] == 1 and "over_limit_detections" not in document.counts
    assert max(unit.n_tokens for unit in document.units) <= 64


def test_sentences_without_a_vector_make_no_cut_and_are_counted():
    document = cutter(NanEncoder()).cut(Snapshot(f"{CATS[0]} {NanEncoder.mark} is here. {BANKS[0]} {BANKS[1]}"))
    assert document.counts["detections_without_vector"] == 1 and document.units


def test_blocks_end_sentences():
    text = "Heading without a stop\nThe cat sat on the sill. It slept."
    encoder = CountingEncoder(HashingEncoder())
    cutter(encoder).cut(Snapshot(text, (Block("heading", 0, 22, 1), Block("paragraph", 23, len(text)))))
    assert encoder.calls[0] == ["Heading without a stop", "The cat sat on the sill.", "It slept."]


def test_an_explanation_tells_the_distances_that_made_the_cuts():
    used, snapshot = cutter(), Snapshot(TOPICS)
    found = used.explain(snapshot)
    assert (found.chunker, found.measure, len(found.sentences)) == ("semantic", "distance", 12)
    assert [snapshot.text[row.start : row.end] for row in found.sentences] == CATS + BANKS
    scores = [row.score for row in found.sentences]
    assert scores[-1] is None and found.threshold == pytest.approx(np.quantile(scores[:-1], 0.95))
    assert [row.is_cut for row in found.sentences] == [number == 5 for number in range(12)]
    assert used.explain(Snapshot(" ")) is None


def test_what_decides_the_cuts_is_in_the_recipe():
    def identity(encoder=HASHING, **chosen):
        chunking = ChunkingSettings(chunker="semantic")
        return make_cutter(
            chunking, HashingTokenizer(), detection=make_detection(SemanticSettings(**chosen), encoder)
        ).identity

    base = identity()
    assert identity() == base and base["detection"]["kind"] == "hashing" and "splitting" in base["versions"]
    assert identity(threshold_percentile=90.0) != base != identity(neighbour_sentences=2)
    assert identity(threshold_deviations=1.0) == base  # the factor of a kind that is not chosen
    assert identity(EncoderSettings(encoder="hashing", hashing_dimension=32)) != base


def test_the_detection_encoder_is_the_embedder_unless_another_is_named():
    embedder = EncoderSettings(encoder="minilm", dtype="float32", document_prompt="passage: ")
    assert detection_encoder(SemanticSettings(), embedder) == embedder
    other = detection_encoder(SemanticSettings(detection_encoder="hashing"), embedder)
    assert (other.encoder, other.dtype, other.document_prompt) == ("hashing", "float32", "")


def test_without_an_encoder_there_is_no_semantic_cutter():
    with pytest.raises(SettingsError, match="needs an encoder"):
        make_cutter(ChunkingSettings(chunker="semantic"), HashingTokenizer())


def test_a_real_encoder_tells_subjects_apart(tokenizers):
    sentences = regex.split(
        r"(?<=\.) ",
        "Cats sleep for most of the day. A kitten needs food four times a day. Cat claws are sharp. "
        "The central bank raised interest rates. Inflation reached nine percent. Bond yields rose sharply.",
    )
    encoder = EncoderSettings(encoder="minilm")
    detection = make_detection(SemanticSettings(threshold_percentile=80.0, neighbour_sentences=0), encoder)
    chosen = ChunkingSettings(chunker="semantic")
    document = make_cutter(chosen, tokenizers["minilm"], detection=detection).cut(Snapshot(" ".join(sentences)))
    assert " ".join(sentences[:3]) == document.units[0].text
    assert document.detection.n_tokens == tokenizers["minilm"].count(sentences).sum() + 2 * 6

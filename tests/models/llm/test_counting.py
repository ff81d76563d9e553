"""Prompts are counted by the model's own tokenizer, or by the endpoint."""

import pytest
import tokenizers

from models.errors import ModelError, SettingsError
from models.llm.counting import load_counter
from models.llm.settings import LlmSettings


@pytest.fixture
def folder(tmp_path):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "?": 1}, unk_token="?"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(2)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def test_the_files_of_the_model_count_whole_texts(folder):
    for count in (
        load_counter(LlmSettings(), folder),
        load_counter(LlmSettings(llm_tokenizer=str(folder))),
        load_counter(LlmSettings(llm_tokenizer=str(folder / "tokenizer.json"))),
    ):
        assert count("a b c d") == 4


def test_tiktoken_counts_for_models_that_use_it():
    assert load_counter(LlmSettings(llm_tokenizer="tiktoken:cl100k_base"))("hello world") == 2


def test_without_files_the_endpoint_is_asked(tmp_path):
    assert load_counter(LlmSettings()) is None and load_counter(LlmSettings(), tmp_path) is None


def test_a_name_that_counts_nothing_is_a_mistake(tmp_path):
    with pytest.raises(SettingsError, match="llm_tokenizer = 'gone'"):
        load_counter(LlmSettings(llm_tokenizer="gone"))
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="is no tokenizer"):
        load_counter(LlmSettings(), tmp_path)

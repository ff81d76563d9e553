import pytest

from models.errors import SettingsError
from pipelines.config import load_settings, setting_fields
from pipelines.unused_flags import check_flags_are_used

MODEL = {"llm_url": "http://127.0.0.1:1/v1", "llm_revision": "1"}


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        (
            {"threshold_percentile": "80"},
            "--threshold-percentile changes nothing here; it goes with --chunker sem",
        ),
        ({"chunker": "semantic", "threshold": "iqr", "threshold_percentile": "80"}, "--threshold percentile"),
        ({"pic_min_chars": "80"}, "--chunker pic"),
        ({"chunker": "pic", "compare_windows": "apart"} | MODEL, "--chunker semantic"),
        ({"traffic": "t.csv"}, "--chunker llm"),
        ({"chunker": "llm", "busiest_share": "0.1"} | MODEL, "--traffic"),
        ({"max_propositions_tokens": "80"}, "--rewrite propositions"),
        ({"rewrite": "summary", "shown_chars": "80"} | MODEL, "--rewrite propositions or context"),
        (
            MODEL,
            "it goes with --chunker pic or llm, or with --rewrite, or leave it out",
        ),
        ({"budget_usd": "1"}, "--budget-usd changes nothing here"),
        ({"hashing_dimension": "8"}, "--encoder hashing"),
    ],
)
def test_a_flag_without_its_chunker_is_a_mistake(given, remedy):
    with pytest.raises(SettingsError) as error:
        check_flags_are_used(load_settings(None, given), given)
    assert remedy in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "given",
    [
        {"chunker": "semantic", "threshold": "iqr", "threshold_iqrs": "2", "min_distance": "0.1"},
        {"chunker": "pic", "pic_min_chars": "80", "detection_encoder": "hashing", "budget_usd": "1"} | MODEL,
        {"chunker": "llm", "traffic": "t.csv", "busiest_share": "0.1"} | MODEL,
        {"chunker": "fixed", "overlap_tokens": "2", "rewrite": "context", "max_prefix_tokens": "20"} | MODEL,
        {"encoder": "hashing", "hashing_dimension": "8", "index": "flat", "nprobe": "4"},
    ],
)
def test_flags_of_the_chosen_chunker_pass(given):
    check_flags_are_used(load_settings(None, given), given)


def test_every_rule_is_about_a_setting_that_there_is():
    from pipelines import unused_flags

    assert set(unused_flags._NAMES) <= set(setting_fields())


def test_a_settings_file_may_hold_the_settings_of_several_chunkers(tmp_path):
    file = tmp_path / "mill.toml"
    file.write_text("[semantic]\nthreshold_percentile = 80\n")
    given = {"chunker": "recursive"}
    check_flags_are_used(load_settings(file, given), given)

from datetime import date

import pytest

from models.errors import SettingsError
from models.prices import Prices, device_usd, load_prices, token_usd


@pytest.fixture
def prices(tmp_path):
    def load(text):
        path = tmp_path / "prices.toml"
        path.write_text(text)
        return load_prices(path)

    return load


def test_the_defaults_are_dated_and_above_zero():
    found = load_prices(None)
    assert found == Prices() and found.as_of == date(2026, 11, 1)
    assert not found.states("gpu", "usd_per_hour")


def test_a_file_goes_over_the_defaults_value_by_value(prices):
    found = prices('as_of = 2027-02-01\n[gpu]\nusd_per_hour = 2\n[llm]\npaid_by = "hour"\n')
    assert found.as_of == date(2027, 2, 1) and found.llm.paid_by == "hour"
    assert (found.gpu.usd_per_hour, found.gpu.flop_per_second) == (2, 3.4e14)
    assert found.states("llm", "paid_by") and not found.states("llm", "parameters")
    assert found.states("gpu", "usd_per_hour") and not found.states("gpu", "flop_per_second")


def test_the_documented_file_is_the_defaults(prices, checkout):
    page = (checkout / "docs" / "plan.md").read_text()
    found = prices(page.split("cat > prices.toml <<'END'\n")[1].split("END\n")[0])
    assert found == Prices()
    for section in ("cpu", "gpu", "encoder", "llm", "assumptions"):
        names = set(type(getattr(found, section)).model_fields)
        assert found.states(section, *(names if section != "encoder" else {"device", "overhead_tokens"}))


def test_money_is_counted_in_its_units():
    assert token_usd(2_500_000, 0.02) == pytest.approx(0.05)
    assert device_usd(1800, 3.0) == 1.5


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[gpu]\nusd_per_hour = 0\n", r"gpu\.usd_per_hour = 0"),
        ("[cpu]\nusd_per_hour = -1\n", r"cpu\.usd_per_hour = -1"),
        ("[llm]\nusd_per_million_input_tokens = inf\n", "usd_per_million_input_tokens = inf"),
        ("[llm]\nusd_per_million_input_tokens = nan\n", "usd_per_million_input_tokens = nan"),
        ("[encoder]\nusd_per_million_tokens = -0.1\n", "usd_per_million_tokens"),
        ('[gpu]\nusd_per_hour = "2"\n', "usd_per_hour"),
        ("[assumptions]\nsemantic_cut_fraction = 1\n", "semantic_cut_fraction"),
        ("[gpu]\nprice = 2\n", r"unknown name gpu\.price"),
        ("[tpu]\nusd_per_hour = 2\n", "unknown name tpu"),
        ("gpu = 3\n", "gpu = 3"),
        ("[gpu\n", "no TOML"),
        ("[encoder]\nparameters = 0\n", "parameters = 0"),
    ],
)
def test_a_price_that_cannot_be_is_one_line(prices, text, part):
    with pytest.raises(SettingsError, match=part) as caught:
        prices(text)
    assert "\n" not in str(caught.value) and caught.value.exit_code == 2


def test_files_that_are_none_are_named(tmp_path):
    with pytest.raises(SettingsError, match=r"nowhere\.toml"):
        load_prices(tmp_path / "nowhere.toml")
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * 300_000)
    with pytest.raises(SettingsError, match="over"):
        load_prices(large)

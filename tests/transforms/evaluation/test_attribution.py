import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import SettingsError
from transforms.evaluation.attribution import attribute, control_movement, overlap_of_share

SHARE = st.floats(0, 1)


@given(SHARE, SHARE, SHARE)
def test_the_parts_add_up(a, b, c):
    found = attribute(a, b, c)
    assert found.truncation + found.dilution == pytest.approx(found.total)


@given(st.lists(SHARE, min_size=1), SHARE)
def test_the_control_moves_as_far_as_its_ends(levels, more):
    assert control_movement(levels) == max(abs(a - b) for a in levels for b in levels)
    assert control_movement([*levels, more]) >= control_movement(levels)


@pytest.mark.parametrize("share", [-0.1, 1.0, 2])
def test_an_overlap_of_the_whole_window_is_refused(share):
    with pytest.raises(SettingsError, match="overlap_share = "):
        overlap_of_share(100, share)

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import SettingsError
from transforms.evaluation.sampling import stratified_sample


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.data())
def test_a_sample_keeps_what_answers_and_shares_the_rest(strata, data):
    rows = range(len(strata))
    kept = data.draw(st.sets(st.sampled_from(rows)))
    wanted = data.draw(st.integers(len(kept), len(strata)))
    taken = stratified_sample(strata, kept, wanted, seed=1)
    assert taken == sorted(set(taken)) and kept <= set(taken) and len(taken) == wanted
    others = [row for row in rows if row not in kept]
    sizes, drawn = (Counter(strata[row] for row in group) for group in (others, set(taken) - kept))
    for stratum, size in sizes.items():
        assert abs(drawn[stratum] - size * (wanted - len(kept)) / len(others)) < 1


def test_a_sample_without_room_is_refused():
    with pytest.raises(SettingsError, match="no room for the 2 that answer"):
        stratified_sample("aab", {0, 2}, 1)

import numpy as np
import pytest
from hand_mill import HandMill, fill

from transforms.live_units import live_ids, live_rows


@pytest.fixture
def mill(tmp_path) -> HandMill:
    return HandMill(tmp_path, {"accept_deletes": True})


def test_rows_come_in_id_order_without_those_asked_to_be_left_out(mill):
    fill(mill, range(9))
    mill.run()
    fill(mill, range(2), "edited")
    mill.run()
    context, _, _ = mill.context()
    (only_shard,) = mill.manifest().shards
    ids, vectors = live_rows(context, only_shard)
    assert np.array_equal(ids, live_ids(context, only_shard)) and len(vectors) == 9
    some, rest = live_rows(context, only_shard, without=ids[::2])
    assert np.array_equal(some, ids[1::2]) and np.array_equal(rest, vectors[1::2])

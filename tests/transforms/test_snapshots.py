import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.elements import Block, Snapshot
from transforms.scratch import read_rows, write_rows
from transforms.snapshots import snapshots_of, snapshots_table
from transforms.store.files import Store
from transforms.store.segments import take_rows, write_table

BLOCKS = st.builds(
    Block,
    st.sampled_from(["heading", "table", "page"]),
    *[st.integers(0, 2**40)] * 2,
    st.integers(0, 6),
    st.integers(0, 9),
)
SNAPSHOTS = st.lists(
    st.builds(Snapshot, st.text(st.characters(exclude_categories=["Cs"])), st.lists(BLOCKS, max_size=4).map(tuple)),
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(snapshots=SNAPSHOTS, data=st.data())
def test_snapshots_come_back_from_any_rows(snapshots, data):
    table = snapshots_table([str(row) for row in range(len(snapshots))], snapshots)
    assert snapshots_of(table) == snapshots
    rows = data.draw(st.lists(st.sampled_from(range(len(snapshots))))) if snapshots else []
    assert snapshots_of(table.take(pa.array(rows, pa.int64()))) == [snapshots[row] for row in rows]
    assert snapshots_of(table.slice(1)) == snapshots[1:]


def test_rows_of_scratch_files_and_of_segments_come_in_the_order_asked_for(tmp_path):
    store = Store(str(tmp_path))
    snapshots = [Snapshot(f"text {row}", (Block("heading", 0, row),) * (row % 3)) for row in range(5000)]
    table = snapshots_table([f"{row:032x}" for row in range(5000)], snapshots)
    write_rows(store, "runs/1/a.arrow", table)
    entry = write_table(store, "snapshots/0000-0fff", table)
    for rows in ([4999, 0, 2048, 2047, 0], [3], [], range(2040, 2060)):
        expected = [snapshots[row] for row in rows]
        assert snapshots_of(read_rows(str(tmp_path), "runs/1/a.arrow", rows)) == expected
        assert snapshots_of(take_rows(store, entry, rows)) == expected

"""Packing contents into work items."""

from hypothesis import given
from hypothesis import strategies as st

from transforms.record_coder import RecordCoder
from transforms.records import WorkEntry
from transforms.work import MAX_ENTRIES, WorkPacker

entries = st.builds(
    lambda number, n_chars, n_leftovers: WorkEntry(
        f"{number:032d}", 3, "cut", "runs/r/reads/p.arrow", number, 1, n_chars, "f" * 32, ("x" * 90,) * n_leftovers
    ),
    st.integers(0, 999),
    st.integers(0, 500),
    st.sampled_from([0, 0, 1, 40]),
)


@given(st.lists(st.lists(entries, max_size=40), max_size=20), st.integers(1, 2000))
def test_items_hold_all_entries_in_order_within_the_limits(batches, max_chars):
    packer = WorkPacker(max_chars)
    items = [item for batch in batches for item in packer.add(batch)] + list(packer.flush())
    assert [entry for item in items for entry in item.entries] == [entry for batch in batches for entry in batch]
    for item in items:
        assert sum(entry.n_chars for entry in item.entries) <= max_chars or len(item.entries) == 1
        assert len(item.entries) <= MAX_ENTRIES
        assert len(RecordCoder().encode(item)) <= 256 * 1024


def test_small_entries_fill_an_item_by_number():
    packer = WorkPacker(10**9)
    many = [WorkEntry("c", 0, "cut", "p", n, 1, 1) for n in range(MAX_ENTRIES + 1)]
    assert [len(item.entries) for item in packer.add(many)] == [MAX_ENTRIES]
    assert [len(item.entries) for item in packer.flush()] == [1]
    assert not list(packer.flush())

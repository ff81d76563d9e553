"""What stops a run."""

import pytest
from hand_mill import HandMill
from hypothesis import given
from hypothesis import strategies as st

from transforms.guards import add_up, failed_contents, is_conserved, max_failed, refusal, too_many_failures
from transforms.records import Failure, GuardCount

counts = st.builds(
    GuardCount,
    *[st.integers(0, 99)] * 4,
    st.dictionaries(st.sampled_from(["read:a", "read:b"]), st.integers(1, 9)),
    st.lists(st.sampled_from("abcdef"), max_size=3).map(tuple),
    st.integers(0, 9),
    st.integers(0, 9),
)


@given(st.lists(counts, max_size=8), st.randoms())
def test_counts_add_up_in_any_order_and_in_parts(parts, random):
    total = add_up(parts)
    shuffled = list(parts)
    random.shuffle(shuffled)
    assert add_up([add_up(shuffled[:3]), add_up(shuffled[3:])]) == total
    assert total.failed == sum(part.failed for part in parts) and len(total.examples) <= 3


@pytest.fixture
def mill(tmp_path) -> HandMill:
    mill = HandMill(tmp_path)
    for n in range(10):
        mill.write(f"{n}.txt", f"text {n}")
    mill.run()
    return mill


@pytest.mark.parametrize("vanished, stops", [(0, False), (2, False), (3, True), (10, True)])
def test_more_than_a_share_of_the_known_documents_may_not_vanish(mill, vanished, stops):
    for n in range(vanished):
        mill.remove(f"{n}.txt")
    turn = mill.run()
    assert bool(turn.outcome.refused) == stops
    if stops:
        assert turn.outcome.refused.startswith(
            f"{vanished} of 10 known documents vanished, over max_delete_share = 20%"
        )
        assert not turn.items and len(mill.documents()) == 10
        assert mill.run(accept_deletes=True).outcome.documents["deleted"] == vanished


def test_texts_under_another_name_have_not_vanished(mill):
    for n in range(10):
        mill.remove(f"{n}.txt")
        mill.write(f"new{n}.txt", f"text {n}")
    assert mill.run().outcome.documents["deleted"] == 10


def test_rows_vanish_as_files_do(tmp_path):
    mill = HandMill(tmp_path)
    mill.write_rows("t.parquet", [(f"r{n}", f"text {n}") for n in range(10)])
    mill.run()
    mill.write_rows("t.parquet", [(f"r{n}", f"text {n}") for n in range(7)])
    assert "3 of 10 known documents vanished" in mill.run().outcome.refused


def test_documents_without_text_vanish_too(tmp_path):
    mill = HandMill(tmp_path)
    for n in range(10):
        mill.write(f"{n}.txt", "" if n < 5 else f"text {n}")
    mill.run()
    for n in range(5):
        mill.remove(f"{n}.txt")
    assert "5 of 10 known documents vanished" in mill.run().outcome.refused
    for n in range(5):
        mill.write(f"renamed{n}.txt", "")
    assert mill.run().outcome.documents["empty"] == 5


def test_failures_are_named_by_reason_and_example(mill):
    context, _, _ = mill.context(max_failures="2")
    assert too_many_failures(context, 2, 10, {"read:a": 2}) == ""
    line = too_many_failures(context, 3, 10, {"read:a": 1, "cut:b": 2}, ["x\ny"])
    assert line.startswith("3 of 10 documents failed, over max_failures = 2 (2 cut:b, 1 read:a, among them 'x\\ny')")


def test_documents_that_were_not_read_count_as_listed(mill):
    import dataclasses

    context, _, _ = mill.context(max_failures="10%")
    few = GuardCount(listed=2, failed=2, reasons={"read:a": 2})
    assert "2 of 2 documents failed" in refusal(context, few)
    assert refusal(dataclasses.replace(context, n_unchanged=18), few) == ""


@pytest.mark.parametrize(
    "setting, listed, allowed", [("5%", 100, 5), ("0", 100, 0), ("12.5%", 8, 1), ("7", 1, 7), ("100%", 3, 3)]
)
def test_limits_are_shares_or_numbers(setting, listed, allowed):
    assert max_failed(setting, listed) == allowed


def test_a_content_fails_when_nothing_of_it_can_be_served():
    bad = [Failure("encode", "not_finite", content_id="c", vector_id=n, n_of=2) for n in (1, 2)]
    assert failed_contents(bad) == failed_contents(bad[::-1]) and failed_contents(bad).keys() == {"c"}
    assert failed_contents([bad[0], bad[0]]) == {}  # the same one, told twice
    cut = Failure("cut", "no_units", content_id="d")
    assert failed_contents([*bad, cut]).keys() == {"c", "d"}
    served = Failure("boundaries", "refused", content_id="e", is_served=True)
    assert failed_contents([served, *bad]).keys() == {"c"}


def test_every_listed_document_has_one_outcome():
    assert is_conserved({"listed": 4, "indexed": 1, "unchanged": 1, "empty": 1, "failed": 1, "stale": 1, "deleted": 9})
    assert not is_conserved({"listed": 4, "indexed": 3}) and is_conserved({})

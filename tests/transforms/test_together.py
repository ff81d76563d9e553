"""Records of one key: what comes out is what went in, and what goes through the shuffle is small."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.context import open_store
from transforms.record_coder import RecordCoder
from transforms.records import DocumentRead, Failure, Note, SeveralWritten
from transforms.together import INLINE_BYTES, SEVERAL_BYTES, all_records, one_by_one, passed_on, taken_together

CODER = RecordCoder()
texts = st.text(max_size=300)
records = st.lists(
    st.one_of(
        st.builds(Note, texts, st.integers(0, 2**60), texts),
        st.builds(
            DocumentRead, texts, texts, st.integers(-1, 9), texts, st.just(1), texts, st.just(-1), texts, st.just(0.5)
        ),
    ),
    max_size=30,
)


@given(records, st.integers(1, 40))
def test_records_taken_together_come_one_by_one(many, repeats):
    many = many * repeats
    together = list(taken_together(many))
    assert list(one_by_one(together)) == many == list(one_by_one(many))
    assert all(several.records for several in together)


def test_what_is_taken_together_stays_small():
    long = Note("x" * 50_000, 1)
    huge = Note("y" * 300_000, 1)
    together = list(taken_together([long] * 7 + [huge] + [long]))
    sizes = [sum(len(record.outcome) for record in several.records) for several in together]
    assert [size for size in sizes if size > SEVERAL_BYTES] == [300_000]
    assert sum(sizes) == 650_000 + 50_000


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    root = str(tmp_path_factory.mktemp("together"))
    return SimpleNamespace(root=root, store=open_store(root), scratch=lambda folder: f"runs/r/{folder}")


@given(by_key=st.dictionaries(st.integers(0, 5), records, max_size=4))
def test_what_is_passed_on_is_what_was_said_to_each_key(context, by_key):
    passed = list(passed_on(context, by_key))
    assert len({key for key, _ in passed}) == len(passed)
    found = {key: list(all_records(context, [element])) for key, element in passed}
    assert found == {key: said for key, said in by_key.items() if said}
    assert all(len(CODER.encode(element)) <= INLINE_BYTES for _, element in passed)


def test_however_much_is_said_a_key_takes_no_more_of_it(context):
    dead = [Failure("encode", "bad_vector", content_id=f"{n:032x}", vector_id=n, n_of=1) for n in range(10_000)]
    ((key, element),) = passed_on(context, {0: dead})
    assert key == 0 and len(CODER.encode(element)) <= INLINE_BYTES
    assert list(all_records(context, [element])) == dead


def test_a_try_that_is_made_again_spoils_nothing_for_readers_of_the_first(context):
    first = [DocumentRead(f"d{n}", "f", n, f"{n:032x}", 9, "p", n, "", 0.25) for n in range(99)]
    ((_, place),) = passed_on(context, {0: first})
    again = [DocumentRead(f"d{n}", "f", n, f"{n:032x}", 9, "p", n, "", 0.123456) for n in range(99)]
    ((_, other),) = passed_on(context, {0: again})
    assert isinstance(place, SeveralWritten) and place.path != other.path
    assert list(all_records(context, [place])) == first

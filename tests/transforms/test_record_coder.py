"""Records across a shuffle: what comes out is what went in, in as few and as small elements as may be."""

from hypothesis import given
from hypothesis import strategies as st

from transforms.record_coder import RecordCoder
from transforms.records import DocumentRead, FileSeen, Note, Several
from transforms.together import taken_together

CODER = RecordCoder()
texts = st.text(max_size=300)
documents = st.builds(
    DocumentRead, texts, texts, st.integers(-1, 2**40), texts, st.integers(0, 2**40), texts, st.integers(-1, 9), texts,
    st.floats(0, 1e9),
)  # fmt: skip
notes = st.builds(Note, texts, st.integers(0, 2**60), texts)
seen = st.builds(FileSeen, texts, st.integers(-1, 2**60), texts, st.booleans(), texts, st.booleans(), st.integers(0, 9))
records = st.lists(st.one_of(documents, notes, seen), max_size=30)


@given(records)
def test_what_comes_out_is_what_went_in(many):
    for record in [*many, Several(tuple(many))]:
        assert CODER.decode(CODER.encode(record)) == record
        assert CODER.encode(record) == CODER.encode(CODER.decode(CODER.encode(record)))


def test_paths_of_one_run_are_compressed():
    many = [DocumentRead(f"/corpus/0000/{n:06d}.html", f"/corpus/0000/{n:06d}.html", -1, f"{n:032x}", 297,
                         "runs/20260101T000000-0123abcd/reads/0123456789abcdef-0000.arrow", n, "", 0.008)
            for n in range(200)]  # fmt: skip
    (several,) = taken_together(many)
    assert len(CODER.encode(several)) < 40 * len(many)

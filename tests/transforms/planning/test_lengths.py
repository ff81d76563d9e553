import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import SettingsError
from transforms.planning.lengths import Lengths, read_lengths


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 10**12)), min_size=1))
def test_totals_are_exact_whatever_their_size(rows):
    if not sum(count for _, count in rows):
        return
    lengths = Lengths(*zip(*rows, strict=True))
    assert lengths.n_documents == sum(count for _, count in rows)
    assert lengths.n_tokens == sum(length * count for length, count in rows)
    assert sorted(set(lengths.tokens.tolist())) == lengths.tokens.tolist() and lengths.documents.min() > 0


@pytest.mark.parametrize("text", ["tokens,documents\n10,3\n\n20,1\n10,2\n", "\ufeff10,5\n20, 1\n"])
def test_a_histogram_is_read_with_and_without_a_header(tmp_path, text):
    path = tmp_path / "lengths.csv"
    path.write_text(text)
    lengths = read_lengths(path)
    assert (lengths.tokens.tolist(), lengths.documents.tolist()) == ([10, 20], [5, 1])


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"10,3\n10\n", "line 2"),
        (b"10,3,4\n", "line 1"),
        (b"10,-3\n", "line 1"),
        (b"1e3,3\n", "line 1"),
        (b"10,0\n", "documents = 0"),
        (b"", "documents = 0"),
        (b"10,9999999999999\n", "documents = 9999999999999"),
        (b"10,99999999999999999999999\n", "line 1"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_bad_histogram_is_one_line(tmp_path, data, part):
    path = tmp_path / "lengths.csv"
    path.write_bytes(data)
    with pytest.raises(SettingsError, match=part) as caught:
        read_lengths(path)
    assert "\n" not in str(caught.value)


def test_a_missing_histogram_is_named(tmp_path):
    with pytest.raises(SettingsError, match=r"nowhere\.csv"):
        read_lengths(tmp_path / "nowhere.csv")

"""The busiest share of documents, exactly, however the file is ordered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import SettingsError
from transforms.rewriting.traffic import busiest


@given(st.dictionaries(st.text("abc/", min_size=1), st.integers(0, 9), max_size=12), st.integers(0, 10), st.randoms())
def test_no_one_left_out_is_busier(tmp_path_factory, traffic, tenths, random):
    lines = [f"{uri},{count}\n" for uri, count in traffic.items()]
    random.shuffle(lines)
    path = tmp_path_factory.mktemp("traffic") / "traffic.csv"
    path.write_text("".join(lines))
    kept = busiest(str(path), tenths / 10)
    assert len(kept) == -(-len(traffic) * tenths // 10) and kept <= set(traffic)
    left = traffic.keys() - kept
    assert all((-traffic[a], a) < (-traffic[b], b) for a in kept for b in left)


def test_an_address_that_comes_twice_has_both_numbers(tmp_path):
    path = tmp_path / "traffic.csv"
    path.write_text('"a, b",2\nc,3\n\n"a, b",2.5\n')
    assert busiest(str(path), 0.5) == {"a, b"}


@pytest.mark.parametrize("line", ["a", "a,b", "a,-1", "a,nan", "a,1,2", "a,inf", ",1", " ,1"])
def test_a_line_that_is_no_pair_is_named(tmp_path, line):
    path = tmp_path / "traffic.csv"
    path.write_text(f"ok,1\n{line}\n")
    with pytest.raises(SettingsError, match=r"traffic\.csv, line 2: .* must be an address and a number"):
        busiest(str(path), 0.5)


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read as CSV"):
        busiest(str(tmp_path / "gone"), 0.5)
    with pytest.raises(SettingsError, match=r"share = 2 must lie"):
        busiest(str(tmp_path), 2)


def test_a_byte_order_mark_is_no_address_and_a_name_that_no_file_can_have_is_one_line(tmp_path):
    path = tmp_path / "traffic.csv"
    path.write_bytes(b"\xef\xbb\xbf/a,2\n/b,1\n")
    assert busiest(str(path), 0.5) == {"/a"}
    with pytest.raises(SettingsError, match="cannot be read"):
        busiest("a\0b", 0.5)

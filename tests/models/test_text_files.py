"""Small files that a person wrote: whole and without a mark, or one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import SettingsError
from models.text_files import read_text


@given(text=st.text(st.characters(codec="utf-8"), max_size=50))
def test_a_text_comes_back_without_its_mark(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_text(path, 1000, "split it") == text


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"x" * 11, "is over 10 bytes; split it"), (b"ok \xff", r"is not UTF-8 \(byte 3\); save it as UTF-8")],
)
def test_what_cannot_be_taken_is_one_line(tmp_path, data, message):
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(SettingsError, match=message):
        read_text(path, 10, "split it")
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        read_text(tmp_path / "none.txt", 10, "split it")

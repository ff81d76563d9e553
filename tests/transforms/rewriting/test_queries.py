"""A query log is read whole or refused with the line that is wrong."""

import pytest

from models.errors import SettingsError
from transforms.rewriting.queries import MAX_QUESTION_CHARS, MAX_QUESTIONS, questions_sha256, read_questions


def test_questions_are_distinct_sorted_and_bounded(tmp_path):
    path = tmp_path / "log.csv"
    rows = [f'/a.txt,"why,  {number}?"' for number in range(100)] + ["/b.txt,how", "", "/b.txt,how", f"/c,{'w' * 9000}"]
    path.write_text("\n".join(rows))
    found = read_questions(str(path))
    assert found["/b.txt"] == ("how",) and len(found["/a.txt"]) == MAX_QUESTIONS and "why, 0?" in found["/a.txt"]
    assert len(found["/c"][0]) == MAX_QUESTION_CHARS
    path.write_text("\n".join(reversed(rows)))
    assert questions_sha256(read_questions(str(path))) == questions_sha256(found)
    path.write_text("/b.txt,who")
    assert questions_sha256(read_questions(str(path))) != questions_sha256(found)


@pytest.mark.parametrize("line", [b"/a.txt", b"/a.txt,", b",how", b" ,how", b"/a.txt,one,two", b"\xff\xfe,how"])
def test_a_bad_line_is_named(tmp_path, line):
    path = tmp_path / "log.csv"
    path.write_bytes(b"/a.txt,how\n" + line)
    with pytest.raises(SettingsError, match=r"log\.csv"):
        read_questions(str(path))
    with pytest.raises(SettingsError, match="cannot be read"):
        read_questions(str(tmp_path / "none.csv"))


def test_a_long_log_gives_what_sorting_all_of_it_gives_and_a_byte_order_mark_is_no_address(tmp_path):
    path = tmp_path / "log.csv"
    questions = [f"why {number * 7919 % 3001}" for number in range(3001)]
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join(f"/a,{question}" for question in questions).encode())
    assert read_questions(str(path)) == {"/a": tuple(sorted(questions)[:MAX_QUESTIONS])}


def test_a_name_that_no_file_can_have_is_one_line(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        read_questions("a\0b")

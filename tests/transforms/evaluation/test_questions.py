import json

import pytest

from models.errors import SettingsError
from transforms.evaluation.questions import (
    MAX_LINE_BYTES,
    MAX_REFERENCES,
    Question,
    Reference,
    question_places,
    read_questions,
)

REFERENCE = {"uri": "a.txt", "quote": "b"}


@pytest.fixture
def read(tmp_path):
    """Reads a file of these lines, which are JSON or values to be written as JSON."""

    def from_lines(*lines):
        file = tmp_path / "questions.jsonl"
        texts = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
        file.write_bytes(b"\n".join(texts) + b"\n")
        return list(read_questions(file))

    return from_lines


def test_questions_come_with_their_lines(read):
    spans = {"uri": "a.txt", "start": 3, "end": 9}
    found = read(
        {"question": "Why?", "references": [REFERENCE, spans]},
        b"  ",
        {"question": "x", "references": [spans], "id": "q2"},
    )
    assert found == [
        (1, Question("Why?", (Reference("a.txt", quote="b"), Reference("a.txt", 3, 9)))),
        (3, Question("x", (Reference("a.txt", 3, 9),), "q2")),
    ]


def test_lines_are_read_one_at_a_time(tmp_path):
    file = tmp_path / "questions.jsonl"
    file.write_text(json.dumps({"question": "a", "references": [REFERENCE]}) + "\nnot json\n")
    questions = read_questions(file)
    assert next(questions)[0] == 1
    with pytest.raises(SettingsError, match="line 2"):
        next(questions)


@pytest.mark.parametrize(
    ("line", "part"),
    [
        (b"{", "truncated"),
        (b"\xff\xfe", "line 1"),
        (b"[" * 100_000, "line 1"),
        ([1], "Expected `object`, got `array`"),
        ({"references": [REFERENCE]}, "missing required field `question`"),
        ({"question": "a"}, "missing required field `references`"),
        ({"question": "a", "references": [REFERENCE], "answer": "b"}, "unknown field `answer`"),
        ({"question": "a", "references": [REFERENCE | {"page": 1}]}, "unknown field `page`"),
        ({"question": "a", "references": [{"quote": "b"}]}, "missing required field `uri`"),
        ({"question": " \n", "references": [REFERENCE]}, "the question is empty"),
        ({"question": "a", "references": []}, "no references"),
        ({"question": "a", "references": [REFERENCE] * (MAX_REFERENCES + 1)}, "1001 references"),
        ({"question": "a", "references": [{"uri": "", "quote": "b"}]}, "reference 1 has an empty uri"),
        ({"question": "a", "references": [{"uri": "a"}]}, "neither a quote nor start and end"),
        ({"question": "a", "references": [REFERENCE, {"uri": "a", "start": 1}]}, "reference 2 has only one of start"),
        ({"question": "a", "references": [{"uri": "a", "quote": " "}]}, "an empty quote"),
        ({"question": "a", "references": [{"uri": "a", "start": 4, "end": 4}]}, "[4:4], which holds nothing"),
        ({"question": "a", "references": [{"uri": "a", "start": -1, "end": 4}]}, "[-1:4], which holds nothing"),
        ({"question": "a", "references": [REFERENCE], "id": "i" * 1001}, "an id of 1001 characters"),
        ({"question": "a" * MAX_LINE_BYTES, "references": [REFERENCE]}, "over 1048576 bytes"),
    ],
)
def test_a_bad_line_is_named_in_one_line(read, line, part):
    with pytest.raises(SettingsError) as error:
        read(line)
    message = str(error.value)
    assert "questions.jsonl, line 1: " in message and part in message and "\n" not in message


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(SettingsError, match=r"nothing\.jsonl' cannot be read: No such file"):
        list(read_questions(tmp_path / "nothing.jsonl"))


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path):
    line = json.dumps({"question": "a", "references": [REFERENCE]}).encode()
    path = tmp_path / "questions.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + line + b"\n" + line)
    assert [number for number, _ in read_questions(path)] == [1, 2]
    (first, start), (second, offset) = question_places(path)
    assert (first, start, second) == (1, 0, 2) and list(read_questions(path, offset, 2)) == list(read_questions(path))[
        1:
    ]

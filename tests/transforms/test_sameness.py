"""What is worth a version and what is not."""

import pytest
from hand_mill import HandMill

import transforms.sameness as sameness


@pytest.fixture
def mill(tmp_path):
    mill = HandMill(tmp_path, {"max_failures": "100%"})
    for number in range(3):
        mill.write(f"{number}.txt", f"text {number}")
    mill.write("bad.pdf", "%PDF no")
    assert mill.run().outcome.published
    return mill


def touch(mill: HandMill, n: int) -> None:
    for number in range(n):
        mill.stamp(f"{number}.txt")


def test_objects_read_again_and_found_as_they_were_are_no_version(mill):
    touch(mill, 3)
    outcome = mill.run().outcome
    assert (outcome.published, outcome.version, outcome.refused) == (False, mill.manifest().version, "")
    assert (outcome.documents["listed"], outcome.documents["unchanged"], outcome.documents["failed"]) == (4, 3, 1)


@pytest.mark.parametrize(("limit", "value"), [("RESTAMPED_FILES", 3), ("RESTAMPED_BYTES", 18)])
def test_stamps_that_save_much_reading_are_a_version(mill, monkeypatch, limit, value):
    monkeypatch.setattr(sameness, limit, value)
    touch(mill, 2)
    assert not mill.run().outcome.published
    touch(mill, 3)
    assert mill.run().outcome.published


@pytest.mark.parametrize(
    "change",
    [
        lambda mill: mill.write("0.txt", "other"),
        lambda mill: mill.write("new.txt", "text 0"),
        lambda mill: mill.write("bad.pdf", "now another reason") and mill.write("0.txt", b"\xff\xfe\x00\xd8"),
        lambda mill: mill.write("empty.txt", " "),
        lambda mill: mill.remove("0.txt"),
        lambda mill: mill.settings.update(nprobe=7),
        lambda mill: mill.settings.update(query_prompt="query: "),
    ],
)
def test_whatever_a_reader_could_see_is_a_version(mill, change):
    mill.settings["accept_deletes"] = True
    touch(mill, 1)
    change(mill)
    assert mill.run().outcome.published

"""The first skip: what is read again, and how that crosses to the workers."""

import pyarrow as pa
import pytest
from hand_mill import HandMill
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.changes import (
    EVERY_ROW,
    MAX_ITEM_BYTES_AS_RECORD,
    MAX_ITEM_FILES,
    Changes,
    KnownFile,
    Retry,
    compare,
    contents_to_retry,
    documents_to_retry,
    read_changes,
    read_items,
    write_changes,
)
from transforms.listing import ListedFile
from transforms.record_coder import RecordCoder
from transforms.records import FileGone, FileToRead
from transforms.store.schemas import FAILURES


def listed(name: str = "a", size: int = 3, stamp: str = "1.0", trusted: bool = True) -> ListedFile:
    return ListedFile(name, size, stamp, trusted)


def known(size: int = 3, stamp: str = "1.0", trusted: bool = True, n_documents: int = 5) -> KnownFile:
    return KnownFile(size, stamp, trusted, n_documents, "rows/x.parquet")


def test_same_size_and_stamp_are_left_alone():
    assert compare([listed()], {"a": known()}) == Changes((), (), 5)


@pytest.mark.parametrize(
    "now, before",
    [
        (listed(size=4), known()),
        (listed(stamp="2.0"), known()),
        (listed(stamp="0.5"), known()),
        (listed(trusted=False), known()),
        (listed(), known(trusted=False)),
    ],
)
def test_anything_else_is_read_with_what_is_known_of_it(now, before):
    changes = compare([now], {"a": before})
    assert [(f.file, f.size, f.rows_file) for f in changes.read] == [("a", now.size, "rows/x.parquet")]
    assert changes.read[0].stamp == (now.stamp if now.trusted else "")
    assert changes.n_unchanged == 0


def test_new_gone_and_everything():
    changes = compare([listed("b")], {"a": known()})
    assert [f.file for f in changes.read] == ["b"] and changes.gone == (FileGone("a", "rows/x.parquet"),)
    assert [f.file for f in compare([listed()], {"a": known()}, read_everything=True).read] == ["a"]
    assert compare([listed()], {"a": known()}).is_empty


def test_failed_documents_are_tried_every_run_and_duplicates_when_there_is_a_run():
    files, retry = [listed("a"), listed("b")], Retry({"a": ("a#1",)}, {"b": ("b#2",)})
    both = {"a": known(), "b": known()}
    assert [(f.file, f.retry) for f in compare(files, both, retry).read] == [("a", ("a#1",)), ("b", ("b#2",))]
    only = Retry({}, {"b": ("b#2",)})
    assert compare(files, both, only).is_empty
    assert [f.file for f in compare(files, both, only, has_other_work=True).read] == ["b"]
    assert [f.file for f in compare(files[1:], both, only).read] == ["b"]  # since a is gone
    assert {f.file for f in compare([listed("a", 9), files[1]], both, only).read} == {"a", "b"}


def failures(*rows: tuple[str, str, str, str, str, bool]) -> pa.Table:
    names = ("uri", "file", "content_id", "stage", "reason", "stale")
    return pa.Table.from_pylist([dict(zip(names, row, strict=True), detail="") for row in rows], FAILURES)


def test_dead_letters_say_what_to_try_again():
    table = failures(
        ("f#1", "f", "", "read", "no_text", False),
        ("f#1", "f", "c", "cut", "cutter_error", True),
        ("g", "g", "", "read", "broken_pdf", False),
        ("x", "h", "", "join", "duplicate_id", False),
        ("f#7", "f", "", "read", "duplicate_id", False),
        ("", "", "old", "encode", "not_finite", True),
        ("", "", "unit", "encode", "not_finite", False),
        ("d.txt", "", "asked", "boundaries", "timed_out", False),
        ("e.txt", "", "refused", "boundaries", "refused", False),
    )
    assert documents_to_retry([table]) == Retry({"f": ("f#1",), "g": ("g",)}, {"h": ("x",)})
    assert contents_to_retry([table]) == {"old", "asked"}


def test_rows_too_many_for_a_record_are_all_rows():
    table = failures(*((f"f#{n:0100d}", "f", "", "read", "no_text", False) for n in range(1000)))
    assert documents_to_retry([table]).failed == {"f": EVERY_ROW}


files = st.builds(
    FileToRead, st.text(max_size=4).map(lambda s: s + "x" * 3000), st.integers(0, 300), st.just("1.0"), st.just("")
)


@given(st.lists(files, max_size=400), st.integers(1, 1000))
@settings(max_examples=50, deadline=None)
def test_items_hold_all_files_in_order_within_the_limits(wanted, max_bytes):
    items = list(read_items(wanted, max_bytes))
    assert [file for item in items for file in item.files] == wanted
    for item in items:
        assert sum(file.size for file in item.files) <= max_bytes or len(item.files) == 1
        assert 1 <= len(item.files) <= MAX_ITEM_FILES
        assert len(RecordCoder().encode(item)) < 2 * MAX_ITEM_BYTES_AS_RECORD


def test_changes_cross_to_the_workers_whole(tmp_path):
    mill = HandMill(tmp_path)
    mill.write("a.txt", "x")
    context, _, _ = mill.context(read_item_bytes=10)
    read = tuple(FileToRead(f"f{n}\n 'ü", 9, "1.0", "", ("u",)) for n in range(1300))
    paths = write_changes(context, Changes(read, (FileGone("g"),), 0))
    assert len(paths) == 3
    records = [record for path in paths for record in read_changes(context, path)]
    assert [file for item in records[:-1] for file in item.files] == list(read)
    assert records[-1] == FileGone("g")

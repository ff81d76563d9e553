"""Reading objects: one record a document, one dead letter a bad one, and the texts in scratch files."""

import gzip
import json
import os
import socket
from pathlib import Path

import pytest
from hand_mill import HandMill

import transforms.reading as reading
from transforms.listing import stat_file
from transforms.reading import read_gone, read_item
from transforms.records import DocumentGone, DocumentRead, Failure, FileGone, FileSeen, FileToRead, Note, ReadItem
from transforms.scratch import read_rows


@pytest.fixture
def mill(tmp_path: Path) -> HandMill:
    return HandMill(tmp_path, {"max_failures": "100%", "accept_deletes": True})


def read(mill: HandMill, *names: str, rows_file: str = "", retry: tuple[str, ...] = (), **settings):
    """The records of files, by type, and the texts that were left."""
    context, _, _ = mill.context(**settings)
    files = []
    for name in names:
        listed = stat_file(str(mill.source / name))
        size, stamp = (listed.size, listed.stamp) if listed else (1, "1.0")
        files.append(FileToRead(str(mill.source / name), size, stamp, rows_file, retry))
    found: dict[type, list] = {kind: [] for kind in (FileSeen, DocumentRead, DocumentGone, Failure, Note)}
    for record in read_item(context, ReadItem(tuple(files))):
        found[type(record)].append(record)
    documents = found[DocumentRead]
    texts = [
        read_rows(context.root, d.path, [d.path_row]).column("text")[0].as_py() if d.path else "" for d in documents
    ]
    return found, texts


def jsonl(*rows: dict | str) -> str:
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


@pytest.mark.parametrize(
    "name", ["a b.txt", "x..y.txt", "q?*[x].txt", "line\nbreak.txt", "日本 smörgås.txt", "-rf.txt"]
)
def test_names_are_never_patterns_or_paths(mill, name):
    mill.write(name, "text in it")
    mill.write("qq.txt", "another")
    found, texts = read(mill, name)
    assert texts == ["text in it"]
    assert (found[DocumentRead][0].uri, found[FileSeen][0].failed) == (str(mill.source / name), False)


def test_one_bad_file_costs_its_item_nothing(mill):
    mill.write("a.txt", "first")
    mill.write("b.pdf", "%PDF no")
    mill.write("c.md", "# third")
    found, texts = read(mill, "a.txt", "b.pdf", "gone.txt", "c.md")
    assert texts == ["first", "# third"]
    assert [(Path(f.uri).name, f.reason) for f in found[Failure]] == [
        ("b.pdf", "broken_pdf"),
        ("gone.txt", "unreadable"),
    ]
    assert [seen.failed for seen in found[FileSeen]] == [False, True, True, False]
    assert sum(seen.n_listed for seen in found[FileSeen]) == 4


def test_what_is_no_regular_file_is_never_opened(mill, monkeypatch):
    mill.write("a.txt", "first")
    for name in ("pipe.txt", "pipe.jsonl"):
        os.mkfifo(mill.source / name)
    (mill.source / "device.txt").symlink_to("/dev/zero")
    monkeypatch.chdir(mill.source)  # a socket's path has to be short
    with socket.socket(socket.AF_UNIX) as served:
        served.bind("socket.txt")
        found, texts = read(mill, "pipe.txt", "pipe.jsonl", "device.txt", "socket.txt", "a.txt")
    assert texts == ["first"]
    assert [(f.reason, "not a regular file" in f.detail) for f in found[Failure]] == [("unreadable", True)] * 4


def test_a_failure_is_one_line(mill, monkeypatch):
    mill.write("a.txt", "x")

    def broken(file):
        raise OSError("line one\nline two")

    monkeypatch.setattr(reading, "open_regular", broken)
    found, _ = read(mill, "a.txt")
    assert found[Failure][0].detail == "OSError: line one\\nline two"


def test_a_file_that_changes_while_it_is_read_is_read_again(mill, monkeypatch):
    path = mill.write("a.txt", "before")
    real = reading.extract_file

    def extract(stream, *rest):
        extracted = list(real(stream, *rest))
        path.write_text("after it")
        yield from extracted

    monkeypatch.setattr(reading, "extract_file", extract)
    found, _ = read(mill, "a.txt")
    assert [f.reason for f in found[Failure]] == ["changed_while_read"]
    monkeypatch.undo()
    first = mill.run().outcome.documents
    assert first["indexed"] == 1


def test_a_table_that_changes_while_it_is_read_is_not_trusted(mill, monkeypatch):
    path = mill.write("t.jsonl", jsonl({"id": 1, "text": "one"}))
    real = reading.extract_file

    def extract(stream, *rest):
        yield from real(stream, *rest)
        path.write_text("x" * 99)

    monkeypatch.setattr(reading, "extract_file", extract)
    found, texts = read(mill, "t.jsonl")
    assert texts == ["one"] and not found[FileSeen][0].trusted


def test_changed_rows_alone_are_kept(mill):
    mill.write("t.jsonl", jsonl(*({"id": n, "text": f"text {n}", "tag": "x"} for n in range(5))))
    found, texts = read(mill, "t.jsonl")
    assert texts == [f"text {n}" for n in range(5)]
    listing = found[FileSeen][0].rows_file
    changed = [
        {"id": 0, "text": "text 0", "tag": "y"},
        {"id": 2, "text": "other"},
        {"id": 3, "text": "text 3", "tag": "x"},
    ]
    mill.write("t.jsonl", jsonl(*changed, {"id": 9, "text": "new"}))
    found, texts = read(mill, "t.jsonl", rows_file=listing)
    assert [d.uri.rsplit("#", 1)[1] for d in found[DocumentRead]] == ["0", "2", "9"]
    assert texts == ["text 0", "other", "new"]
    assert [d.uri.rsplit("#", 1)[1] for d in found[DocumentGone]] == ["1", "4"]
    (seen,) = found[FileSeen]
    assert (seen.n_listed, seen.n_documents, seen.n_unchanged, seen.trusted) == (4, 4, 1, True)


def test_a_bad_row_is_kept_if_it_was_known_and_is_tried_again(mill):
    mill.write("t.jsonl", jsonl({"id": "a", "text": "good"}))
    listing = read(mill, "t.jsonl")[0][FileSeen][0].rows_file
    mill.write("t.jsonl", jsonl({"id": "a", "text": None}, {"id": "b", "text": None}, "{"))
    found, _ = read(mill, "t.jsonl", rows_file=listing)
    assert not found[DocumentGone]
    assert [f.uri.rsplit("#", 1)[1] for f in found[Failure]] == ["a", "b", "row-2"]
    (seen,) = found[FileSeen]
    assert (seen.n_listed, seen.n_documents, seen.trusted) == (3, 1, False)


GOOD = [("a", "one, first"), ("b", "two"), ("c", "three")]


def as_csv(*lines: str) -> str:
    return "\n".join(["id,text,more", 'a,"one, first",m', *lines, "c,three,m", ""])


def as_jsonl(*lines: str) -> str:
    rows = [json.dumps({"id": key, "text": text, "more": "m"}) for key, text in (GOOD[0], GOOD[2])]
    return "\n".join([rows[0], *lines, rows[1], ""])


BAD_ROWS = {
    "too many cells": ("t.csv", as_csv("b,two,m"), as_csv("b,two,m,n")),
    "too many cells, and the id is not where it was": ("t.csv", as_csv("b,two,m"), as_csv("x,b,two,m")),
    "text behind a quote": ("t.csv", as_csv("b,two,m"), as_csv('b,"two"x,m')),
    "too few cells": ("t.csv", as_csv("b,two,m"), as_csv("b")),
    "a line cut short": ("t.jsonl", as_jsonl('{"id": "b", "text": "two"}'), as_jsonl('{"id": "b", "text": "tw')),
    "a line cut before its id": ("t.jsonl", as_jsonl('{"id": "b", "text": "two"}'), as_jsonl('{"text": "two", "i')),
    "a line without an id": ("t.jsonl", as_jsonl('{"id": "b", "text": "two"}'), as_jsonl('{"text": "two"}')),
    "a line that is no object": ("t.jsonl", as_jsonl('{"id": "b", "text": "two"}'), as_jsonl('["b", "two"]')),
    "a line with another's id": ("t.jsonl", as_jsonl('{"id": "b", "text": "two"}'), as_jsonl('{"id": "a", "t')),
    "a line that is too long": (
        "t.jsonl",
        as_jsonl('{"id": "b", "text": "two"}'),
        as_jsonl(json.dumps({"id": "b", "text": "x" * 500})),
    ),
    "a row without an id": ("t.parquet", GOOD, [GOOD[0], (None, "two"), GOOD[2]]),
    "a row without a text": ("t.parquet", GOOD, [GOOD[0], ("b", None), GOOD[2]]),
}


def write_table(mill: HandMill, name: str, content) -> None:
    if name.endswith(".parquet"):
        mill.write_rows(name, content)
    else:
        mill.write(name, content)


@pytest.mark.parametrize("kind", BAD_ROWS)
def test_a_known_row_that_becomes_bad_keeps_its_last_good_content(mill, kind):
    mill.settings |= {"max_document_bytes": 300} if "too long" in kind else {}
    name, good, bad = BAD_ROWS[kind]
    write_table(mill, name, good)
    assert mill.run().outcome.documents["indexed"] == 3
    texts = mill.texts()
    for _ in range(2):  # and it stays so while the row is bad
        write_table(mill, name, bad)
        documents = mill.run().outcome.documents
        assert (documents["listed"], documents["unchanged"], documents["failed"]) == (3, 2, 1)
        assert (documents["stale"], documents["deleted"]) == (1, 0)
        assert mill.texts() == texts
        assert {d.uri.rsplit("#", 1)[-1]: d.status for d in mill.documents().values()} == {
            "a": "indexed", "b": "stale", "c": "indexed"
        }  # fmt: skip
    write_table(mill, name, good)
    documents = mill.run().outcome.documents
    assert (documents["unchanged"], documents["failed"], documents["deleted"]) == (3, 0, 0)
    assert {d.status for d in mill.documents().values()} == {"indexed"}


def test_a_page_that_becomes_bad_keeps_its_last_good_content(mill):
    pytest.importorskip("warcio", reason="the extra 'formats' is not installed")

    def archive(body: bytes) -> bytes:
        page = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + body
        head = f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://x/a\r\nContent-Length: {len(page)}"
        return head.encode() + b"\r\n\r\n" + page + b"\r\n\r\n"

    mill.write("x.warc", archive(b"some text"))
    mill.run()
    mill.write("x.warc", archive(b"\xff\xfe\xff"))
    documents = mill.run().outcome.documents
    assert (documents["failed"], documents["stale"], documents["deleted"]) == (1, 1, 0)
    assert list(mill.texts().values()) == ["some text"]


def test_a_bad_row_takes_nothing_from_a_good_one_of_the_same_id(mill):
    mill.write("t.jsonl", jsonl({"id": "a", "text": "one"}))
    mill.run()
    mill.write("t.jsonl", jsonl({"id": "a", "text": None}, {"id": "a", "text": "one"}))
    documents = mill.run().outcome.documents
    assert (documents["listed"], documents["unchanged"], documents["failed"], documents["stale"]) == (2, 1, 1, 0)
    (document,) = mill.documents().values()
    assert document.status == "indexed"


def test_rows_that_left_are_deleted_beside_a_bad_one(mill):
    mill.write("t.csv", "id,text\n" + "".join(f"{key},text {key}\n" for key in "abcdef"))
    mill.run()
    mill.write("t.csv", "id,text\na,text a\nb,text b\nd,text d,x\nf,text f\n")
    documents = mill.run().outcome.documents
    assert (documents["unchanged"], documents["failed"], documents["stale"], documents["deleted"]) == (3, 1, 1, 2)
    assert {d.uri[-1]: d.status for d in mill.documents().values()} == {
        "a": "indexed", "b": "indexed", "d": "stale", "f": "indexed"
    }  # fmt: skip


def test_rows_to_retry_are_read_although_they_match(mill):
    mill.write("t.jsonl", jsonl({"id": 1, "text": "one"}, {"id": 2, "text": "two"}))
    listing = read(mill, "t.jsonl")[0][FileSeen][0].rows_file
    uri = f"{mill.source}/t.jsonl#2"
    assert read(mill, "t.jsonl", rows_file=listing, retry=(uri,))[1] == ["two"]
    assert read(mill, "t.jsonl", rows_file=listing, retry=("",))[1] == ["one", "two"]
    assert read(mill, "t.jsonl", rows_file=listing)[1] == []


def test_a_duplicate_row_never_takes_the_place_of_the_first(mill):
    rows = jsonl({"id": 1, "text": "one"}, {"id": 1, "text": "again"})
    mill.write("t.jsonl", rows)
    listing = read(mill, "t.jsonl")[0][FileSeen][0].rows_file
    mill.write("t.jsonl", rows.replace("one", "changed"))
    found, texts = read(mill, "t.jsonl", rows_file=listing)
    assert texts == ["changed"] and [f.reason for f in found[Failure]] == ["duplicate_id"]
    assert found[FileSeen][0].n_documents == 1
    found, texts = read(mill, "t.jsonl", rows_file=found[FileSeen][0].rows_file)
    assert texts == [] and found[FileSeen][0].n_unchanged == 1


def test_ids_of_the_corpus_name_rows_alone(mill):
    mill.write("t.jsonl", jsonl({"id": "a", "text": "one"}, {"text": "no id"}))
    found, _ = read(mill, "t.jsonl", id_scope="corpus")
    assert [d.uri for d in found[DocumentRead]] == ["a"]
    assert found[Failure][0].uri.endswith("t.jsonl#row-1")


def test_strange_metadata_is_text_and_equal_metadata_equal_bytes(mill):
    odd = '{"id": 1, "text": "t", "b": "\\ud800", "a": {"z": [1, null], "y": NaN}, "k\\u0000": "v", "n": null}'
    mill.write("t.jsonl", odd + "\n")
    (first,) = read(mill, "t.jsonl")[0][DocumentRead]
    assert json.loads(first.metadata) == {"a": '{"y":NaN,"z":[1,null]}', "b": "\ufffd", "k\ufffd": "v"}
    mill.write(
        "t.jsonl",
        '{"n": null, "k\\u0000": "v", "a": {"y": NaN, "z": [1, null]}, "b": "\\ud800", "text": "t", "id": 1}\n',
    )
    (second,) = read(mill, "t.jsonl")[0][DocumentRead]
    assert (first.metadata, first.content_id) == (second.metadata, second.content_id)


def test_a_blank_document_has_no_content(mill):
    mill.write("a.txt", " \n\u3000\n")
    found, texts = read(mill, "a.txt")
    assert texts == [""] and found[DocumentRead][0].content_id == ""


def test_replaced_signs_are_noted_once_a_file(mill):
    mill.write("t.jsonl", jsonl({"id": 1, "text": "a\0b"}, {"id": 2, "text": "\0\0"}))
    found, _ = read(mill, "t.jsonl")
    assert [(n.outcome, n.count, Path(n.file).name) for n in found[Note]] == [("replaced_nul", 3, "t.jsonl")]


def test_long_texts_go_to_files_of_their_own(mill, monkeypatch):
    monkeypatch.setattr(reading, "FLUSH_CHARS", 50)
    for n in range(4):
        mill.write(f"{n}.txt", f"{n}" * 40)
    found, texts = read(mill, *(f"{n}.txt" for n in range(4)))
    assert texts == [f"{n}" * 40 for n in range(4)]
    assert len({d.path for d in found[DocumentRead]}) == 2


def test_gone_files_take_their_rows_along(mill):
    mill.write("t.jsonl", jsonl({"id": 1, "text": "one"}, {"id": 2, "text": None}, {"id": 3, "text": "three"}))
    listing = read(mill, "t.jsonl")[0][FileSeen][0].rows_file
    context, _, _ = mill.context()
    seen, *gone = read_gone(context, FileGone("t", listing))
    assert seen.size < 0 and [record.uri.rsplit("#", 1)[1] for record in gone] == ["1", "3"]
    assert list(read_gone(context, FileGone("a.txt")))[1:] == [DocumentGone("a.txt", "a.txt")]


def test_an_unreadable_table_is_one_failure_and_its_rows_stay(mill):
    mill.write_rows("t.parquet", [("a", "one"), ("b", "two")])
    mill.run()
    mill.write("t.parquet", b"nonsense")
    outcome = mill.run().outcome
    assert (outcome.documents["listed"], outcome.documents["failed"], len(mill.documents())) == (1, 1, 2)
    mill.write_rows("t.parquet", [("a", "one")])
    outcome = mill.run().outcome
    assert (outcome.documents["unchanged"], outcome.documents["deleted"]) == (1, 1)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_a_cut_archive_is_one_failure_and_its_pages_stay(mill, pack):
    pytest.importorskip("warcio", reason="the extra 'formats' is not installed")
    body = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nsome text"
    head = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://x/{}\r\nContent-Length: {}\r\n\r\n"
    records = [head.format(name, len(body)).encode() + body + b"\r\n\r\n" for name in "ab"]
    data = b"".join(map(pack, records))
    mill.write("x.warc", data)
    mill.run()
    mill.write("x.warc", data[:-12])
    outcome = mill.run().outcome
    assert (outcome.documents["failed"], outcome.documents["deleted"], len(mill.documents())) == (1, 0, 2)


def test_rows_behind_an_open_quote_stay(mill):
    mill.write("t.csv", "id,text\na,one\nb,two\nc,three\n")
    mill.run()
    mill.write("t.csv", 'id,text\na,one\nb,"new\nc,three\nd,four\n')
    documents = mill.run().outcome.documents
    assert (documents["listed"], documents["unchanged"], documents["failed"], documents["deleted"]) == (2, 1, 1, 0)
    assert len(mill.documents()) == 3
    mill.write("t.csv", "id,text\na,one\nb,new\nd,four\n")
    documents = mill.run().outcome.documents
    assert (documents["unchanged"], documents["indexed"], documents["deleted"]) == (1, 2, 1)


def test_a_stale_row_behind_an_open_quote_is_tried_again(mill):
    good = "id,text\na,one\nb,two\n"
    mill.write("t.csv", good)
    mill.run()
    for body in ("a,one\nb\n", 'a,"one\nb,two\n'):
        mill.write("t.csv", f"id,text\n{body}")
        documents = mill.run().outcome.documents
    assert (documents["stale"], documents["deleted"]) == (2, 0)
    mill.write("t.csv", good)
    mill.run()
    assert {document.status for document in mill.documents().values()} == {"indexed"}


def test_a_stale_document_goes_with_its_file(mill):
    mill.write("a.txt", "text")
    mill.write("b.txt", "other")
    mill.run()
    mill.write("a.txt", b"\xff\xfe\x00\xd8" * 3)
    assert mill.run().outcome.documents["stale"] == 1
    mill.remove("a.txt")
    outcome = mill.run().outcome
    assert outcome.documents["deleted"] == 1 and len(mill.documents()) == len(mill.contents()) == 1


def test_a_name_that_is_not_utf8_is_a_dead_letter(mill):
    mill.write("good.txt", "text")
    (mill.source / os.fsdecode(b"caf\xe9.txt")).write_text("text")
    outcome = mill.run().outcome
    assert (outcome.documents["indexed"], outcome.documents["failed"]) == (1, 1)

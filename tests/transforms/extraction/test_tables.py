import csv
import gzip
import io
import json
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from models.errors import ExtractionError
from transforms.extraction import content_id, extract_file
from transforms.extraction.tables import fit_metadata
from transforms.settings import ReadingSettings


def as_jsonl(rows):
    return "\n".join(json.dumps(row) for row in rows).encode()


def as_csv(rows):
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue().encode("utf-8", "surrogatepass")


def as_parquet(rows):
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer)
    return buffer.getvalue()


WRITERS = {"jsonl": as_jsonl, "csv": as_csv, "parquet": as_parquet}
formats = pytest.mark.parametrize("suffix", WRITERS)


@formats
def test_a_row_is_a_document(suffix, extract):
    rows = [{"id": "a", "text": "one\r\ntwo\n\nthree", "year": "2020"}, {"id": "b", "text": "", "year": "2021"}]
    first, second = extract(WRITERS[suffix](rows), f"t.{suffix}")
    assert (first.row, first.key, first.metadata, first.reason) == (0, "a", {"year": "2020"}, "")
    assert first.snapshot.text == "one\ntwo\n\nthree" and len(first.snapshot.blocks) == 2
    assert (second.row, second.snapshot.text, second.reason) == (1, "", "")


@formats
def test_columns_are_named_in_the_settings(suffix, extract):
    rows = [{"key": "a", "body": "one", "id": "x"}]
    (document,) = extract(WRITERS[suffix](rows), f"t.{suffix}", id_column="key", text_column="body")
    assert (document.key, document.snapshot.text, document.metadata) == ("a", "one", {"id": "x"})


@formats
def test_the_smallest_row_of_a_duplicate_id_wins(suffix, extract):
    rows = [{"id": name, "text": text} for name, text in [("a", "1"), ("b", "2"), ("a", "3"), ("a", "4")]]
    documents = extract(WRITERS[suffix](rows), f"t.{suffix}")
    assert [document.reason for document in documents] == ["", "", "duplicate_id", "duplicate_id"]
    assert [document.key for document in documents] == ["a", "b", "a", "a"]
    assert documents[0].snapshot.text == "1" and documents[2].snapshot is None


@formats
def test_equal_texts_have_equal_ids_in_every_format(suffix, extract):
    (document,) = extract(WRITERS[suffix]([{"id": "a", "text": "x\r\ny"}]), f"t.{suffix}")
    (plain,) = extract(b"\xef\xbb\xbfx\ny", "x.txt")
    assert content_id(document.snapshot) == content_id(plain.snapshot)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "malformed_row"),
        (b"[1]", "malformed_row"),
        (b"null", "malformed_row"),
        (b"[" * 100_000, "malformed_row"),
        (b'{"id": ' + b"9" * 5000 + b"}", "malformed_row"),
        (b'{"id": "x"}', "no_text"),
        (b'{"id": "x", "text": null}', "no_text"),
        (b'{"id": "x", "text": 5}', "no_text"),
        (b'{"text": "x"}', "no_id"),
        (b'{"id": true, "text": "x"}', "no_id"),
        (b'{"id": " ", "text": "x"}', "no_id"),
        (b'{"id": "x", "text": "\xff"}', "undecodable"),
        (b'{"id": "x", "text": "' + b"y" * 200_000 + b'"}', "too_large"),
    ],
)
def test_a_bad_line_is_one_bad_row(line, reason, extract):
    good = b'{"id": "%d", "text": "fine"}'
    data = b"\n".join([good % 1, line, b"", good % 2])
    documents = extract(data, "t.jsonl", max_document_bytes=150_000)
    assert [document.reason for document in documents] == ["", reason, ""]
    assert [document.row for document in documents] == [0, 1, 2]


def test_json_beyond_the_standard_is_read(extract):
    data = b'\xef\xbb\xbf{"id": 7, "text": "a\\ud800\\u0000", "x": NaN, "y": [1, {"b": null}], "z": null, "t": true}\n'
    (document,) = extract(data, "t.jsonl")
    assert document.key == "7" and document.snapshot.text == "a\ufffd\ufffd"
    assert document.snapshot.counts == {"replaced_nul": 1, "replaced_surrogate": 1}
    assert document.metadata == {"x": "NaN", "y": '[1,{"b":null}]', "t": "true"}


def test_metadata_that_does_not_fit_is_dropped_and_counted(extract):
    data = as_jsonl([{"id": "a", "text": "t", "long": "x" * 999, "year": 2020}])
    (document,) = extract(data, "t.jsonl", max_metadata_bytes=100)
    assert document.metadata == {"year": "2020"}
    assert document.snapshot.counts == {"dropped_metadata": 1}


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (5, pa.timestamp("us", tz="Mars/Phobos"), None),
        (1, pa.timestamp("ns"), "1970-01-01T00:00:00.000000001"),
        (1000, pa.timestamp("ns"), "1970-01-01T00:00:00.000001"),
        (1, pa.time64("ns"), "00:00:00.000000001"),
        (1, pa.duration("ns"), "1 ns"),
        (2**62, pa.timestamp("us"), None),
        (2**31 - 1, pa.date32(), None),
        ([1], pa.list_(pa.timestamp("ns")), None),
    ],
)
def test_a_value_without_a_python_type_costs_no_more_than_itself(number, kind, text, extract):
    table = pa.table({"id": ["a", "b"], "text": ["one", "two"], "odd": pa.array([number, None], kind), "n": [1, 2]})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    first, second = extract(buffer.getvalue(), "t.parquet")
    assert first.metadata == ({"n": "1"} if text is None else {"n": "1", "odd": text})
    assert first.snapshot.counts.get("dropped_metadata", 0) == (text is None)
    assert (second.snapshot.text, second.metadata, second.snapshot.counts) == ("two", {"n": "2"}, {})


def test_an_odd_id_or_text_is_refused_and_not_made_up(extract):
    moments = pa.array([1, 2], pa.timestamp("ns"))
    for columns in ({"id": moments, "text": ["a", "b"]}, {"id": ["a", "b"], "text": moments}):
        buffer = io.BytesIO()
        pq.write_table(pa.table(columns), buffer)
        reasons = {document.reason for document in extract(buffer.getvalue(), "t.parquet")}
        assert reasons <= {"no_id", "no_text"} and len(reasons) == 1


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=30), max_size=6), st.integers(1, 200))
def test_kept_metadata_fits(values, max_bytes):
    kept, n_dropped = fit_metadata(values, max_bytes)
    assert len(kept) + n_dropped == len(values)
    assert not kept or len(json.dumps(kept, ensure_ascii=False).encode()) <= max_bytes


@pytest.mark.parametrize(
    ("body", "reasons", "key", "guess"),
    [
        (b'1,"a\nb"\n2,c\n', ["", ""], "1", None),
        (b"1,a,extra\n2,b\n", ["malformed_row", ""], None, "1"),
        (b'1,"a"b\n2,c\n', ["malformed_row", ""], None, "1"),
        (b"1\n2,c\n", ["no_text", ""], "1", None),
        (b"1,\xff\n2,c\n", ["undecodable", ""], "1", None),
        (b"\xff,1\n2,c\n", ["undecodable", ""], None, None),
        (b"\n1,a\n\n2,\0\n", ["", ""], "1", None),
    ],
)
def test_csv_rows(body, reasons, key, guess, extract):
    padding = b"".join(b"p%d,%s\n" % (number, b"x" * 100) for number in range(3000))
    documents = extract(b"id,text\n" + padding + body, "t.csv")
    assert [document.reason for document in documents[3000:]] == reasons
    assert (documents[3000].key, documents[3000].guess) == (key, guess)


@pytest.mark.parametrize(("rest", "reason"), [(b"3,b\n", "broken_csv"), (b"x\n" * 9000, "too_large")])
def test_a_quote_that_is_never_closed_costs_the_rows_behind_it(rest, reason, extract):
    first, last = extract(b'id,text\n1,a\n2,"never closed\n' + rest, "t.csv", max_document_bytes=10_000)
    assert (first.snapshot.text, first.is_rest) == ("a", False)
    assert (last.row, last.key, last.guess, last.reason, last.is_rest) == (1, None, "2", reason, True)


def parquet_of(names, row):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays([pa.array([value]) for value in row], names), sink)
    return sink.getvalue().to_pybytes()


def doubled(suffix, names, row):
    """A file whose columns, or whose object's keys, are called `names`."""
    if suffix == "parquet":
        return parquet_of(names, row)
    if suffix == "csv":
        return f"{','.join(names)}\n{','.join(row)}\n".encode()
    return ("{" + ", ".join(f'"{name}": "{value}"' for name, value in zip(names, row, strict=True)) + "}\n").encode()


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_names_that_stand_twice_are_counted_or_refused(suffix, extract):
    names = ["tag", "id", "tag", "text", "tag"]
    (document,) = extract(
        doubled(suffix, names, ["a", "1", "b", 'the word \\"id\\"' * (suffix == "jsonl"), "c"]), f"t.{suffix}"
    )
    assert (document.snapshot.counts, dict(document.metadata)) == ({"doubled_columns": 2}, {"tag": "c"})
    for names in (["id", "text", "id"], ["id", "text", "text"]):
        data = doubled(suffix, names, ["1", "a", "b"])
        if suffix == "jsonl":
            (document,) = extract(data, "t.jsonl")
            assert (document.reason, document.guess) == ("doubled_key", "1")
        else:
            with pytest.raises(ExtractionError, match=r"doubled_column.*rename"):
                extract(data, f"t.{suffix}")


def test_a_name_that_stands_again_further_inside_is_not_doubled(extract):
    (document,) = extract(b'{"id": 1, "text": "a", "tag": {"id": 2, "text": "b", "tag": "tag"}}', "t.jsonl")
    assert not document.snapshot.counts
    wide = {"id": 1, "text": "a", **{f"name{n}": [n] for n in range(200)}}
    for line, counts in ((json.dumps(wide), {}), (json.dumps(wide)[:-1] + ', "name7": 1}', {"doubled_columns": 1})):
        (document,) = extract(line.encode(), "t.jsonl")
        assert document.snapshot.counts == counts


def test_csv_in_another_charset(extract):
    text = "id,text\n1,Grüße aus Köln und schöne Tage für müde Bäcker\n"
    for data, content_type, counts in [
        (text.encode("latin-1"), "text/csv; charset=latin-1", {}),
        (text.encode("latin-1"), None, {"guessed_charset": 1}),
        (text.encode("utf-16-le"), None, {"guessed_charset": 1}),
        (text.encode("utf-16"), None, {}),
        (text.encode("utf-8-sig"), None, {}),
    ]:
        (document,) = extract(data, "t.csv", content_type)
        assert document.snapshot.text.startswith("Grüße aus Köln")
        assert document.snapshot.counts == counts


@pytest.mark.parametrize(
    ("data", "uri", "reason"),
    [
        (b'id,"text\n1,a\n2,b\n', "t.csv", "broken_csv"),
        (b'id,"text\n1,a\n' + b"x\n" * 9000, "t.csv", "too_large"),
        (b"name,text\n1,a\n", "t.csv", "missing_column"),
        (b"", "t.csv", "missing_column"),
        (b"PAR1 nothing PAR1", "t.parquet", "broken_parquet"),
        (b"", "t.parquet", "broken_parquet"),
        (as_parquet([{"id": "a", "body": "x"}]), "t.parquet", "missing_column"),
        (gzip.compress(b"id,text\n1,a\n", mtime=0)[:-9], "t.csv.gz", "broken_gzip"),
        (b"id,text\n1,a\n", "t.csv", ""),
        (b"id,text\n1,a\n", "t.csv; charset=klingon", "undecodable"),
    ],
)
def test_a_table_that_cannot_be_read_is_one_failure(data, uri, reason, extract):
    uri, _, parameter = uri.partition(";")
    content_type = f"text/csv;{parameter}" if parameter else None
    if not reason:
        assert extract(data, uri)
        return
    with pytest.raises(ExtractionError) as caught:
        extract(data, uri, content_type, max_document_bytes=10_000)
    assert caught.value.reason == reason


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=300) | st.text('{}[]"\\:,\n\0abid', max_size=80).map(str.encode))
@example(data=b"\x1f\x8b")
@example(data=b"\xff\xfe\x00")
def test_random_bytes_raise_nothing_but_extraction_errors(data, extract):
    for head, suffix in [(b"", "jsonl"), (b"id,text\n", "csv"), (b"", "csv"), (b"PAR1", "parquet")]:
        try:
            for document in extract(head + data, f"t.{suffix}"):
                assert (document.snapshot is None) == bool(document.reason)
        except ExtractionError as error:
            assert error.reason


def test_a_bit_flip_in_parquet_never_crashes(extract):
    data = as_parquet([{"id": str(number), "text": f"text {number}" * 5} for number in range(50)])
    for position in range(0, len(data), 37):
        flipped = data[:position] + bytes([data[position] ^ 0x55]) + data[position + 1 :]
        try:
            extract(flipped, "t.parquet")
        except ExtractionError as error:
            assert error.reason in ("broken_parquet", "missing_column", "undecodable")


class Endless(io.RawIOBase):
    """A line that takes `n_bytes` to end, made while it is read."""

    def __init__(self, n_bytes):
        self.n_left = n_bytes

    def readable(self):
        return True

    def readinto(self, buffer):
        n_bytes = min(len(buffer), self.n_left)
        self.n_left -= n_bytes
        buffer[:n_bytes] = b"x" * n_bytes
        return n_bytes


@pytest.mark.parametrize(("suffix", "reason"), [("jsonl", "too_large"), ("csv", "too_large")])
def test_a_line_of_200_megabytes_is_never_held(suffix, reason):
    stream = io.BufferedReader(Endless(200_000_000))
    tracemalloc.start()
    try:
        documents = list(extract_file(stream, f"t.{suffix}", ReadingSettings(max_document_bytes=1_000_000)))
        assert [document.reason for document in documents] == [reason]
    except ExtractionError as error:
        assert error.reason == reason
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 20_000_000


@formats
def test_rows_stream(suffix):
    rows = [{"id": str(number), "text": "x" * 1000} for number in range(6_000)]
    stream = io.BytesIO(WRITERS[suffix](rows))
    tracemalloc.start()
    n_rows = sum(document.reason == "" for document in extract_file(stream, f"t.{suffix}", ReadingSettings()))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_rows == 6_000
    assert peak_bytes < 4_000_000

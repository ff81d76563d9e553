import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import ExtractionError

pytest.importorskip("warcio", reason="the extra 'formats' is not installed")


def record(uri: str, body: bytes, content_type="text/html", status="200 OK", kind="response", headers="") -> bytes:
    payload = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{headers}\r\n".encode() + body
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\nWARC-Date: 2030-01-01T00:00:00Z\r\n"
        f"WARC-Record-ID: <urn:uuid:1>\r\nContent-Type: application/http\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload + b"\r\n\r\n"


def test_responses_are_documents_known_by_their_address(extract, check):
    data = b"".join(
        [
            record("http://x/a", b"<h1>A</h1><p>one"),
            record("http://x/i.png", b"\x89PNG", "image/png"),
            record("http://x/gone", b"<p>gone", status="404 Not Found"),
            record("http://x/a", b"<p>later"),
            record("http://x/b", b"plain\r\n", "text/plain; charset=utf-8"),
            record("http://x/c", gzip.compress(b"<p>packed"), headers="Content-Encoding: gzip\r\n"),
            record("http://x/d", b"\xe4\xf6", "text/plain; charset=utf-8"),
            record("http://x/e", b"x" * 5000, "text/plain"),
        ]
    )
    documents = extract(data, "x.warc", max_document_bytes=1000)
    assert [(d.row, d.reason) for d in documents] == [
        (0, ""),
        (3, "duplicate_id"),
        (4, ""),
        (5, ""),
        (6, "undecodable"),
        (7, "too_large"),
    ]
    assert [d.key for d in documents if d.snapshot] == ["http://x/a", "http://x/b", "http://x/c"]
    assert [d.snapshot.text for d in documents if d.snapshot] == ["A\n\none", "plain\n", "packed"]
    for document in documents:
        if document.snapshot:
            check(document.snapshot)


@pytest.mark.parametrize("pack", ["by record", "as a whole"])
def test_compressed_archives(pack, extract):
    records = [record(f"http://x/{number}", b"<p>text") for number in range(3)]
    data = b"".join(map(gzip.compress, records)) if pack == "by record" else gzip.compress(b"".join(records))
    assert [document.key for document in extract(data, "x.warc.gz")] == ["http://x/0", "http://x/1", "http://x/2"]


def test_a_bomb_in_a_record_is_one_bad_record(extract):
    bomb = gzip.compress(b"x" * 30_000_000)
    data = record("http://x/bomb", bomb, headers="Content-Encoding: gzip\r\n") + record("http://x/b", b"fine")
    assert [document.reason for document in extract(data, "x.warc", max_document_bytes=10_000)] == ["too_large", ""]


def test_what_is_no_archive_is_one_failure(extract):
    with pytest.raises(ExtractionError, match="broken_warc"):
        extract(b"no archive at all\n" * 10, "x.warc")


WHOLE = record("http://x/a", b"<p>one") + record("http://x/b", b"<p>a\n\nb") + record("http://x/c", b"<p>three")
LAST_START = WHOLE.rindex(b"WARC/1.0")


@pytest.mark.parametrize("n_bytes", range(LAST_START + 1, len(WHOLE) - 4, 3))
def test_a_cut_archive_is_one_failure_in_plain_words(n_bytes, extract, capfd):
    with pytest.raises(ExtractionError) as caught:
        extract(WHOLE[:n_bytes], "x.warc")
    assert caught.value.reason == "broken_warc"
    assert "object" not in caught.value.detail
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("pack", ["by record", "as a whole"])
@pytest.mark.parametrize("n_cut", [1, 9, 40, 80])
def test_a_cut_compressed_archive_is_one_failure(pack, n_cut, extract):
    records = [record(f"http://x/{number}", b"<p>text") for number in range(3)]
    data = b"".join(map(gzip.compress, records)) if pack == "by record" else gzip.compress(b"".join(records))
    with pytest.raises(ExtractionError, match="broken_gzip"):
        extract(data[:-n_cut], "x.warc.gz")


@pytest.mark.parametrize("change", [*range(-6, 0), 1, 3, 4, 5, 60, 10_000])
@pytest.mark.parametrize("body", [b"<p>a\n\nbcd", b"<p>on one line", b"<p>ends\n"])
def test_a_wrong_length_never_loses_a_record_silently(change, body, extract, capfd):
    first, second = record("http://x/a", body), record("http://x/b", b"<p>b")
    length = int(first.split(b"Content-Length: ")[1].split()[0])
    wrong = first.replace(b"Content-Length: %d" % length, b"Content-Length: %d" % (length + change))
    try:
        documents = extract(wrong + second, "x.warc")
        assert [document.snapshot.text.split() for document in documents] == [body.decode()[3:].split(), ["b"]]
    except ExtractionError as error:
        assert error.reason == "broken_warc"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("length", [b"", b"-5", b"x"])
def test_a_record_without_a_length_is_one_failure(length, extract):
    data = WHOLE.replace(b"application/http\r\nContent-Length: ", b"application/http\r\nContent-Length: %s#" % length)
    with pytest.raises(ExtractionError, match="broken_warc: record 0 has no valid Content-Length"):
        extract(data, "x.warc")


@settings(max_examples=80, deadline=None)
@given(position=st.integers(0, 10**6), value=st.binary(max_size=3), n_cut=st.integers(0, 300))
def test_a_damaged_archive_raises_nothing_but_extraction_errors(extract, position, value, n_cut):
    data = record("http://x/a", b"<p>one") + record("http://x/b", b"two", "text/plain")
    position %= len(data)
    damaged = data[:position] + value + data[position + 1 :]
    try:
        extract(damaged[: len(damaged) - n_cut], "x.warc")
    except ExtractionError as error:
        assert error.reason == "broken_warc"

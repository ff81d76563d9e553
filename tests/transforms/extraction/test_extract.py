"""What holds whatever the format: decoding, compression, bounds, names."""

import gzip
import io
import tracemalloc
import zlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from models.errors import ExtractionError, StoreError
from transforms.extraction import content_id, extract_file, format_of, is_table
from transforms.extraction.decoding import GUESSED_CHARSET, decode
from transforms.settings import ReadingSettings

UMLAUTS = "Grüße aus Köln, schöne Tage für müde Bäcker. " * 20


@pytest.mark.parametrize("suffix", ["txt", "md", "html"])
@pytest.mark.parametrize("end", [b"\r\n", b"\r"])
def test_byte_order_mark_and_line_ends_leave_no_trace(suffix, end, extract):
    text = "# Title\n\nbody ü\n\n- list\n".encode()
    (plain,) = extract(text, f"a.{suffix}")
    (twin,) = extract(b"\xef\xbb\xbf" + text.replace(b"\n", end), f"b.{suffix}")
    assert plain.snapshot == twin.snapshot
    assert content_id(plain.snapshot) == content_id(twin.snapshot)


@pytest.mark.parametrize(
    ("data", "content_type"),
    [
        (UMLAUTS.encode(), None),
        (UMLAUTS.encode("utf-16"), None),
        (UMLAUTS.encode("utf-32"), None),
        (UMLAUTS.encode("latin-1"), None),
        (UMLAUTS.encode("latin-1"), 'text/plain; charset="ISO-8859-1"'),
        (UMLAUTS.encode("cp1252"), "text/plain; charset=windows-1252"),
    ],
)
def test_charsets(data, content_type, extract):
    (document,) = extract(data, "a.txt", content_type)
    assert document.snapshot.text == UMLAUTS


@pytest.mark.parametrize("suffix", ["txt", "md", "html"])
def test_a_guessed_charset_is_counted_and_a_known_one_is_not(suffix, extract):
    for charset, content_type, n_guessed in [
        ("utf-8", None, 0), ("utf-16", None, 0), ("latin-1", None, 1), ("latin-1", "text/plain; charset=latin-1", 0),
        ("utf-16-le", None, 1), ("utf-16-be", None, 1),
    ]:  # fmt: skip
        (document,) = extract(UMLAUTS.encode(charset), f"a.{suffix}", content_type)
        assert document.snapshot.text.strip() == UMLAUTS.strip()
        assert document.snapshot.counts == ({"guessed_charset": 1} if n_guessed else {})


@settings(max_examples=200, deadline=None)
@given(
    text=st.text("abc xyz,.\nüß", min_size=2, max_size=60)
    | st.from_regex(r"[а-я]{1,5}( [а-я]{1,8}){3,9}", fullmatch=True)
)
def test_utf16_without_a_mark_is_read_as_such(text, extract):
    for charset in ("utf-16-le", "utf-16-be"):
        assert extract(text.encode(charset), "a.txt")[0].snapshot.text == text


@pytest.mark.parametrize(
    "text", ["a\0b", "\0" * 9, "one\0two\0three\0four\0" * 9, "name\0\0\0\0value\0\0\0" * 9, "x\0"]
)
def test_utf8_with_some_nul_stays_utf8(text, extract):
    (document,) = extract(text.encode(), "a.txt")
    assert document.snapshot.text == text.replace("\0", "\ufffd")
    assert document.snapshot.counts == {"replaced_nul": text.count("\0")}


@pytest.mark.parametrize(
    ("data", "uri", "content_type"),
    [
        (b"\xff\xe4", "a.txt", "text/plain; charset=utf-8"),
        (b"text", "a.txt", "text/plain; charset=klingon"),
        (b"text", "a.txt", "text/plain; charset=hex"),
        (b"text", "a.txt", "text/plain; charset=rot13"),
        (b'<meta charset="utf-8"><p>\xff', "a.html", None),
        (bytes(range(256)) * 40, "a.txt", None),
    ],
)
def test_what_cannot_be_decoded_says_so(data, uri, content_type, extract):
    with pytest.raises(ExtractionError) as caught:
        extract(data, uri, content_type)
    assert caught.value.reason == "undecodable"


def test_surrogates_in_utf8_and_nul_are_replaced_and_counted(extract):
    (document,) = extract(b"a\xed\xa0\x80b\0c", "a.txt")
    assert document.snapshot.text == "a\ufffdb\ufffdc"
    assert document.snapshot.counts == {"replaced_nul": 1, "replaced_surrogate": 1}


@pytest.mark.parametrize("data", [b"", b" \n\t\r\n ", "\u3000\n".encode()])
@pytest.mark.parametrize("suffix", ["txt", "md", "html"])
def test_a_blank_document_is_a_snapshot_without_blocks(data, suffix, extract):
    (document,) = extract(data, f"a.{suffix}")
    assert not document.snapshot.text.strip() and document.snapshot.blocks == ()


@pytest.mark.parametrize(
    ("uri", "content_type", "expected"),
    [
        ("gs://b/x.MD", None, "markdown"),
        ("x.txt.gz", None, "plain"),
        ("dir.md/x", None, None),
        (".md", None, "markdown"),
        ("md", None, None),
        ("x.tar.gz", None, None),
        ("a b/../ü\n.csv", None, "csv"),
        ("x.md", "text/plain; charset=utf-8", "plain"),
        ("x.md", "application/octet-stream", "markdown"),
        ("x", "TEXT/HTML", "html"),
        ("x.warc.gz", "application/gzip", "warc"),
    ],
)
def test_format_by_content_type_then_suffix(uri, content_type, expected):
    assert format_of(uri, content_type) == expected


def test_tables_hold_many_documents():
    assert [name for name in ("plain", "html", "jsonl", "csv", "parquet", "warc", "pdf") if is_table(name)] == [
        "jsonl",
        "csv",
        "parquet",
        "warc",
    ]


def test_an_unknown_format_is_one_failure(extract):
    with pytest.raises(ExtractionError, match="unknown_format"):
        extract(b"x", "a.exe")


@pytest.mark.parametrize("error", [KeyError("zone\nx"), RuntimeError("deep"), AssertionError(), TypeError("no")])
def test_whatever_a_library_raises_is_one_failure(error, extract, monkeypatch):
    def broken(*_):
        raise error

    monkeypatch.setattr("transforms.extraction.documents.extract_plain", broken)
    with pytest.raises(ExtractionError, match=f"^broken_plain: {type(error).__name__}") as caught:
        extract(b"x", "a.txt")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("error", [MemoryError, StoreError, OSError])
def test_what_is_not_the_files_fault_passes(error, extract, monkeypatch):
    def broken(*_):
        raise error

    monkeypatch.setattr("transforms.extraction.documents.extract_plain", broken)
    with pytest.raises(error):
        extract(b"x", "a.txt")


@pytest.mark.parametrize(
    "name", ["history.txt", "visitor-guide.md", "makerspace.html", "tickets.jsonl", "branches.csv"]
)
def test_compressed_twins_are_equal(name, corpus, extract):
    data = (corpus / name).read_bytes()
    assert extract(gzip.compress(data), f"{name}.gz") == extract(data, name) == extract(gzip.compress(data), name)


class Unseekable(io.RawIOBase):
    def __init__(self, data: bytes) -> None:
        self._stream = io.BytesIO(data)

    def readable(self):
        return True

    def readinto(self, buffer):
        return self._stream.readinto(memoryview(buffer)[:3])


def test_every_example_reads_the_same_from_a_source_that_cannot_seek(corpus):
    for path in sorted(corpus.iterdir()):
        data = path.read_bytes()
        documents = list(extract_file(io.BytesIO(data), path.name, ReadingSettings()))
        assert documents and all(document.snapshot.text.strip() for document in documents), path.name
        assert list(extract_file(Unseekable(data), path.name, ReadingSettings())) == documents


def test_the_examples_hold_every_format(corpus):
    names = [path.name for path in corpus.iterdir()]
    assert {format_of(name) for name in names} == {
        "plain",
        "markdown",
        "html",
        "pdf",
        "jsonl",
        "csv",
        "parquet",
        "warc",
    }
    assert any(name.endswith(".gz") for name in names)
    assert sum(path.stat().st_size for path in corpus.iterdir()) < 300_000


@pytest.mark.parametrize("suffix", ["txt", "md", "html", "pdf", "parquet", "jsonl", "csv"])
def test_a_gzip_bomb_costs_no_more_than_the_bound(suffix):
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(b"x" * 1_000_000) for _ in range(80)) + packer.flush()
    tracemalloc.start()
    try:
        documents = list(
            extract_file(io.BytesIO(bomb), f"b.{suffix}.gz", ReadingSettings(max_document_bytes=1_000_000))
        )
        assert [document.reason for document in documents] == ["too_large"]
    except ExtractionError as error:
        assert error.reason in ("too_large", "broken_parquet")
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 20_000_000


def test_the_bound_is_exact(extract):
    assert extract(b"x" * 100, "a.txt", max_document_bytes=100)
    with pytest.raises(ExtractionError, match="too_large"):
        extract(b"x" * 101, "a.txt", max_document_bytes=100)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-9], lambda data: data[:20] + b"?" + data[21:], lambda data: data[:2]]
)
def test_damaged_gzip_is_one_failure(damage, extract):
    with pytest.raises(ExtractionError, match="broken_gzip"):
        extract(damage(gzip.compress(UMLAUTS.encode())), "a.txt.gz")


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=200))
@example(data=b"\xfe\xff\xd8\x00")
def test_random_bytes_raise_nothing_but_extraction_errors(data, extract, check):
    for suffix in ("txt", "md", "html", "pdf", "warc"):
        for body in (data, gzip.compress(data)):
            try:
                for document in extract(body, f"a.{suffix}"):
                    check(document.snapshot)
            except ExtractionError as error:
                assert error.reason and "\n" not in str(error)


def test_content_ids_depend_on_text_and_blocks_alone(extract):
    (markdown,) = extract(b"# x", "a.md")
    (plain,) = extract(b"# x", "a.txt")
    assert content_id(markdown.snapshot) != content_id(plain.snapshot)
    assert len(content_id(plain.snapshot)) == 32


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("cp1252", "Café crème à la française, déjà vu. Où est la bibliothèque ?"),
        ("cp1252", "El niño comió una piña mañana por la tarde."),
        ("cp1252", "Straße"),
        ("cp1252", "Prix : 20 € par mois, payé à l’avance."),
        ("cp1252", "Smörgåsbord på båten är gott. Många människor åker på semester i Värmland."),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy."),
        ("cp1250", "A könyvtár kilenckor nyit. Nem kell külön fizetni az őszi időszakban, s a fűtés is jó."),
        ("cp1250", "Knjižnica se odpre ob devetih. V nedeljo je zaprta. Včasih čakamo."),
        ("cp1251", "Библиотека открывается в девять часов. В воскресенье она закрыта."),
        ("cp1253", "Η βιβλιοθήκη ανοίγει στις εννέα. Την Κυριακή είναι κλειστή."),
        ("shift_jis", "図書館は九時に開きます。日曜日は休みです。"),
    ],
)
def test_a_short_text_of_an_old_charset_keeps_its_letters(charset, text):
    assert decode(text.encode(charset)) == (text, {GUESSED_CHARSET: 1})

import runpy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import ExtractionError

pytest.importorskip("pypdfium2", reason="the extra 'formats' is not installed")


def test_pages_hold_their_paragraphs(corpus, extract, check, kinds):
    (document,) = extract((corpus / "annual-report.pdf").read_bytes(), "a.pdf")
    check(document.snapshot)
    first, second = (block for block in document.snapshot.blocks if block.kind == "page")
    assert first.end + 2 == second.start and second.end == len(document.snapshot.text)
    assert [kind for kind, _ in kinds(document.snapshot)] == ["page", *["paragraph"] * 3] * 2
    text = document.snapshot.text
    assert text.startswith(
        "Annual report 2031\n\nIn 2031 the five houses and the bookmobile were visited 418,000\ntimes"
    )


@pytest.fixture(scope="module")
def make_corpus(corpus):
    return runpy.run_path(str(corpus.parent / "make_corpus.py"))


def test_a_page_without_text_is_counted(make_corpus, extract, kinds):
    (document,) = extract(make_corpus["pdf_bytes"](((), (("one",),), ())), "scan.pdf")
    assert kinds(document.snapshot) == [("page", "one"), ("paragraph", "one")]
    assert document.snapshot.counts == {"pages_without_text": 2}


def test_the_examples_are_what_their_script_writes(make_corpus, corpus, tmp_path):
    make_corpus["main"](tmp_path)
    for path in tmp_path.iterdir():
        if path.suffix != ".parquet":  # names the version of the library that wrote it
            assert path.read_bytes() == (corpus / path.name).read_bytes()


@pytest.mark.parametrize("data", [b"", b"%PDF-1.4", b"not a pdf", b"%PDF-1.7\n" + b"<<" * 10_000])
def test_a_broken_pdf_is_one_failure(data, extract):
    with pytest.raises(ExtractionError, match="broken_pdf"):
        extract(data, "x.pdf")


def test_a_pdf_with_too_much_text_is_refused(corpus, extract):
    data = (corpus / "annual-report.pdf").read_bytes()
    with pytest.raises(ExtractionError, match="too_large"):
        extract(data, "x.pdf", max_document_bytes=len(data) - 1)


@settings(max_examples=60, deadline=None)
@given(position=st.integers(0, 1300), value=st.integers(0, 255), n_cut=st.integers(0, 400))
def test_a_damaged_pdf_raises_nothing_but_extraction_errors(corpus, extract, check, position, value, n_cut):
    data = bytearray((corpus / "annual-report.pdf").read_bytes())
    data[position] = value
    try:
        (document,) = extract(bytes(data[: len(data) - n_cut]), "x.pdf")
        check(document.snapshot)
    except ExtractionError as error:
        assert error.reason in ("broken_pdf", "encrypted_pdf")

"""Metadata that is too long to travel comes back, each to its document."""

import uuid

import pytest
from hand_mill import HandMill
from hypothesis import given, settings
from hypothesis import strategies as st

import transforms.metadata_files as metadata_files
from transforms.metadata_files import INLINE_BYTES, MetadataSink, with_metadata
from transforms.records import DocumentRead, Note


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    mill = HandMill(tmp_path_factory.mktemp("mill"))
    mill.write("a.txt", "text")
    return mill.context()[0]


texts = st.lists(st.text('aé\n"', max_size=8).map(lambda text: text * 200) | st.text(max_size=9), max_size=9)


@given(written=texts, n_bytes=st.sampled_from([0, 1500, metadata_files.FLUSH_BYTES]))
@settings(max_examples=40, deadline=None)
def test_what_is_long_lies_in_files_and_comes_back(context, written, n_bytes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata_files, "FLUSH_BYTES", n_bytes)
        sink = MetadataSink(context, f"runs/r/{uuid.uuid4().hex}")
        read = [DocumentRead(str(n), "f", n, "", 0, "", -1, text, 0.0) for n, text in enumerate(written)]
        travelling = [sink.placed(document) for document in read]
        sink.flush()
    assert all(len(document.metadata.encode()) <= INLINE_BYTES for document in travelling)
    back = list(with_metadata(context.root, [*reversed(travelling), Note("n", 1)]))
    assert sorted((b for b in back if isinstance(b, DocumentRead)), key=lambda d: d.row) == read
    assert len(back) == len(read) + 1

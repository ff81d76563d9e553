"""Shards that outgrew their size are halved; that nothing gets lost on the way is tested with whole runs."""

from hypothesis import given
from hypothesis import strategies as st

from transforms.layout import ranges
from transforms.splitting import SPLIT_DOCUMENTS, split_document_shards, split_shards
from transforms.store.manifest import N_BUCKETS, DocumentShard, FileEntry, Shard


def covered(shards) -> list[int]:
    return [bucket for shard in shards for bucket in range(shard.first, shard.last + 1)]


@given(st.lists(st.integers(0, 500), min_size=1, max_size=8), st.integers(1, 300))
def test_halves_cover_what_the_whole_covered(sizes, shard_chars):
    parts = ranges(8)[: len(sizes)]
    shards = [
        Shard(first, last, index=FileEntry("i", "0", 1), index_kind="flat", training="t", n_chars=size, n_contents=2)
        for (first, last), size in zip(parts, sizes, strict=True)
    ]
    after = list(split_shards(shards, shard_chars))
    assert covered(after) == covered(shards)
    assert len(after) == len(shards) + sum(size > 2 * shard_chars for size in sizes)
    for shard in after:
        is_half = shard.last - shard.first + 1 < N_BUCKETS // 8
        assert (shard.index is None, shard.training == "") == (is_half, is_half)


def test_a_single_bucket_and_a_single_content_are_not_split():
    bucket, content = Shard(7, 7, n_chars=10**9, n_contents=2), Shard(0, 7, n_chars=10**9, n_contents=1)
    assert list(split_shards([bucket, content], 1)) == [bucket, content]


def test_document_shards_split_by_their_number_of_documents():
    def shard(n: int) -> DocumentShard:
        return DocumentShard(0, 4095, FileEntry("d", "0", 1, n), FileEntry("f", "0", 1, n))

    assert list(split_document_shards([shard(SPLIT_DOCUMENTS)])) == [shard(SPLIT_DOCUMENTS)]
    halves = list(split_document_shards([shard(SPLIT_DOCUMENTS + 1)]))
    assert [half.name for half in halves] == ["0000-07ff", "0800-0fff"]
    assert {half.documents for half in halves} == {FileEntry("d", "0", 1, SPLIT_DOCUMENTS + 1)}
    assert list(split_document_shards([DocumentShard(0, 4095)])) == [DocumentShard(0, 4095)]


@given(st.integers(0, 12), st.integers(0, 10**6), st.floats(0, 1e7))
def test_no_document_shard_meets_too_many_documents_under_one_key(power, n_held, n_expected):
    shards = [DocumentShard(*span, FileEntry("d", "0", 1, n_held // 2**power)) for span in ranges(2**power)]
    after = list(split_document_shards(shards, n_expected))
    assert covered(after) == list(range(N_BUCKETS))
    n_each = max(n_held, n_expected) / len(after)
    assert n_each <= SPLIT_DOCUMENTS + 1 or len(after) == N_BUCKETS
    assert list(split_document_shards([DocumentShard(s.first, s.last) for s in after], n_expected)) == [
        DocumentShard(s.first, s.last) for s in after
    ]

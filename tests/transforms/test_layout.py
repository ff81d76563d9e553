"""How buckets are divided into shards, and shards that outgrew their size."""

from hypothesis import given
from hypothesis import strategies as st

from transforms.layout import DOCUMENTS_PER_SHARD, first_document_shards, first_shards, ranges, shard_of
from transforms.store.manifest import N_BUCKETS, Shard


@given(st.sampled_from([2**n for n in range(13)]))
def test_ranges_are_equal_and_cover_every_bucket_once(n_shards):
    parts = ranges(n_shards)
    assert len(parts) == n_shards
    assert [bucket for first, last in parts for bucket in range(first, last + 1)] == list(range(N_BUCKETS))
    assert len({last - first for first, last in parts}) == 1


@given(st.sampled_from([2**n for n in range(13)]), st.integers(0, N_BUCKETS - 1))
def test_every_bucket_has_the_shard_whose_range_holds_it(n_shards, bucket):
    parts = ranges(n_shards)
    first, last = parts[shard_of(bucket, [first for first, _ in parts])]
    assert first <= bucket <= last


@given(st.integers(0, 10**8), st.integers(0, 10**13))
def test_a_first_run_has_shards_of_about_the_planned_size(n_files, n_bytes):
    documents = first_document_shards(n_files, n_bytes)
    expected = n_files + n_bytes / 1024
    assert (
        len(documents) in (1, N_BUCKETS) or DOCUMENTS_PER_SHARD / 2 < expected / len(documents) <= DOCUMENTS_PER_SHARD
    )
    contents = first_shards(n_bytes, 2**20)
    assert len(contents) in (1, N_BUCKETS) or 2**19 < n_bytes / len(contents) <= 2**20


def test_a_small_corpus_is_one_shard():
    assert first_shards(10, 2**20) == [Shard(0, N_BUCKETS - 1)]
    assert [shard.name for shard in first_document_shards(1, 0)] == ["0000-0fff"]

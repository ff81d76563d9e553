import numpy as np
import pytest

from transforms.planning.memory import code_book_bytes, flat_bytes, hnsw_bytes, ivfpq_bytes, link_bytes

faiss = pytest.importorskip("faiss")


def vectors(n, d):
    return np.random.default_rng(1).standard_normal((n, d)).astype(np.float32)


def test_flat_is_what_faiss_holds():
    index = faiss.IndexFlatIP(32)
    index.add(vectors(1000, 32))
    assert index.codes.size() == flat_bytes(1000, 32)


def test_ivfpq_is_what_faiss_holds():
    index = faiss.index_factory(64, "IVF16,PQ8x8np")
    index.train(vectors(2000, 64))
    index.add(vectors(5000, 64))
    lists = sum(index.invlists.list_size(i) for i in range(16)) * (index.code_size + 8)
    assert index.pq.centroids.size() * 4 == code_book_bytes(64)
    assert lists + 16 * 64 * 4 + code_book_bytes(64) == ivfpq_bytes(5000, 8, 16, 64)
    assert len(faiss.serialize_index(index)) == pytest.approx(ivfpq_bytes(5000, 8, 16, 64), rel=0.01)


def test_hnsw_is_what_faiss_holds_but_for_upper_layers():
    index = faiss.IndexHNSWFlat(32, 16)
    index.add(vectors(3000, 32))
    payload, links = flat_bytes(3000, 32), link_bytes(3000, 16)
    assert hnsw_bytes(3000, 32 * 4, 16) == payload + links
    assert links <= index.hnsw.neighbors.size() * 4 <= links * 1.1

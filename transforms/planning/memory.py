"""Bytes of memory that an index of n vectors takes, by kind. What a formula does not name (ids, texts) stands apart."""

from models.flops import Count
from transforms.indexing.recipe import N_CODEWORDS

FLOAT_BYTES = 4
ID_BYTES = 8
LINK_BYTES = 4
LINKS_PER_NODE = 32
"""M of HNSW as FAISS and most others have it by default."""


def flat_bytes(n_vectors: Count, n_components: int, bytes_per_component: int = FLOAT_BYTES) -> Count:
    """The vectors themselves, without ids: n d b.

    >>> flat_bytes(21_015_324, 768) / 1e9
    64.559075328
    """
    return n_vectors * n_components * bytes_per_component


def link_bytes(n_vectors: Count, links_per_node: int = LINKS_PER_NODE, slot_bytes: int = LINK_BYTES) -> Count:
    """Links of the base layer of HNSW: 2 M slots a vector, filled or not.

    Malkov and Yashunin 2016, https://arxiv.org/abs/1603.09320, section 4.2.3; the upper layers, about 1 / M of the
    vectors with M slots each, are left out.
    """
    return n_vectors * 2 * links_per_node * slot_bytes


def hnsw_bytes(n_vectors: Count, bytes_per_vector: int, links_per_node: int = LINKS_PER_NODE) -> Count:
    """HNSW over vectors, or codes, of `bytes_per_vector`: payload and the links of the base layer.

    >>> hnsw_bytes(2_000_000, 768 * 4)
    6656000000
    """
    return n_vectors * bytes_per_vector + link_bytes(n_vectors, links_per_node)


def code_book_bytes(n_components: int, n_codewords: int = N_CODEWORDS) -> int:
    """Code books of a product quantizer, whatever the number of its parts: codewords of d float32 components in all."""
    return n_codewords * n_components * FLOAT_BYTES


def ivfpq_bytes(n_vectors: Count, code_bytes: int, n_lists: int, n_components: int) -> Count:
    """IVF-PQ with explicit ids: n (code + 8) + nlist d 4 + code books.

    Jégou, Douze and Schmid 2011, https://doi.org/10.1109/TPAMI.2010.57, with FAISS's 8-byte ids.

    >>> ivfpq_bytes(1_000_000, 48, 4096, 384)
    62684672
    """
    return n_vectors * (code_bytes + ID_BYTES) + n_lists * n_components * FLOAT_BYTES + code_book_bytes(n_components)

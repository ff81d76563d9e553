"""Ids come from content, are stable for ever, and tell all parts of a unit apart."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from transforms.identity import bucket, unit_id, uri_bucket, vector_id
from transforms.store.manifest import N_BUCKETS

PARTS = st.tuples(
    st.text("0123456789abcdef", min_size=32, max_size=32), st.sampled_from(["fixed", "structural"]),
    st.integers(0, 99), st.integers(0, 99), st.text(max_size=5), st.sampled_from(["r1", "r2"]),
)  # fmt: skip


def test_golden_ids_that_stores_in_use_depend_on():
    unit = unit_id("0" * 32, "structural", 3, 8, "naïve", "a1b2")
    assert unit == "4852123728b12d2a77688941197c9362"
    assert vector_id("8" + "0" * 31) == 2**62
    assert (bucket("fff" + "0" * 29), uri_bucket("docs/a.md")) == (4095, 1315)


@given(PARTS, PARTS)
def test_units_share_an_id_only_if_all_is_equal(one, other):
    assert (unit_id(*one) == unit_id(*other)) == (one == other)


@given(PARTS)
def test_vector_ids_are_positive_63_bit_numbers(parts):
    unit = unit_id(*parts)
    assert len(unit) == 32
    assert 0 <= vector_id(unit) < 2**63
    assert vector_id(unit) == int.from_bytes(bytes.fromhex(unit)[:8]) // 2


@given(st.text())
def test_every_uri_has_a_bucket(uri):
    assert 0 <= uri_bucket(uri) < N_BUCKETS
    assert uri_bucket(uri) == int(hashlib.sha256(uri.encode()).hexdigest(), 16) >> 244

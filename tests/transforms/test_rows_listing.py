"""What is known of a table's rows."""

from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.context import open_store
from transforms.rows_listing import CHUNK_ROWS, BadRow, KnownRows, RowsWriter, entry_of

rows = st.dictionaries(st.text(max_size=5), st.tuples(st.text(max_size=3), st.text(max_size=3)), max_size=9)


@given(before=rows, now=rows, retry=st.sets(st.text(max_size=2), max_size=2))
@settings(max_examples=60, deadline=None)
def test_rows_match_if_they_are_as_they_were_and_are_not_to_be_retried(before, now, retry):
    known = KnownRows(before, retry)
    for uri, (content, digest) in now.items():
        same = before.get(uri) == (content, digest) and uri not in retry and "" not in retry
        assert known.matches(uri, content, digest) == same
    assert list(known.not_seen()) == [uri for uri in before if uri not in now]


def test_a_failed_row_is_kept_if_it_is_known():
    known = KnownRows({"a": ("c", "m")})
    assert known.keep("a") and not known.keep("b")
    assert known["a"] == ("c", "m")
    assert not list(known.not_seen())


names = st.sampled_from(["", "a", "b", "c", "d", "new"])
bad_rows = st.lists(st.builds(BadRow, st.integers(0, 9), names, names, names), max_size=6)


@given(known=st.permutations("abcd"), good=st.sets(st.sampled_from("abcd")), bad=bad_rows)
def test_a_bad_row_is_never_one_that_was_read_nor_one_that_another_is(known, good, bad):
    table = KnownRows({uri: ("c", "m") for uri in known})
    for uri in good:
        table.matches(uri, "c", "m")
    found = [uri for uri in table.whose(bad) if uri is not None]
    assert len(set(found)) == len(found) and not good & set(found)
    assert list(table.not_seen()) == [uri for uri in known if uri not in good and uri not in found]


@given(known=st.permutations("abcdefgh"), bad=st.sets(st.sampled_from("abcdefgh")))
def test_rows_without_an_id_are_known_by_their_place(known, bad):
    table, unnamed, last = KnownRows({uri: ("c", "m") for uri in known}), [], ""
    for row, uri in enumerate(known):
        if uri in bad:
            unnamed.append(BadRow(row, after=last))
        else:
            table.matches(uri, "c", "m")
            last = uri
    assert table.whose(unnamed) == [uri for uri in known if uri in bad]


def test_rows_that_were_kept_come_back_in_their_places(tmp_path):
    store, writer = open_store(str(tmp_path)), RowsWriter()
    for row in (0, 2, 1):
        writer.add(f"u{row}", row, "c", "m")
    assert list(KnownRows.load(store, writer.finish(store).path, ()).not_seen()) == ["u0", "u1", "u2"]


def test_written_rows_come_back(tmp_path):
    store, writer = open_store(str(tmp_path)), RowsWriter()
    n = CHUNK_ROWS + 5
    for row in range(n):
        writer.add(f"u{row}", row, "c" if row else "", "m")
    entry = writer.finish(store)
    assert (entry.n_rows, writer.n_rows) == (n, n)
    assert entry_of(entry.path).sha256 == entry.sha256
    known = KnownRows.load(store, entry.path, ())
    assert known["u0"] == ("", "m") and known["u7"] == ("c", "m")
    assert sum(1 for _ in known.not_seen()) == n


def test_no_listing_means_nothing_is_known(tmp_path):
    assert not list(KnownRows.load(open_store(str(tmp_path)), "", ()).not_seen())


def test_a_table_without_rows_has_a_listing_too(tmp_path):
    store = open_store(str(tmp_path))
    entry = RowsWriter().finish(store)
    assert not list(KnownRows.load(store, entry.path, ()).not_seen())

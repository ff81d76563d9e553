"""The index finds what a list of all keys would, whatever came and went, in few tiers."""

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from transforms.answers_index import AnswerIndex
from transforms.store.manifest import FileEntry


def key(number):
    return sha256(str(number).encode()).hexdigest()


numbers = st.integers(0, 20)
steps = st.lists(st.one_of(st.lists(numbers, min_size=1, max_size=12), numbers.map(lambda n: -n)), max_size=40)


@given(steps, st.sets(numbers, max_size=8))
def test_rows_are_found_where_they_are(steps, wanted):
    index, files = AnswerIndex(), {}
    for at, step in enumerate(steps):
        if isinstance(step, list):
            files[f"f{at}"] = sorted(map(key, step))
            index.add(FileEntry(f"f{at}", "", 0, 0), files[f"f{at}"])
        elif files:
            path = sorted(files)[-step % len(files)]
            index.remove(path)
            del files[path]
    looked_for = {key(number) for number in wanted}
    expected = {
        path: [row for row, name in enumerate(keys) if name in looked_for]
        for path, keys in files.items()
        if looked_for & set(keys)
    }
    assert {entry.path: rows for entry, rows in index.rows_of(looked_for)} == expected
    assert set(index.paths) == set(files)


def test_tiers_stay_few_however_small_the_files_are():
    index = AnswerIndex()
    for number in range(1000):
        index.add(FileEntry(f"f{number}", "", 0, 0), [key(number)])
        index.add(FileEntry(f"f{number}", "", 0, 0), [key(-number)])  # known already
    assert len(index._tiers) <= 10 and sum(len(tier.digests) for tier in index._tiers) == 1000
    assert [entry.path for entry, _ in index.rows_of([key(7), key(999), key(-1)])] == ["f7", "f999"]

"""Sums of what no finished work bears: of all processes of a run, each once, whatever a kill leaves."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import StoreError
from transforms.spending import DETECTED, Spending, spent_in
from transforms.store.files import Store


@given(amounts=st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.integers(0, 10**12))))
def test_all_processes_of_the_named_runs_add_up(tmp_path_factory, amounts):
    store = Store(str(tmp_path_factory.mktemp("store")))
    processes = [Spending(store, "one"), Spending(store, "one"), Spending(store, "other")]
    for process, name, amount in amounts:
        processes[process].add(name, amount)
    for spending in processes:
        spending.flush()
        spending.flush()
    for runs, taken in {("one",): (0, 1), ("one", "other"): (0, 1, 2), (): ()}.items():
        for name in "ab":
            assert spent_in(store, runs)[name] == sum(n for at, word, n in amounts if at in taken and word == name)


def test_a_run_that_spent_nothing_leaves_no_file(tmp_path):
    store = Store(str(tmp_path))
    spending = Spending(store, "run")
    spending.add(DETECTED, 0)
    spending.flush()
    assert store.list("runs") == []


def test_what_was_added_is_durable_a_second_later(tmp_path, monkeypatch):
    store, now = Store(str(tmp_path)), [0.0]
    monkeypatch.setattr("transforms.spending.time.monotonic", lambda: now[0])
    spending = Spending(store, "run")
    spending.add(DETECTED, 5)
    assert spent_in(store, ["run"])[DETECTED] == 0
    now[0] = 1.0
    spending.add(DETECTED, 2)
    assert spent_in(store, ["run"])[DETECTED] == 7


def test_threads_share_the_sums(tmp_path):
    store = Store(str(tmp_path))
    spending = Spending(store, "run")
    threads = [threading.Thread(target=lambda: [spending.add(DETECTED, 1) for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spending.flush()
    assert spent_in(store, ["run"])[DETECTED] == 2000


@pytest.mark.parametrize("data", [b"", b"[1]", b'{"a": "1"}', b'{"a": 1', b"\xff", b'{"a": null}', b"[" * 100_000])
def test_a_damaged_file_is_one_line_with_its_name(tmp_path, data):
    store = Store(str(tmp_path))
    store.write_named("runs/run/spent/x.json", data)
    with pytest.raises(StoreError, match=r"runs/run/spent/x\.json is damaged; remove it"):
        spent_in(store, ["run"])

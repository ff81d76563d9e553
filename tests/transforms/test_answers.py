"""Every prompt is asked for once; what was stored is found by anybody, and damage costs a new question, no more."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from asking import ask_for, client_of
from hypothesis import given, settings
from hypothesis import strategies as st

from models.fake_llm import FakeEndpoint, refused
from models.llm.records import Answer, LlmFailure, Usage
from transforms.answers import FOLDER, AnswerStore, StoredAsking, answer_key, merge_segments, run_bill
from transforms.store.files import Store


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path))


def entry(text, answer="yes", **more):
    request = ask_for(text, **more)
    return answer_key(request, "m"), request, Answer(answer, Usage(3, 1, 2), wasted=Usage(1, 0, 1), seconds=0.5)


def segments(store):
    return sorted(Path(store.root, FOLDER).iterdir())


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=10), max_size=6))
@settings(max_examples=30)
def test_what_was_put_is_found_by_any_process(tmp_path_factory, batches):
    store = Store(str(tmp_path_factory.mktemp("answers")))
    writer, early = AnswerStore(store), AnswerStore(store)
    for batch in batches:
        writer.put([entry(f"prompt {number}", f"answer {number}") for number in batch])
        early.find([entry("prompt 99")[0]])
    for reader in (writer, early, AnswerStore(store)):
        found = reader.find([entry(f"prompt {number}")[0] for number in range(40)])
        assert set(found) == {entry(f"prompt {number}")[0] for batch in batches for number in batch}
        assert all(stored.answer().is_stored for stored in found.values())
        for number in {number for batch in batches for number in batch}:
            answer = found[entry(f"prompt {number}")[0]].answer()
            assert (answer.text, answer.usage, answer.wasted) == (f"answer {number}", Usage(3, 1, 2), Usage(1, 0, 1))
        assert not reader.counts


@pytest.mark.parametrize("damage", ["flipped", "cut", "empty", "foreign", "foreign\n.parquet"])
def test_damaged_files_are_counted_and_ignored(store, damage):
    AnswerStore(store).put([entry("lost")])
    (lost,) = segments(store)
    AnswerStore(store).put([entry("kept")])
    data = lost.read_bytes()
    damaged = {"flipped": data[:50] + b"#" + data[51:], "cut": data[:-9], "empty": b""}
    if damage.startswith("foreign"):
        (lost.parent / damage).write_text("mine")
    else:
        lost.write_bytes(damaged[damage])
    reader = AnswerStore(store)
    for _ in range(2):
        found = reader.find([entry("lost")[0], entry("kept")[0]])
    assert len(found) == (2 if damage.startswith("foreign") else 1) and entry("kept")[0] in found
    assert reader.counts == {"damaged_answer_files": 1}


def test_a_file_that_is_damaged_after_it_was_read_is_not_believed(store):
    reader = AnswerStore(store)
    reader.put([entry("lost")])
    (path,) = segments(store)
    path.write_bytes(path.read_bytes()[:-9])
    assert reader.find([entry("lost")[0]]) == {} and reader.counts == {"damaged_answer_files": 1}


def test_each_prompt_is_asked_for_once(store):
    with FakeEndpoint(lambda prompt: prompt.text.upper()) as fake, client_of(fake) as client:
        asked = [ask_for(f"prompt {number % 5}") for number in range(20)]
        for _ in range(3):
            asking = StoredAsking(AnswerStore(store), client.ask_each, "m")
            results = asking(asked)
            assert [result.text for result in results] == [f"PROMPT {number % 5}" for number in range(20)]
        assert (fake.n_requests, fake.n_distinct) == (5, 5)
        assert asking.counts == {"stored_answers": 5} and all(result.is_stored for result in results)


def test_an_answer_that_serves_other_contents_is_kept_for_them_too_and_billed_once(store):
    with FakeEndpoint("yes") as fake, client_of(fake) as client:
        for owners in ("x", "yx", "xyz", "zyx"):
            asking = StoredAsking(AnswerStore(store, "run"), client.ask_each, "m")
            asking([ask_for("text", owner=owner) for owner in owners])
        assert fake.n_requests == 1
    key = answer_key(ask_for("text"), "m")
    assert AnswerStore(store).find([key])[key].owners == {"x", "y", "z"} and len(segments(store)) == 3
    (bill,) = run_bill(store, "run").to_pylist()
    assert (bill["owner"], bill["n_answers"]) == ("x", 1)
    assert merge_segments(store, more_than=1) == 3
    assert AnswerStore(store).find([key])[key].owners == {"x", "y", "z"}


def test_what_processes_were_told_side_by_side_stays_as_each_of_them_used_it(store):
    """Two ask the same at the same time and are told different things: no later reader confuses whose is whose."""
    waiting, made, seen = threading.Barrier(2), {}, {}

    def told(text, owner):
        def ask_each(requests, _):
            waiting.wait(30)
            yield 0, Answer(text, Usage(3, 0, 1))

        made[owner] = StoredAsking(AnswerStore(store), ask_each, "m")([ask_for("text", owner=owner)])[0].text

    threads = [threading.Thread(target=told, args=pair) for pair in (("red", "x"), ("green", "y"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asked = [ask_for("text", owner=owner) for owner in "xyz"]
    for _ in range(2):
        for order in (asked, asked[::-1]):
            results = StoredAsking(AnswerStore(store), lambda *_: iter(()), "m")(order)
            read = {request.owner: result.text for request, result in zip(order, results, strict=True)}
            assert (read["x"], read["y"], made) == ("red", "green", {"x": "red", "y": "green"})
            assert read["z"] == seen.setdefault("z", read["z"])
        merge_segments(store, more_than=1)


def test_equal_prompts_of_one_call_bear_the_cost_once(store):
    with FakeEndpoint("yes") as fake, client_of(fake) as client:
        results = StoredAsking(AnswerStore(store), client.ask_each, "m")([ask_for("a"), ask_for("a"), ask_for("b")])
    assert [result.is_stored for result in results] == [False, True, False]


@pytest.mark.parametrize(
    ("change", "is_same"),
    [({}, True), ({"owner": "other"}, True), ({"stage": "other"}, True), ({"max_answer_tokens": 9}, False),
     ({"schema": {"type": "object"}}, False), ({"text": "other"}, False)],
)  # fmt: skip
def test_a_key_names_what_decides_the_answer(change, is_same):
    key = answer_key(ask_for("text"), "m")
    assert (answer_key(ask_for(**({"text": "text"} | change)), "m") == key) is is_same
    assert answer_key(ask_for("text"), "another model") != key


def test_failures_are_results_and_are_asked_for_again(store):
    with (
        FakeEndpoint(lambda prompt: refused(400) if "bad" in prompt.text else "yes") as fake,
        client_of(fake) as client,
    ):
        for _ in range(2):
            results = StoredAsking(AnswerStore(store), client.ask_each, "m")([ask_for("fine"), ask_for("bad")])
            assert [type(result) for result in results] == [Answer, LlmFailure]
        assert fake.n_requests == 3


def test_answers_are_stored_while_others_are_still_under_way(store):
    seen = []

    def script(prompt):
        if prompt.number == 9:
            seen.append(len(AnswerStore(store).find([answer_key(ask_for(f"{n}"), "m") for n in range(9)])))
        return "yes"

    with FakeEndpoint(script) as fake, client_of(fake, llm_requests_in_flight=1) as client:
        StoredAsking(AnswerStore(store), client.ask_each, "m", flush_answers=4)([ask_for(f"{n}") for n in range(10)])
    assert seen == [8]


def test_answers_are_flushed_when_nothing_else_comes(store):
    stored = threading.Event()

    def script(prompt):
        if "slow" in prompt.text:
            for _ in range(1000):
                if AnswerStore(store).find([answer_key(ask_for("quick"), "m")]):
                    stored.set()
                    break
                stored.wait(0.005)
        return "yes"

    with FakeEndpoint(script) as fake, client_of(fake) as client:
        StoredAsking(AnswerStore(store), client.ask_each, "m", flush_seconds=0.02)([ask_for("quick"), ask_for("slow")])
    assert stored.is_set()


def test_what_was_answered_is_kept_when_the_caller_is_interrupted(store):
    def ask_each(requests, tick):
        yield 0, Answer("yes")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        StoredAsking(AnswerStore(store), ask_each, "m")([ask_for("a"), ask_for("b")])
    assert len(AnswerStore(store).find([answer_key(ask_for("a"), "m"), answer_key(ask_for("b"), "m")])) == 1


KILLED = """
import sys
sys.path[:0] = [{checkout!r}, {checkout!r} + "/tests"]
from asking import ask_for, client_of
from types import SimpleNamespace
from models.llm.client import n_held_back
from transforms.answers import AnswerStore, StoredAsking
from transforms.store.files import Store
fake = SimpleNamespace(url={url!r}, model="fake-model", context_tokens=8192, key="")
with client_of(fake) as client:
    answers, n_unread = AnswerStore(Store({root!r})), n_held_back(client.settings)
    asking = StoredAsking(answers, client.ask_each, "m", flush_answers=4, n_held_back=n_unread)
    print(len(asking([ask_for(str(number)) for number in range(40)])))
"""


@pytest.mark.parametrize("point", ["answers/before:1", "answers/after:1", "answers/before:3", "answers/after:5"])
def test_a_killed_process_pays_again_for_no_more_than_one_flush_and_what_was_under_way(store, checkout, point):
    def run(fake, **environment):
        code = KILLED.format(checkout=str(checkout), url=fake.url, root=store.root)
        return subprocess.run(
            [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True
        )

    with FakeEndpoint("yes") as first, FakeEndpoint("yes") as second:
        assert run(first, CORPUSMILL_CRASH_AT=point).returncode == -9
        n_stored = len(AnswerStore(store).find([answer_key(ask_for(str(number)), "m") for number in range(40)]))
        assert run(second).stdout == "40\n"
        assert second.n_requests == 40 - n_stored  # nothing stored is asked for again
        assert first.n_requests <= n_stored + 8 + 4


def test_writers_at_once_do_not_disturb_each_other(store):
    def write(name):
        writer = AnswerStore(store)
        for number in range(20):
            writer.put([entry(f"{name} {number}"), entry(f"same {number}")])

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keys = [entry(f"{name} {number}")[0] for name in ("a", "b", "c", "same") for number in range(20)]
    assert len(AnswerStore(store).find(keys)) == 80


def test_a_long_folder_is_listed_seldom_and_what_this_process_stored_is_known_all_the_same(store, monkeypatch):
    monkeypatch.setattr("transforms.answers.ALWAYS_LISTED", 4)
    monkeypatch.setattr("transforms.answers.LISTING_PAUSE_SECONDS", 1.0)
    now, listed = [0.0], []
    own, other = AnswerStore(store, clock=lambda: now[0]), AnswerStore(store)
    monkeypatch.setattr(own, "store", store_that_counts(store, listed))
    for number in range(10):
        own.find([entry(f"prompt {number}")[0]])
        own.put([entry(f"prompt {number}")])
    assert len(listed) == 6  # the last of them saw five files, and one second has to pass
    other.put([entry("of another")])
    assert not own.find([entry("of another")[0]])
    assert set(own.find([entry(f"prompt {number}")[0] for number in range(10)])) and len(listed) == 6
    now[0] = 1.0
    assert own.find([entry("of another")[0]]) and len(listed) == 7


def store_that_counts(store, listed):
    class Counting(Store):
        def list(self, folder, temporary=False):
            listed.append(folder)
            return super().list(folder, temporary)

    return Counting(store.root)


def test_what_was_merged_is_found_at_once_however_seldom_the_folder_is_listed(store, monkeypatch):
    monkeypatch.setattr("transforms.answers.ALWAYS_LISTED", 0)
    monkeypatch.setattr("transforms.answers.LISTING_PAUSE_SECONDS", 1000.0)
    for number in range(6):
        AnswerStore(store).put([entry(f"prompt {number}")])
    reader = AnswerStore(store)
    keys = [entry(f"prompt {number}")[0] for number in range(6)]
    assert len(reader.find(keys)) == 6
    assert merge_segments(store, more_than=1) == 6
    assert len(reader.find(keys)) == 6


def test_merging_loses_nothing_even_under_a_reader(store):
    writer = AnswerStore(store)
    for number in range(10):
        writer.put([entry(f"{number}")])
    reader, keys = AnswerStore(store), [entry(f"{number}")[0] for number in range(10)]
    assert len(reader.find(keys)) == 10
    assert merge_segments(store, more_than=10) == 0
    assert merge_segments(store, more_than=5) == 10 and len(segments(store)) == 1
    assert len(reader.find(keys)) == 10 == len(AnswerStore(store).find(keys)) and not reader.counts
    assert merge_segments(store, more_than=0) == 0


def test_merging_leaves_damaged_files_alone(store):
    for text in "abc":
        AnswerStore(store).put([entry(text)])
    segments(store)[0].write_bytes(b"damaged")
    assert merge_segments(store, more_than=1) == 2
    assert len(segments(store)) == 2


def test_the_bill_of_a_run_is_counted_from_rows(store):
    first, second = AnswerStore(store, "run1"), AnswerStore(store, "run2")
    first.put([entry("a", owner="x", stage="summary"), entry("b", owner="x", stage="summary")])
    first.put([entry("c", owner="y", stage="summary")])
    second.put([entry("d", owner="x", stage="prefix")])
    bill = run_bill(store, "run1").to_pylist()
    assert [(row["stage"], row["owner"], row["n_answers"], row["prompt_tokens"]) for row in bill] == [
        ("summary", "x", 2, 6),
        ("summary", "y", 1, 3),
    ]
    assert bill[0]["wasted_answer_tokens"] == 2 and bill[0]["seconds"] == 1.0
    assert run_bill(store, "none").num_rows == 0


def test_plain_readers_can_read_segments(store):
    import pyarrow.parquet as pq

    AnswerStore(store, "r").put([entry("a")])
    table = pq.read_table(segments(store)[0])
    assert isinstance(table, pa.Table) and table.column("text").to_pylist() == ["yes"]

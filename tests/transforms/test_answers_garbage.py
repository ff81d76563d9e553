"""Collecting answers: what a kept version can ask for, what is young or not billed yet stays, the rest goes."""

import time

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import SettingsError
from models.llm.records import Answer, Message, Request
from models.llm.service import identity_sha256
from transforms.answers import FOLDER, AnswerStore, answer_key
from transforms.answers_garbage import ANSWER_GRACE_HOURS, askers, collect_answers
from transforms.store import schemas
from transforms.store.files import Store
from transforms.store.lease import Lease
from transforms.store.manifest import Gates, Manifest, Shard
from transforms.store.segments import write_table
from transforms.store.versions import write_manifest

MODELS = ({"model": "one"}, {"model": "two"})
DAY = 86_400


def version(store, name, contents, asked):
    """A version with these contents, cut as `asked` says: pairs of a model's number and a prompt."""
    rows = pa.Table.from_pylist([{"content_id": content} for content in contents], schemas.CONTENTS)
    entry = write_table(store, "contents/all", rows)
    parts = [{"llm": MODELS[model], "prompt": prompt} for model, prompt in asked]
    cut = {**(parts[0] if parts else {}), **({"rewriting": parts[1]} if len(parts) > 1 else {})}
    manifest = Manifest(
        version=name, base=None, run=name, created_at=name, recipes={"cut": {"parts": cut}}, encoder={}, settings={},
        document_shards=(), shards=(Shard(0, 4095, contents=entry, n_contents=len(contents)),), training=None,
        gates=Gates(), documents={}, units={}, tokens={}, flops={}, seconds={}, outcomes={}, ledger=(), failures=(),
        libraries={},
    )  # fmt: skip
    write_manifest(store, manifest)
    return manifest


def put(store, text, owner="a", model=0, prompt="p", run=""):
    request = Request((Message("user", text),), 9, None, "summary", owner, prompt)
    key = answer_key(request, identity_sha256(MODELS[model]))
    AnswerStore(store, run).put([(key, request, Answer(text))], identity_sha256(MODELS[model]))
    return key


def left(store):
    paths = [file.path for file in store.list(FOLDER)]
    return {row["text"] for path in paths for row in pa.parquet.read_table(store.path(path)).to_pylist()}


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path / "root"))


def later(days=ANSWER_GRACE_HOURS / 24 + 1):
    return time.time() + days * DAY


def test_only_what_no_kept_version_can_ask_for_goes(store):
    version(store, "v1", ["a", "b"], [(0, "p"), (1, "q")])
    for text, more in {
        "kept": {}, "rewritten": {"model": 1, "prompt": "q"}, "of b": {"owner": "b"},
        "old model": {"model": 1}, "old prompt": {"prompt": "q"}, "gone": {"owner": "c"}, "nobody's": {"owner": ""},
    }.items():  # fmt: skip
        put(store, text, **more)
    assert collect_answers(store, ["v1"]).n_removed_answers == 0  # all are young
    assert collect_answers(store, ["v1"], 30 * 24, later(29)).n_removed_answers == 0
    done = collect_answers(store, ["v1"], now=later())
    assert (done.n_removed_answers, done.n_kept_answers) == (4, 3) and done.n_removed_answer_bytes > 0
    assert left(store) == {"kept", "rewritten", "of b"}
    assert collect_answers(store, ["v1"], now=later()) == msgspec.structs.replace(
        done, n_removed_answers=0, n_removed_answer_bytes=0
    )
    version(store, "v2", ["a"], [])
    assert collect_answers(store, ["v2"], now=later()).n_kept_answers == 0 and left(store) == set()


def test_any_kept_version_needs_its_own(store):
    version(store, "v1", ["a"], [(0, "p")])
    version(store, "v2", ["b"], [(1, "q")])
    put(store, "one"), put(store, "two", "b", 1, "q"), put(store, "neither", "c")
    assert collect_answers(store, ["v1", "v2"], now=later()).n_removed_answers == 1
    assert collect_answers(store, ["v2"], now=later()).n_removed_answers == 1 and left(store) == {"two"}


def test_a_run_that_goes_on_and_one_that_waits_for_its_bill_keep_theirs(store):
    put(store, "settled", run="r1"), put(store, "unsettled", run="r2")
    lease = Lease(store, "r2", ttl_seconds=100 * DAY)
    lease.acquire()
    assert collect_answers(store, [], now=later()).n_removed_answers == 0
    lease.abandon()
    assert collect_answers(store, [], now=later()).n_removed_answers == 1 and left(store) == {"unsettled"}
    lease.release()
    assert collect_answers(store, [], now=later()).n_removed_answers == 1


def test_part_of_a_file_goes_and_the_rest_is_still_found_by_those_who_read_it_before(store):
    version(store, "v1", ["a"], [(0, "p")])
    requests = [Request((Message("user", text),), 9, None, "summary", text, "p") for text in "abc"]
    keys = [answer_key(request, "m") for request in requests]
    reader = AnswerStore(store)
    identity = identity_sha256(MODELS[0])
    reader.put([(key, request, Answer("yes")) for key, request in zip(keys, requests, strict=True)], identity)
    assert collect_answers(store, ["v1"], now=later()).n_removed_answers == 2
    assert list(reader.find(keys)) == [keys[0]] == list(AnswerStore(store).find(keys)) and not reader.counts


def test_damaged_and_foreign_files_are_left_alone(store):
    put(store, "damaged"), put(store, "gone")
    damaged = next(file.path for file in store.list(FOLDER))
    for path, data in ((damaged, b"damaged"), (f"{FOLDER}/notes.txt", b"mine")):
        with open(store.path(path), "wb") as stream:
            stream.write(data)
    assert collect_answers(store, [], now=later()).n_removed_answers == 1
    assert {file.path for file in store.list(FOLDER)} == {damaged, f"{FOLDER}/notes.txt"}
    with pytest.raises(SettingsError, match="below 0"):
        collect_answers(store, [], -1)


answers = st.tuples(st.sampled_from("abcd"), st.integers(0, 1), st.sampled_from("pq"))
versions = st.tuples(
    st.sets(st.sampled_from("abcd")), st.lists(st.tuples(st.integers(0, 1), st.sampled_from("pq")), max_size=2)
)


@given(st.sets(answers, max_size=8), st.lists(versions, max_size=3))
@settings(max_examples=25, deadline=None)
def test_what_a_kept_version_can_ask_for_is_never_removed(tmp_path_factory, given_answers, kept):
    store = Store(str(tmp_path_factory.mktemp("root")))
    manifests = [version(store, f"v{number}", sorted(one[0]), one[1]) for number, one in enumerate(kept)]
    for owner, model, prompt in given_answers:
        put(store, f"{owner}{model}{prompt}", owner, model, prompt)
    collect_answers(store, [manifest.version for manifest in manifests], now=later())
    asked = {(content, *asker) for one, manifest in zip(kept, manifests, strict=True)
             for content in one[0] for asker in askers(manifest)}  # fmt: skip
    needed = {f"{o}{m}{p}" for o, m, p in given_answers if (o, identity_sha256(MODELS[m]), p) in asked}
    assert needed <= left(store)

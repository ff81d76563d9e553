"""A run that asks a language model may die at any moment: what is stored is never asked for again, nor made otherwise.

What a kill loses are the requests under way and the answers of one flush. All else is as in `test_kills`.
"""

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from mill import Mill
from obedient import answers, essay
from test_kills import files_of, kill_at, start, wait_for

from models.fake_llm import FakeEndpoint, Reply
from transforms.answers import StoredAsking
from transforms.attempts import spent_tokens
from transforms.context import open_store
from transforms.spending import DETECTED, spent_in
from transforms.store.lease import all_runs
from transforms.store.verify import verify

IN_FLIGHT = 4
SETTINGS = {
    "encoder": "hashing", "hashing_dimension": 256, "window_tokens": 40, "index": "flat", "recall_queries": 20,
    "chunker": "pic", "pic_min_chars": 200, "rewrite": "propositions", "work_item_tokens": 512,
    "llm_revision": "1", "llm_requests_in_flight": IN_FLIGHT, "usd_per_million_prompt_tokens": 1000,
}  # fmt: skip


BILLED = ("answers", "usd", "wasted_tokens")


BILLED = ("answers", "usd", "wasted_tokens")


class AskedCorpus:
    """A published version, the changes that follow it, and what an undisturbed run asks and makes of them."""

    def __init__(self, base: Path, endpoint: FakeEndpoint) -> None:
        self.endpoint = endpoint
        self.before = Mill(base / "before", {**SETTINGS, "llm_url": endpoint.url})
        for number in range(6):
            self.before.write(f"doc{number}.txt", essay(f"Old{number}"))
        self.before.run()
        for number in range(2, 16):
            self.before.write(f"doc{number}.txt", essay(f"New{number}"))
        undisturbed = self.copy(base / "undisturbed")
        self.largest_round, self.n_stored = 0, n_stored(undisturbed)
        self.report, self.n_asked = self._watched(undisturbed)
        self.files, self.units = files_of(undisturbed), texts_of(undisturbed)

    def _watched(self, mill: Mill):
        """Runs, and notes how many questions were asked at once at most."""
        n_before, ask = self.endpoint.n_requests, StoredAsking._ask

        def watched(asking, missing):
            self.largest_round = max(self.largest_round, len(missing))
            return ask(asking, missing)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(StoredAsking, "_ask", watched)
            return mill.run(), self.endpoint.n_requests - n_before

    def copy(self, base: Path) -> Mill:
        """The published version at another place, over the changed corpus."""
        shutil.copytree(self.before.root, base / "index")
        return Mill(base, {**self.before.settings, "input": [f"{self.before.source}/**"]})


def n_stored(mill: Mill) -> int:
    """Answers under the mill's root."""
    paths = Path(mill.root, "answers").glob("*.parquet")
    return len({key for path in paths for key in pq.read_table(path, columns=["key"]).column("key").to_pylist()})


def until(is_so, what: str) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.005)


def texts_of(mill: Mill) -> list[tuple[str, str]]:
    return [(row["unit_id"], row["text"]) for row in mill.rows("units")]


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    with FakeEndpoint(lambda prompt: Reply(answers(prompt), delay_seconds=0.05)) as endpoint:
        yield AskedCorpus(tmp_path_factory.mktemp("asked"), endpoint)


def check_recovery(asked: AskedCorpus, mill: Mill, n_before: int, n_open: int) -> None:
    """After a kill: the next run asks for what is missing, once, and ends where an undisturbed one does.

    `n_before` and `n_open` are the endpoint's requests and connections before the run that was killed.
    """
    until(lambda: asked.endpoint.n_connections <= n_open, "requests of the dead are still coming in")
    store = open_store(mill.root)
    assert verify(store) == []
    is_old = mill.manifest().version == asked.before.manifest().version
    n_missing = asked.n_stored + asked.n_asked - n_stored(mill)
    n_killed = asked.endpoint.n_requests
    dead = [record.run for record in all_runs(store)]
    spent = spent_tokens(file.path for file in store.list("runs")) + spent_in(store, dead)[DETECTED]
    report = mill.run()
    assert asked.endpoint.n_requests - n_killed == n_missing
    assert asked.endpoint.n_requests - n_before <= asked.n_asked + IN_FLIGHT + asked.largest_round
    assert (files_of(mill), texts_of(mill)) == (asked.files, asked.units)
    if is_old:
        assert [report.llm[name] for name in BILLED] == pytest.approx([asked.report.llm[name] for name in BILLED])
        assert report.tokens["wasted"] == spent + report.tokens["encoded"] - asked.report.tokens["encoded"]
        ledger = mill.rows("ledger")
        assert sum(row["wasted_tokens"] for row in ledger) == report.tokens["wasted"]
    assert all_runs(store) == []


def test_the_corpus_is_asked_about_in_several_rounds(asked):
    assert asked.n_asked > 3 * asked.largest_round > IN_FLIGHT
    assert asked.report.outcomes["propositions"] > 100 and asked.report.outcomes["chunker:pic"] == 14


@pytest.mark.parametrize("point", ["answers/before:1", "answers/after:3", "scratch-spent/after:2"])
def test_killed_around_each_kind_of_write_that_asking_adds(asked, tmp_path, point):
    mill, n_before, n_open = asked.copy(tmp_path), asked.endpoint.n_requests, asked.endpoint.n_connections
    kill_at(mill, point)
    assert asked.endpoint.n_requests > n_before
    runs = [record.run for record in all_runs(open_store(mill.root))]
    assert (spent_in(open_store(mill.root), runs)[DETECTED] > 0) == (point != "answers/before:1")
    check_recovery(asked, mill, n_before, n_open)


def kill_at_random(asked: AskedCorpus, base: Path, seed: int) -> None:
    """Kills after some time, or, so that half of the kills fall among the questions, after one of those."""
    chance = random.Random(seed)
    mill, n_before, n_open = asked.copy(base), asked.endpoint.n_requests, asked.endpoint.n_connections
    seconds = chance.uniform(0.1, asked.report.seconds["wall"] * 1.1)
    n_last = n_before + chance.randrange(1, asked.n_asked) if seed % 2 else None
    pid = start(mill)
    if n_last is None:
        time.sleep(seconds)
    else:
        until(lambda: asked.endpoint.n_requests >= n_last, "the run asks too little")
    os.kill(pid, signal.SIGKILL)
    assert wait_for(pid) in (-signal.SIGKILL, 0)
    check_recovery(asked, mill, n_before, n_open)


@pytest.mark.parametrize("seed", range(3))
def test_killed_at_random(asked, tmp_path, seed):
    kill_at_random(asked, tmp_path, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 130))
def test_killed_at_random_many_times(asked, tmp_path, seed):
    kill_at_random(asked, tmp_path, seed)

"""Runs by command whose endpoint fails: what ends a run is one line and exit code 1, and what was done is kept."""

import json
import threading

import pyarrow.parquet as pq
import pytest
from obedient import answers, essay

from models.fake_llm import FakeEndpoint, Reply, count_words, refused
from pipelines import cli
from transforms.answers import run_bill
from transforms.store.files import Store


class Asking:
    """A corpus of one-document work items and the command that turns it, which asks the endpoint one by one."""

    def __init__(self, mill, endpoint):
        self.mill, self.endpoint = mill, endpoint

    def write(self, n_documents):
        for number in range(n_documents):
            self.mill.write(f"doc{number}.txt", essay(f"Name{number}"))

    def ingest(self, *flags):
        words = ["ingest", "--input", f"{self.mill.source}/**", "--output", self.mill.root, "--encoder", "hashing"]
        words += ["--chunker", "llm", "--llm-url", self.endpoint.url, "--llm-revision", "1", "--work-item-tokens", "64"]
        return cli.main([*words, "--llm-requests-in-flight", "1", "--llm-outage-seconds", "0.3", "--json", *flags])


@pytest.fixture
def asking(mill):
    with FakeEndpoint(answers) as endpoint:
        yield Asking(mill, endpoint)


def complaint(capsys):
    """The one line that a command said that failed, after its progress."""
    said = capsys.readouterr()
    error = json.loads(said.out)
    assert error["exit_code"] == 1 and "\n" not in error["error"]
    lines = [line for line in said.err.splitlines() if not line.startswith(("reading:", "encoding:", "indexing:"))]
    assert len(lines) == 1 and error["error"] in lines[0], lines
    return lines[0]


def report_of(capsys):
    return json.loads(capsys.readouterr().out)


def test_one_that_dies_half_way_ends_the_run_and_its_answers_and_time_are_kept(asking, capsys):
    asking.write(6)

    def dying(prompt):
        if prompt.number < 3:
            return Reply(answers(prompt), delay_seconds=0.02)
        threading.Thread(target=asking.endpoint.stop).start()
        return Reply("never sent", delay_seconds=30)

    asking.endpoint.script = dying
    assert asking.ingest() == 1
    assert "did not answer for 0.3 s" in complaint(capsys)
    asking.endpoint.start()
    asking.endpoint.script, n_before = answers, asking.endpoint.n_requests
    assert asking.ingest("--usd-per-gpu-hour", "3600") == 0
    report = report_of(capsys)
    assert report["documents"]["indexed"] == 6 and asking.endpoint.n_requests == n_before + 3
    assert report["llm"]["answers"] == 6
    assert report["llm"]["busy_seconds"] >= 3 * 0.02 and report["llm"]["usd"] >= report["llm"]["busy_seconds"] * 0.99
    assert report["llm"]["wasted_tokens"] > 0  # of the request that was cut


def test_the_bill_is_what_the_endpoint_counted_and_the_most_for_what_nobody_knows(asking, capsys):
    asking.write(6)
    faults = {1: refused(429), 2: refused(500), 4: Reply("a part", cut_after=9), 6: refused(400), 7: refused(504)}
    answered = []

    def faulty(prompt):
        if prompt.number in faults:
            return faults[prompt.number]
        answered.append((sum(count_words(text) for _, text in prompt.messages), count_words(answers(prompt))))
        return answers(prompt)

    asking.endpoint.script = faulty
    prices = ("--usd-per-million-prompt-tokens", "1", "--usd-per-million-answer-tokens", "10")
    assert asking.ingest(*prices) == 0
    report = report_of(capsys)
    n_prompt, n_answer = (sum(numbers) for numbers in zip(*answered, strict=True))
    assert report["llm"]["answers"] == len(answered) == 5 and asking.endpoint.n_requests == 10
    assert (report["tokens"]["llm_prompt"], report["tokens"]["llm_answer"]) == (n_prompt, n_answer)
    most = [prompt.body["max_tokens"] for prompt in asking.endpoint.prompts if prompt.number in (4, 7)]
    lost = [n for prompt in asking.endpoint.prompts if prompt.number in (4, 7) for n in [count_words(prompt.text)]]
    assert sum(most) + sum(lost) <= report["llm"]["wasted_tokens"] <= sum(most) + 10 * sum(lost)
    assert report["llm"]["usd"] >= (n_prompt + 10 * n_answer + 10 * sum(most)) / 1e6


def test_one_that_comes_back_with_another_model_ends_the_run_and_stores_no_answer_of_it(asking, capsys):
    asking.write(6)
    endpoint, said = asking.endpoint, []

    def restarted(prompt):
        if prompt.number == 3:
            endpoint.stop()
            endpoint.root = "another"
            endpoint.start()
        said.append(endpoint.root)
        return answers(prompt)

    endpoint.script = restarted
    assert asking.ingest() == 1
    assert "is 'another' there; what the first one answered is kept" in complaint(capsys)
    assert said.count("another") == 1  # of the request that its restart cut
    bill = run_bill(Store(asking.mill.root), next(iter(runs_that_paid(asking.mill.root))))
    assert sum(bill.column("n_answers").to_pylist()) == said.count("fake-model") == 3
    endpoint.script = answers
    assert asking.ingest() == 0  # its answers have a name of their own, so that nothing of the first one is taken
    assert endpoint.n_requests == 4 + 6


def runs_that_paid(root):
    store = Store(root)
    tables = [pq.read_table(store.path(file.path), columns=["run"]) for file in store.list("answers")]
    return {run for table in tables for run in table.column("run").to_pylist()}


def test_one_that_comes_back_in_time_costs_nothing_but_time(asking, capsys):
    asking.write(6)
    is_first = threading.Event()

    def leaving(prompt):
        if prompt.number == 2 and not is_first.is_set():
            is_first.set()
            threading.Thread(target=asking.endpoint.stop).start()
            threading.Timer(1.0, asking.endpoint.start).start()
            return Reply("never sent", delay_seconds=30)
        return answers(prompt)

    asking.endpoint.script = leaving
    assert asking.ingest("--llm-outage-seconds", "30") == 0
    report = report_of(capsys)
    assert report["documents"]["indexed"] == 6 and not any("fallback" in name for name in report["outcomes"])
    assert asking.endpoint.n_requests == asking.endpoint.n_distinct + 1 and report["llm"]["retries"] == 1


def test_one_at_which_everything_fails_is_given_up_early(asking, capsys):
    asking.write(30)
    asking.endpoint.script = lambda prompt: refused(500)
    assert asking.ingest("--llm-attempts", "1") == 1
    assert "failed request after request" in complaint(capsys)
    assert asking.endpoint.n_requests == 20


def test_one_bad_prompt_of_32_is_named_and_costs_the_others_nothing(asking, capsys):
    asking.write(32)
    asking.endpoint.script = lambda prompt: refused(400) if "Name17 " in prompt.text else answers(prompt)
    assert asking.ingest("--work-item-tokens", "8192") == 0
    report = report_of(capsys)
    assert (report["documents"]["indexed"], report["documents"]["failed"], report["llm"]["answers"]) == (32, 0, 31)
    assert report["outcomes"]["boundary_fallbacks.refused"] == 1
    (letter,) = asking.mill.rows("failures")
    assert letter["uri"].endswith("doc17.txt") and (letter["stage"], letter["reason"]) == ("boundaries", "refused")


@pytest.mark.parametrize(("status", "reason"), [(401, "denied"), (500, "unavailable")])
def test_what_an_endpoint_could_not_answer_is_asked_for_again_until_it_can(asking, capsys, status, reason):
    asking.write(6)
    asking.endpoint.script = lambda prompt: refused(status) if "Name3 " in prompt.text else answers(prompt)
    flags = ("--llm-attempts", "1")
    assert asking.ingest(*flags) == 0
    assert report_of(capsys)["outcomes"][f"boundary_fallbacks.{reason}"] == 1
    n_before = asking.endpoint.n_requests
    assert asking.ingest(*flags) == 0  # nothing had changed, and it fails again
    report = report_of(capsys)
    assert (report["documents"]["unchanged"], asking.endpoint.n_requests) == (6, n_before + 1)
    assert [row["reason"] for row in asking.mill.rows("failures")] == [reason]
    asking.endpoint.script = answers
    assert asking.ingest(*flags) == 0
    report = report_of(capsys)
    assert (report["published"], report["llm"]["answers"], asking.endpoint.n_requests) == (True, 1, n_before + 2)
    assert asking.mill.rows("failures") == []
    assert cli.main(["verify", asking.mill.root]) == 0
    assert asking.ingest(*flags) == 0
    assert asking.endpoint.n_requests == n_before + 2


def test_what_lies_in_the_request_is_not_asked_for_again(asking, capsys):
    asking.write(3)
    asking.endpoint.script = lambda prompt: refused(400) if "Name1 " in prompt.text else answers(prompt)
    assert asking.ingest() == 0
    n_before = asking.endpoint.n_requests
    assert asking.ingest() == 0
    assert asking.endpoint.n_requests == n_before

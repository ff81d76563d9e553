"""Commands that look after a store, on a real store with versions that hold nothing."""

import json
from pathlib import Path

import pytest

from models.fake_llm import FakeEndpoint, refused
from pipelines import cli
from transforms.store.files import Store
from transforms.store.manifest import Gates, Manifest
from transforms.store.pointer import read_pointer, swap_pointer
from transforms.store.versions import write_manifest


def manifest(version, base):
    return Manifest(
        version=version,
        base=base,
        run=f"run-{version}",
        created_at=f"2031-01-0{version[-1]}T00:00:00Z",
        recipes={},
        encoder={},
        settings={},
        document_shards=(),
        shards=(),
        training=None,
        gates=Gates(),
        documents={"listed": 2, "indexed": 1, "failed": 1},
        units={"total": 3},
        tokens={},
        flops={},
        seconds={"read": 1.5},
        outcomes={},
        ledger=(),
        failures=(),
        libraries={},
    )


@pytest.fixture
def root(tmp_path):
    """A store with versions v1 and v2, of which v2 is current."""
    folder = tmp_path / "a store"
    store, base = Store(str(folder)), None
    for version in ("v1", "v2"):
        pointer = write_manifest(store, manifest(version, base))
        swap_pointer(store, read_pointer(store), pointer)
        base = version
    return folder


@pytest.fixture
def run(capsys):
    def run_main(*words):
        code = cli.main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_main


def answer(run, *words, code=0):
    found, out, err = run(*words, "--json")
    assert (found, err) == (code, "")
    return json.loads(out)


def test_status_shows_the_current_version(run, root):
    status = answer(run, "status", root)
    assert (status["version"], status["base"], status["recall_at_10"]) == ("v2", "v1", None)
    assert status["documents"] == {"listed": 2, "indexed": 1, "failed": 1}
    code, out, _ = run("status", root)
    assert code == 0 and "v2" in out and "2 listed, 1 indexed, 1 failed" in out and "not measured" in out


def test_the_keys_of_every_answer_are_documented(run, root, checkout):
    page = (checkout / "docs" / "json.md").read_text()
    commands = {
        "status": ["status", root],
        "versions": ["versions", root],
        "verify": ["verify", root],
        "rollback": ["rollback", root, "v1"],
        "gc": ["gc", root, "--keep", "5"],
        "failures": ["failures", root],
        "config": ["config"],
    }
    for name, words in commands.items():
        section = page.split(f"## corpusmill {name}\n")[1].split("\n## ")[0]
        assert {key for key in answer(run, *words) if f"`{key}`" not in section} == set()


def test_versions_newest_first_and_rollback_and_forth(run, root):
    def current():
        versions = answer(run, "versions", root)["versions"]
        assert [row["version"] for row in versions] == ["v2", "v1"]
        return [row["version"] for row in versions if row["is_current"]]

    assert current() == ["v2"]
    assert answer(run, "rollback", root, "v1") == {"version": "v1", "was": "v2"}
    assert current() == ["v1"]
    assert "* v1" in run("versions", root)[1]
    assert run("rollback", root, "v2")[:2] == (0, "v2 is current; it was v1\n")
    assert current() == ["v2"]


def test_gc_keeps_what_it_is_told_to(run, root):
    assert answer(run, "gc", root, "--keep", 1)["removed_versions"] == []
    assert answer(run, "gc", root, "--keep", 2, "--grace", "0h")["kept_versions"] == ["v1", "v2"]
    out = run("gc", root, "--keep", 2, "--grace", "0h")[1]
    assert [" ".join(line.split()) for line in out.splitlines()] == [
        "removed none", "kept v1, v2", "freed 0 files, 0 bytes", "going on none",
    ]  # fmt: skip
    assert answer(run, "gc", root, "--keep", 1, "--grace", "0h")["removed_versions"] == ["v1"]
    assert run("gc", root, "--keep", 1)[0] == 0


def test_rollback_puts_a_damaged_pointer_right(run, root):
    (Path(root) / "CURRENT").write_text("nonsense")
    assert answer(run, "rollback", root, "v2") == {"version": "v2", "was": None}
    assert answer(run, "status", root)["version"] == "v2"


@pytest.mark.parametrize(
    "words", [["status"], ["failures"], ["versions"], ["verify"], ["search", "q"], ["rollback", "v1"]]
)
def test_where_there_is_no_index_one_line_says_so(run, tmp_path, words):
    code, out, err = run(words[0], tmp_path, *words[1:])
    assert (code, out) == (1, "") and err.count("\n") == 1 and "corpusmill ingest --output" in err


@pytest.mark.parametrize("words", [["rollback", "v9"], ["verify", "--version", "v9"], ["rollback", "../v1"]])
def test_an_unknown_version_is_one_line(run, root, words):
    code, out, err = run(words[0], root, *words[1:])
    assert code == 1 and out == "" and err.count("\n") == 1 and err.startswith("corpusmill: ")


def test_verify_names_the_file_at_fault(run, root):
    assert answer(run, "verify", root) == {"version": "v2", "sound": True, "faults": []}
    assert answer(run, "verify", root, "--version", "v1")["sound"]
    damaged = root / "versions" / "v2" / "manifest.json"
    damaged.write_bytes(damaged.read_bytes().replace(b"run-v2", b"run-v3"))
    faults = answer(run, "verify", root, code=1)["faults"]
    assert [fault["path"] for fault in faults] == ["versions/v2/manifest.json"]
    assert "version v2: 1 fault\n" in run("verify", root)[1]
    code, out, _ = run("verify", root)
    assert code == 1 and "versions/v2/manifest.json" in out and out.endswith("1 fault\n")


def test_failures_are_listed_with_document_stage_and_reason(run, tmp_path):
    corpus, root = tmp_path / "corpus", tmp_path / "index"
    corpus.mkdir()
    (corpus / "good.txt").write_text("The mill grinds rye.")
    for name in ("a", "b"):
        (corpus / f"{name}.pdf").write_bytes(b"%PDF-1.4 no more")
    words = ["ingest", "--input", f"{corpus}/*", "--output", root, "--encoder", "hashing", "--max-failures", "3"]
    code, out, _ = run(*words)
    assert code == 0 and f"`corpusmill failures {root}` lists the 2 failures" in out.splitlines()[-1]
    assert answer(run, "search", root, "rye", "--uri", "*/good.*")["hits"][0]["uri"] == f"{corpus}/good.txt"
    code, out, err = run("search", root, "rye", "--uri", "bad*")
    assert (code, out) == (2, "") and "matches no document" in err and err.count("\n") == 1
    listed = answer(run, "failures", root, "--show", "1")
    assert listed["n_failures"] == 2 and [row["uri"] for row in listed["failures"]] == [f"{corpus}/a.pdf"]
    code, out, _ = run("failures", root)
    assert code == 0 and f"{corpus}/b.pdf\n   read: broken pdf; Failed to load" in out
    assert "and 1 more" in run("failures", root, "--show", "1")[1]
    status = run("status", root)[1]
    assert "hashing" in status and "auto" in status and "lists the 2 failures" in status
    (corpus / "a.pdf").unlink()
    (corpus / "b.pdf").unlink()
    assert run(*words, "--accept-deletes")[0] == 0
    assert run("failures", root)[:2] == (0, "nothing failed\n")


@pytest.mark.parametrize("policy", [["--chunker", "llm"], ["--rewrite", "summary"]])
def test_a_denied_key_is_said_although_the_texts_are_indexed(run, tmp_path, policy):
    (tmp_path / "mill.txt").write_text("The mill grinds rye. It is old. It stands at the river.")
    with FakeEndpoint(refused(401)) as endpoint:
        model = ["--llm-url", endpoint.url, "--llm-revision", "1", "--llm-key-variable", "MILL_KEY"]
        words = ["ingest", "--input", tmp_path / "*.txt", "--output", tmp_path / "index", "--encoder", "hashing"]
        code, out, err = run(*words, *policy, *model)
    assert code == 0 and "1 indexed" in out and "lists the failure" in out
    said = [line for line in err.splitlines() if line.startswith("corpusmill: ")]
    assert len(said) == 1 and "denied 1 answer" in said[0] and "MILL_KEY" in said[0]

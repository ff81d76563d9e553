import json
import logging
import os
import signal
import subprocess
import sys
import time

import pytest

from models.errors import StoreError
from pipelines import cli, commands
from pipelines.arguments import COMMANDS, build_parser, flags_of, parse, subparsers_of
from pipelines.config import load_settings, setting_fields
from pipelines.flags import hours, setting_overrides
from pipelines.output import Outcome


@pytest.fixture
def run(capsys):
    """Runs the program in this process: exit code, standard output, standard error."""

    def run_main(*words):
        code = cli.main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_main


def python(checkout, *words, **options):
    command = [sys.executable, "-m", "pipelines", *words]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=60, **options)


def assert_usage_error(result, *parts):
    code, out, err = result
    assert code == 2 and out == ""
    assert err.startswith("corpusmill: ") and err.count("\n") == 1
    assert all(part in err for part in parts), err


def test_help_is_quick_and_names_every_command(checkout):
    began = os.times()
    result = python(checkout, "--help")
    ended = os.times()
    assert result.returncode == 0
    assert all(f"    {name}" in result.stdout for name in COMMANDS)
    cpu_s = ended.children_user + ended.children_system - began.children_user - began.children_system
    assert cpu_s < 1.0  # 0.1 on an idle machine; Beam alone would be 1.5


@pytest.mark.parametrize("words", [["--help"], ["ingest", "--help"], ["config", "--json"]])
def test_nothing_heavy_is_imported_before_it_is_needed(checkout, words):
    script = (
        "import contextlib, io, sys\nfrom pipelines.cli import main\n"
        f"with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): main({words!r})\n"
        "print(sorted({'apache_beam', 'torch', 'faiss', 'pyarrow', 'tokenizers'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], cwd=checkout, capture_output=True, text=True, timeout=60)
    assert result.stdout.strip() == "[]", result.stderr


def test_without_a_command_help_goes_to_standard_error(run):
    code, out, err = run()
    assert (code, out) == (2, "") and "COMMAND" in err


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help_on_every_flag_and_takes_json(name, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([name, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert all(flag in text for flag in flags_of(build_parser(name), name))
    assert "--json" in text


def test_every_setting_is_a_flag_of_ingest():
    flags = flags_of(build_parser("ingest"), "ingest")
    assert {setting.flag for setting in setting_fields().values()} <= set(flags)


def test_flags_reach_the_settings():
    words = ["ingest", "--output", "r", "--input", "a", "b", "--input", "c", "--no-heading-prefix", "--full"]
    arguments, rest = parse([*words, "--window-tokens=50", "--runner", "FnApiRunner", "--max-failures", "5%"])
    settings = load_settings(None, setting_overrides(arguments))
    assert rest == ["--runner", "FnApiRunner"]
    assert settings.reading.input == ("a", "b", "c")
    assert settings.chunking.window_tokens == 50 and settings.chunking.heading_prefix is False
    assert settings.run.full is True and settings.run.max_failures == "5%"


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["ingst"], ["'ingst'", "did you mean ingest?"]),
        (["frobnicate"], ["the commands are ingest"]),
        (["search", "root"], ["QUESTION", "search --help"]),
        (["search", "root", " "], ["question is empty"]),
        (["search", "root", "q", "--k", "0"], ["'0'", "whole number above 0"]),
        (["search", "root", "q", "--kk", "5"], ["'--kk'", "did you mean --k?"]),
        (["search", "root", "q", "more"], ["unknown argument 'more'"]),
        (["status"], ["ROOT"]),
        (["gc", "root"], ["--keep"]),
        (["gc", "root", "--keep", "1", "--grace", "24"], ["'24'", "30m, 24h or 7d"]),
        (["config", "--window-tokens", "abc"], ["window_tokens = 'abc'", "whole number above 0"]),
        (["config", "--window-tokens"], ["--window-tokens", "expected one argument"]),
        (["config", "--window", "5"], ["'--window'"]),
        (["config", "--window_tokens", "5"], ["did you mean --window-tokens?"]),
        (["config", "--overlap-tokens", "5", "--window-tokens", "5"], ["overlap_tokens = 5"]),
        (["config", "--chunker", "recursiv"], ["'recursiv'", "did you mean recursive?"]),
        (["config", "--config", "nowhere.toml"], ["nowhere.toml"]),
        (["config", "--schema", "--config"], ["--config"]),
        (["ingest", "--input", "a"], ["--output"]),
        (["ingest", "--output", "r"], ["no input", "--input"]),
        (["ingest", "--output", "r", "--input", "a", "--window-token", "5"], ["did you mean --window-tokens?"]),
        (["ingest", "--output", "r", "--input", "a", "--direct_running_mode=multi_threading"], ["multi_processing"]),
        (["ingest", "--output", "r", "--input", "a", "--encoder", "hashing", "--max-failures", "x"], ["max_failures"]),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(run, words, parts):
    assert_usage_error(run(*words), *parts)


def test_a_mistake_under_json_is_still_one_object(run):
    code, out, err = run("config", "--json", "--chunker", "x")
    answer = json.loads(out)
    assert code == answer["exit_code"] == 2
    assert err == f"corpusmill: {answer['error']}\n"


def test_config_shows_every_setting_with_value_default_and_meaning(run):
    code, out, err = run("config", "--window-tokens", "50")
    assert (code, err) == (0, "")
    assert "window_tokens = 50 (default none)" in out
    for setting in setting_fields().values():
        assert f"  {setting.name} = " in out
        assert " ".join(setting.description.split()) in " ".join(out.split())


def test_config_as_json_and_as_schema(run):
    _, out, _ = run("config", "--json", "--nprobe", "7")
    assert json.loads(out)["settings"]["nprobe"] == {
        "section": "index",
        "value": 7,
        "default": 32,
        "unit": "number",
        "choices": [],
        "meaning": "inverted lists read per query",
    }
    assert json.loads(run("config", "--schema")[1]) == json.loads(run("config", "--schema", "--json")[1])


def test_what_a_library_prints_does_not_reach_standard_output(run, monkeypatch):
    def chatty(name, arguments, beam_flags):
        print("a library says hello")  # noqa: T201
        return Outcome({"ok": True}, lambda console: console.print("done"))

    monkeypatch.setattr(commands, "run_command", chatty)
    assert run("status", "r", "--json") == (0, '{"ok": true}\n', "a library says hello\n")
    assert run("status", "r") == (0, "done\n", "a library says hello\n")


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (StoreError("r is damaged\x1b[31m\nrestore it"), 1, "corpusmill: r is damaged\\x1b[31m restore it\n"),
        (KeyboardInterrupt(), 130, "corpusmill: interrupted; what was published before is still there\n"),
    ],
)
def test_a_failure_is_one_line_without_a_traceback(run, monkeypatch, error, code, line):
    def fail(name, arguments, beam_flags):
        raise error

    monkeypatch.setattr(commands, "run_command", fail)
    assert run("status", "r") == (code, "", line)


def test_a_bug_is_not_hidden(run, monkeypatch):
    def fail(name, arguments, beam_flags):
        raise ZeroDivisionError

    monkeypatch.setattr(commands, "run_command", fail)
    with pytest.raises(ZeroDivisionError):
        run("status", "r")


def test_a_reader_that_has_gone_is_no_traceback(checkout):
    read_end, write_end = os.pipe()
    os.close(read_end)
    for words in (["config"], ["config", "--json"], ["config", "--schema"]):
        command = [sys.executable, "-m", "pipelines", *words]
        process = subprocess.run(command, cwd=checkout, stdout=write_end, stderr=subprocess.PIPE, text=True, timeout=60)
        assert (process.returncode, process.stderr) == (141, "")
    os.close(write_end)


def test_an_interrupt_is_one_line(checkout, tmp_path):
    fifo = tmp_path / "settings.toml"
    os.mkfifo(fifo)
    script = (  # a shell's background job starts with interrupts ignored
        "import signal, sys\nfrom pipelines.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\nsys.exit(main())"
    )
    command = [sys.executable, "-c", script, "config", "--config", str(fifo)]
    with subprocess.Popen(command, cwd=checkout, stderr=subprocess.PIPE, text=True) as process:
        descriptor = _open_when_read(fifo)
        process.send_signal(signal.SIGINT)
        os.close(descriptor)  # a signal between its opening and its reading would leave it reading
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "corpusmill: interrupted; what was published before is still there\n")


def _open_when_read(fifo):
    """Opens the writing end as soon as the program waits at the reading end."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.01)


@pytest.mark.parametrize(
    ("text", "value"), [("90s", 0.025), ("30m", 0.5), ("24h", 24), ("7d", 168), ("0h", 0), ("1.5h", 1.5)]
)
def test_durations(text, value):
    assert hours(text) == value


def test_beams_note_on_a_library_that_nothing_uses_is_not_shown(caplog):
    cli.main(["--version"])
    logging.warning("apitools not found, and bigquery client libraries are not available")
    logging.warning("something else")
    assert [record.getMessage() for record in caplog.records] == ["something else"]


@pytest.mark.parametrize(
    ("words", "wrong", "right"),
    [
        (["ingest", "--inptu", "a/**", "--output", "x"], "--inptu", "--input?"),
        (["ingest", "--input", "a/**", "--ouput", "x"], "--ouput", "--output?"),
        (["evaluate", "--root", "x", "--quesitons=q"], "--quesitons", "--questions?"),
        (["gc", "x", "--kepe", "3"], "--kepe", "--keep?"),
    ],
)
def test_a_misspelt_flag_is_named_even_where_it_is_required(run, words, wrong, right):
    assert_usage_error(run(*words), wrong, f"did you mean {right}")


def test_a_flag_that_changes_nothing_is_a_mistake(run, checkout, tmp_path):
    corpus = ["--input", checkout / "examples/corpus/*.txt", "--output", tmp_path / "root"]
    assert_usage_error(run("ingest", *corpus, "--threshold-percentile", "80"), "--chunker semantic")
    assert not (tmp_path / "root").exists()
    file = checkout / "examples/corpus/history.txt"
    assert_usage_error(run("chunk", file, "--pic-min-chars", "80"), "--chunker pic")


@pytest.mark.parametrize(("flag", "value"), [("--max-failures", "3x"), ("--llm-url", "localhost:9")])
def test_a_value_of_another_form_is_told_the_form(run, flag, value):
    assert_usage_error(run("config", flag, value), value, "of the form described here", "(")


@pytest.mark.parametrize("name", list(COMMANDS))
def test_the_usage_fits_a_screen_and_shows_what_is_required(run, capsys, name):
    with pytest.raises(SystemExit):
        run(name, "--help")
    usage = capsys.readouterr().out.split("\n\n")[0]
    assert len(usage.splitlines()) <= 12 and usage.startswith(f"usage: corpusmill {name} ")
    own = [action for action in subparsers_of(build_parser(name))[name]._actions if action.required]
    assert all((action.option_strings or [action.metavar])[0] in usage for action in own)

import json

import pytest

from models.encoder import load_encoder
from models.errors import RefusedError, SettingsError
from models.settings import EncoderSettings
from models.tokenizer import load_tokenizer
from pipelines import cli
from pipelines.evaluation import evaluate
from pipelines.evaluation.audit import audit, measure_limits
from pipelines.evaluation.audit_root import audit_root
from pipelines.evaluation.clipping import MemoryRankers
from transforms.settings import ReadingSettings

HASHING = EncoderSettings(encoder="hashing", max_input_tokens=20)


@pytest.fixture
def chunks(tmp_path):
    rows = [("a", 5), ("a", 30), ("b", 20), ("c", 21), ("c", 100)]
    file = tmp_path / "chunks.jsonl"
    texts = ({"id": number, "text": "word " * n, "doc": doc} for number, (doc, n) in enumerate(rows))
    file.write_text("".join(json.dumps(row) + "\n" for row in texts))
    return file


@pytest.mark.parametrize(
    "settings",
    [
        EncoderSettings(encoder="minilm"),
        EncoderSettings(encoder="minilm", max_input_tokens=64, query_prompt="question: "),
        HASHING,
    ],
)
def test_the_measured_limit_is_the_declared_one(settings):
    """Of corpusmill's own encoders; with a prompt in front, which takes its part of it."""
    encoder = load_encoder(settings)
    limits = measure_limits(encoder, load_tokenizer(settings), settings)
    assert limits == (encoder.max_input_tokens,) * 3


def test_an_encoder_that_reads_less_than_it_says_is_found_out():
    honest = load_encoder(HASHING)

    class Clipping:
        max_input_tokens = 512

        def encode(self, texts):
            return honest.encode([" ".join(text.split()[:11]) for text in texts])

        def encode_queries(self, texts):
            return honest.encode(texts)

    assert measure_limits(Clipping(), load_tokenizer(HASHING), HASHING) == (512, 11, 20)


def test_chunks_of_somebody_else(chunks):
    report = audit(ReadingSettings(input=(str(chunks),)), HASHING, "doc")
    total = report.total
    assert (total.n_documents, total.n_inputs, total.n_over_limit) == (3, 5, 3)
    assert (total.n_tokens, total.n_unread_tokens) == (176, 10 + 1 + 80)
    assert [(group.name, group.n_inputs) for group in report.by_length] == [
        ("0 - 20", 1),
        ("21 - 40", 2),
        ("81 - 160", 2),
    ]
    assert audit(ReadingSettings(input=(str(chunks),)), HASHING).total.n_documents == 5


def test_a_column_that_is_not_there(chunks):
    with pytest.raises(SettingsError, match=r"chunks\.jsonl#0 has no column 'document'"):
        audit(ReadingSettings(input=(str(chunks),)), HASHING, "document")


@pytest.fixture
def command(chunks, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.jsonl").write_text(
        json.dumps({"question": "a " * 25, "references": [{"uri": "chunks.jsonl#0", "quote": "word"}]})
    )
    (tmp_path / "bad.bin").write_bytes(b"x")

    def run(*flags):
        encoder = ["--encoder", "hashing", "--max-input-tokens", "20"]
        code = cli.main(["audit", "--input", "chunks.jsonl", "bad.bin", *encoder, "--questions", "q.jsonl", *flags])
        return code, capsys.readouterr()

    return run


def test_as_a_command(command, checkout):
    code, captured = command("--json")
    answer = json.loads(captured.out)
    section = (checkout / "docs" / "json.md").read_text().split("## corpusmill audit\n")[1].split("\n## ")[0]
    assert code == 0 and all(f"`{key}`" in section for key in [*answer, *answer["total"], *answer["limits"]])
    assert answer["questions"] == {"over_limit": 1, "total": 1}
    assert answer["outcomes"] == {"failed:unknown_format": 1}


def test_the_tables_fit_80_columns(command):
    text = command()[1].out
    assert max(map(len, text.splitlines())) <= 80
    assert "measured 20 (passages), 20 (questions)" in text and "1 failed: unknown format" in text


def test_nothing_to_audit(tmp_path, capsys):
    (tmp_path / "a.bin").write_bytes(b"x")
    assert cli.main(["audit", "--input", str(tmp_path), "--encoder", "hashing"]) == 2
    assert "has no document with text (1 failed: unknown_format)" in capsys.readouterr().err


FILLER = "quiet words about nothing much at all that go on and on for a while longer than anybody reads them"


@pytest.fixture
def answered(tmp_path):
    """Chunks of four documents, read by 20 tokens, with an answer of every fate, and questions about them."""
    chunks = [
        ("seen", "The film is lent for seven days."),
        ("cut", "The boat is lent"),
        ("cut", "for nine days only."),
        ("long", f"{FILLER} The tool is lent for three zyxwv days."),
        ("late", "The record is lent for two days."),
        ("late", "record lent record lent record lent"),
    ]
    file = tmp_path / "chunks.jsonl"
    rows = ({"id": number, "text": text, "doc": doc} for number, (doc, text) in enumerate(chunks))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = [
        ("film seven days", "seen", "The film is lent for seven days."),
        ("boat nine days", "cut", "The boat is lent for nine days only."),
        ("zyxwv", "long", "The tool is lent for three zyxwv days."),
        ("record lent", "late", "The record is lent for two days."),
        ("record lent", "late", "never written anywhere"),
    ]
    lines = ({"question": q, "references": [{"uri": uri, "quote": quote}]} for q, uri, quote in asked)
    (tmp_path / "asked.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return ReadingSettings(input=(str(file),)), tmp_path / "asked.jsonl"


def test_answers_are_severed_clipped_outranked_or_lost(answered):
    reading, questions = answered
    found = audit(reading, HASHING, "doc", questions, k=1).answers
    assert found.fates == {"retrieved": 1, "severed": 1, "clipped": 1, "outranked": 1, "lost": 1}
    assert found.n_left_out == 1 and found.deployed.tolist() == [1, 0, 0, 0]
    assert (found.n_measured, found.n_references) == (4, 5)


def _with_lost(file, n_lost):
    """Four questions of one reference each, and another of `n_lost` references that no document holds."""
    lines = file.read_text().splitlines()[:4]
    references = [{"uri": "late", "quote": f"never written {number}"} for number in range(n_lost)]
    lines.append(json.dumps({"question": "record lent", "references": references}))
    file.write_text("\n".join(lines))


def test_beside_the_recall_stands_on_how_many_references_it_was_measured(answered, capsys):
    reading, questions = answered
    _with_lost(questions, 4)
    settings = ["--encoder", "hashing", "--max-input-tokens", "20", "--document-column", "doc"]
    words = ["audit", "--input", *reading.input, *settings, "--questions", str(questions)]
    assert cli.main(words) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "over 4 questions measured on 4 of 8 references (50.0%); 1 question with a lost one left out" in text
    assert cli.main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"]["measured_references"] == {"count": 4, "total": 8}


def test_a_recall_of_the_lesser_half_of_the_references_is_refused_before_anything_is_encoded(answered, monkeypatch):
    reading, questions = answered
    _with_lost(questions, 5)
    monkeypatch.setattr(MemoryRankers, "deployed", None)
    with pytest.raises(RefusedError, match=r"4 of 9 references can be measured, as 1 of 5 .*\(first in line 5\)"):
        audit(reading, HASHING, "doc", questions)


def test_questions_of_another_corpus_are_refused_for_a_root_too(turned, tmp_path, capsys):
    file = tmp_path / "q.jsonl"
    file.write_text(json.dumps({"question": "q", "references": [{"uri": "elsewhere.md", "quote": "x"}]}))
    assert cli.main(["audit", "--root", turned.root, "--questions", str(file)]) == 1
    assert "0 of 1 references can be measured" in capsys.readouterr().err


def test_a_file_without_questions_is_no_measurement(answered, tmp_path):
    (tmp_path / "none.jsonl").write_text("\n")
    with pytest.raises(SettingsError, match="has no questions"):
        audit(answered[0], HASHING, "doc", tmp_path / "none.jsonl")


def test_truncation_costs_what_reading_in_pieces_brings_back(answered):
    reading, questions = answered
    estimate, flips = audit(reading, HASHING, "doc", questions, k=1).answers.cost
    assert estimate.mean == 0.25 and flips[:3] == (1, 0, 3)
    whole = audit(reading, HASHING.model_copy(update={"max_input_tokens": 60}), "doc", questions, k=1).answers
    assert whole.cost is None and whole.fates["clipped"] == 0 and whole.deployed.tolist() == [1, 0, 1, 0]


def test_a_span_without_a_quote_says_nothing_of_chunks(answered, tmp_path):
    file = tmp_path / "spans.jsonl"
    file.write_text(json.dumps({"question": "q", "references": [{"uri": "cut", "start": 0, "end": 4}]}))
    with pytest.raises(SettingsError, match=r"line 1: reference 1 has a span and no quote"):
        audit(answered[0], HASHING, "doc", file)


def test_a_root_is_audited_as_it_is_stored(turned, tmp_path, capsys):
    quotes = [(turned.source / f"doc{n}.md").read_text().split(". ")[1] for n in range(8)]
    lines = (
        {"question": quote, "references": [{"uri": f"doc{n}.md", "quote": quote}]} for n, quote in enumerate(quotes)
    )
    questions = tmp_path / "asked.jsonl"
    questions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = audit_root(turned.root, questions=questions, k=1)
    misses = evaluate(questions, root=turned.root, k=1).arms[0].misses
    assert {name: report.answers.fates[name] for name in misses} == misses and report.answers.fates["clipped"] == 0
    assert report.total.n_over_limit == 0 and report.total.n_documents == 8 and report.answers.cost is None
    assert report.by_source[0].name == str(turned.source)
    assert cli.main(["audit", "--root", turned.root, "--questions", str(questions)]) == 0
    text = capsys.readouterr().out
    assert "nothing is cut off, so it costs no recall" in text and max(map(len, text.splitlines()[1:])) <= 80


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        (["--root", "x", "--input", "y"], "has its own corpus"),
        (["--root", "x", "--document-column", "y"], "has its own corpus"),
        (["--version", "3", "--input", "y"], "name its folder by --root"),
    ],
)
def test_a_corpus_or_a_root_and_not_both(capsys, flags, part):
    assert cli.main(["audit", *flags]) == 2
    assert part in capsys.readouterr().err

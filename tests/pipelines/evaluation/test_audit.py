import json

import pytest

from models.encoder import load_encoder
from models.errors import SettingsError
from models.settings import EncoderSettings
from models.tokenizer import load_tokenizer
from pipelines import cli
from pipelines.evaluation.audit import audit, measure_limits
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
    (tmp_path / "q.jsonl").write_text(json.dumps({"question": "a " * 25, "references": [{"uri": "a", "quote": "b"}]}))
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
    assert "measured 20 (passages), 20 (questions)" in text and "failed:unknown" in text


def test_nothing_to_audit(tmp_path, capsys):
    (tmp_path / "a.bin").write_bytes(b"x")
    assert cli.main(["audit", "--input", str(tmp_path), "--encoder", "hashing"]) == 2
    assert "has no document with text (1 failed: unknown_format)" in capsys.readouterr().err

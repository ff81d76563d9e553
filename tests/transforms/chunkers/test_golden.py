"""Golden outputs: when one changes, raise the VERSION of the module that changed it, then store the new one.

Print the new values with: python tests/transforms/chunkers/test_golden.py
"""

import hashlib
import json
from pathlib import Path

import msgspec
import pytest

from models.llm.records import Answer
from models.settings import EncoderSettings
from models.tokenizer import HashingTokenizer
from transforms.chunking import Questioning, make_cutter, make_detection
from transforms.extraction.markdown import extract_markdown
from transforms.rewriting.asking import Asking, estimated_tokens
from transforms.rewriting.settings import PicSettings
from transforms.settings import ChunkingSettings, SemanticSettings

STORED = Path(__file__).with_name("golden_units.json")
CHUNKERS = ("fixed", "recursive", "structural", "semantic", "pic", "llm")
FIELDS = ("start", "end", "text", "n_tokens", "context", "heading_path", "label")
DETECTION = make_detection(
    SemanticSettings(threshold_percentile=60.0, min_run_sentences=2), EncoderSettings(encoder="hashing")
)


def answer(request):
    text = json.dumps({"cut_after": [2, 5, 6]}) if request.schema else "Take the package; the fee is 5.20 €."
    return Answer(text)


QUESTIONING = Questioning(
    Asking(lambda requests: [answer(request) for request in requests], {}, 2048, estimated_tokens),
    PicSettings(pic_min_chars=0, pic_min_sentences=1, pic_min_spread=0.0),
)
SOURCE = (
    "Lead text. It says, in short: nothing!\n\n# Guide\n\n## Install\n\n"
    + "Take the package. Dr. Wu did so; others, too, have. Die Gebühr beträgt 5.20 €. 今日は晴れ。明日は雨！ " * 3
    + "\n\n- one\n- two\n  - three\n\n> quoted\n\n| Fee | Year |\n|---|---|\n"
    + "".join(f"| {n} dollars | 20{n} |\n" for n in range(20, 34))
    + "\n```py\ndef f():\n    return 1\n\n\ndef g():\n    return 2\n```\n\n## Empty\n\n# 👩\u200d👩\u200d👧 नमस्ते\n\n"
    + "antidisestablishmentarianism" * 4
    + " short.\n\nsmall\n\nsmaller\n"
)


def current() -> dict[str, object]:
    """For each chunker, with and without overlap: what decides the units, and a hash and the spans of the units."""
    found = {}
    for chunker in CHUNKERS:
        for overlap in (0, 9):
            chosen = ChunkingSettings(
                chunker=chunker, window_tokens=30, overlap_tokens=overlap, min_tokens=8, max_context_tokens=24
            )
            cutter = make_cutter(chosen, HashingTokenizer(), detection=DETECTION, questioning=QUESTIONING)
            document = cutter.cut(extract_markdown(SOURCE))
            units = [{name: getattr(unit, name) for name in FIELDS} for unit in document.units]
            seen = {"units": units, "chunker": document.chunker, "counts": document.counts}
            found[f"{chunker}-{overlap}"] = {
                "versions": cutter.identity["versions"],
                "sha256": hashlib.sha256(msgspec.json.encode(seen)).hexdigest(),
                "spans": [[unit.start, unit.end, unit.n_tokens] for unit in document.units],
            }
    return found


@pytest.mark.parametrize("name", [f"{chunker}-{overlap}" for chunker in CHUNKERS for overlap in (0, 9)])
def test_output_changes_only_with_a_raised_version(name):
    assert current()[name] == json.loads(STORED.read_text())[name], (
        "raise VERSION when this changes (see the docstring)"
    )


if __name__ == "__main__":
    STORED.write_text(json.dumps(current()).replace('"fixed-9', '\n"fixed-9') + "\n")

"""Golden outputs: when one changes, raise the VERSION of the module that changed it, then store the new one.

Print the new values with: python tests/transforms/rewriting/test_golden.py
"""

import json
from pathlib import Path

import msgspec
import pytest

from models.llm.records import Answer
from models.tokenizer import HashingTokenizer
from transforms.chunking import make_cutter
from transforms.extraction.markdown import extract_markdown
from transforms.rewriting.asking import estimated_tokens
from transforms.rewriting.dialogues import hold
from transforms.rewriting.rewriter import Rewriter
from transforms.rewriting.settings import RewritingSettings
from transforms.settings import ChunkingSettings

STORED = Path(__file__).with_name("golden_rewritten.json")
KINDS = ("propositions", "context", "summary")
SOURCE = (
    "# Guide\n\n## Fees\n\nThe base fee was $460 until 2024. It rises to $780 in fiscal year 2026.\n\n"
    "Small employers pay the lower fee only if they employ at most 25 people. Refunds are not paid after 30 days.\n\n"
    "## Mühle\n\nDie Mühle mahlt Roggen. Sie ist alt. 今日は晴れ。明日は雨！\n\n- one item\n- another item\n"
)
TOKENIZER = HashingTokenizer(64)


def answer(request):
    """Each numbered sentence again, then one that is invented and one that is a pronoun's; else prose."""
    lines = [line for line in request.messages[-1].content.splitlines() if line.startswith("[")]
    said = [{"text": line.partition("] ")[2], "sentences": [i]} for i, line in enumerate(lines, 1)]
    more = [{"text": "The fee is $999.", "sentences": [1]}, {"text": "It is due.", "sentences": [1]}]
    prose = "This is about fees and a mill. " + "It goes on about the fees of small employers and of a mill. " * 5
    return Answer(json.dumps({"propositions": said + more}) if lines else prose)


def current():
    """For each way of rewriting: what decides the units, and the units with their counts."""
    snapshot, found = extract_markdown(SOURCE), {}
    chosen = ChunkingSettings(
        chunker="structural", window_tokens=24, overlap_tokens=9, min_tokens=4, max_context_tokens=12
    )
    document = make_cutter(chosen, TOKENIZER).cut(snapshot)
    for kind in KINDS:
        rewriter = Rewriter(RewritingSettings(rewrite=kind), TOKENIZER, 64, 700, estimated_tokens)
        made = hold(rewriter.dialogue(snapshot, document), lambda requests: [answer(request) for request in requests])
        found[kind] = {
            "versions": rewriter.identity["versions"],
            "counts": made.counts,
            "units": [msgspec.to_builtins(unit) for unit in made.units],
        }
    return json.loads(json.dumps(found))


@pytest.mark.parametrize("kind", KINDS)
def test_output_changes_only_with_a_raised_version(kind):
    assert current()[kind] == json.loads(STORED.read_text())[kind], "raise VERSION when this changes"


if __name__ == "__main__":
    STORED.write_text(json.dumps(current(), indent=1, ensure_ascii=False) + "\n")

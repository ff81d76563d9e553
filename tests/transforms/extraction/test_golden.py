"""Golden outputs: when one changes, raise the VERSION of the module that changed it, then store the new one.

Every stored snapshot is read again after such a change, so a change that nobody meant must not pass unseen.
Print the new values with: python tests/transforms/extraction/test_golden.py
"""

import io
import json
from pathlib import Path

import pytest

from transforms.extraction import content_id, extract_file, extractor_identity
from transforms.settings import ReadingSettings

ROOT = Path(__file__).resolve().parents[3]
STORED = Path(__file__).with_name("golden_snapshots.json")


def current() -> dict[str, object]:
    """The extractors' versions and the content id of every example document."""
    ids = {}
    for path in sorted((ROOT / "examples" / "corpus").iterdir()):
        documents = extract_file(io.BytesIO(path.read_bytes()), path.name, ReadingSettings())
        ids[path.name] = {str(document.row): content_id(document.snapshot) for document in documents}
    return {"versions": extractor_identity(), "content_ids": ids}


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    pytest.importorskip("pypdfium2", reason="the extra 'formats' is not installed")
    pytest.importorskip("warcio", reason="the extra 'formats' is not installed")
    return current()


@pytest.mark.parametrize("part", ["versions", "content_ids"])
def test_output_changes_only_with_a_raised_version(part, found):
    assert found[part] == json.loads(STORED.read_text())[part], "raise VERSION when this changes (see the docstring)"


if __name__ == "__main__":
    STORED.write_text(json.dumps(current(), indent=1) + "\n")

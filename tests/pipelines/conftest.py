"""Fixtures of whole runs."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mill import Mill, prose


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    """An empty corpus and no index yet."""
    return Mill(tmp_path)


@pytest.fixture
def turned(mill: Mill) -> Mill:
    """A mill with eight documents that has turned once."""
    for number in range(8):
        mill.write(f"doc{number}.md", f"# Document {number}\n\n{prose(f'd{number}')}\n")
    report = mill.run()
    assert report.published and report.documents["indexed"] == 8
    return mill

"""Small files of every format, made in memory, and the checks that hold for every snapshot."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from transforms.elements import Snapshot
from transforms.extraction import Extracted, extract_file
from transforms.settings import ReadingSettings

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "corpus"


@pytest.fixture(scope="session")
def corpus() -> Path:
    return EXAMPLES


@pytest.fixture(scope="session")
def extract() -> Callable[..., list[Extracted]]:
    """All documents of a file given as bytes; settings as keywords."""

    def run(data: bytes, uri: str, content_type: str | None = None, **settings: object) -> list[Extracted]:
        return list(extract_file(io.BytesIO(data), uri, ReadingSettings(**settings), content_type))

    return run


@pytest.fixture(scope="session")
def check() -> Callable[[Snapshot], None]:
    """Blocks sorted, in range, not blank, apart from pages not overlapping; text without forbidden characters."""

    def run(snapshot: Snapshot) -> None:
        text, end = snapshot.text, 0
        text.encode("utf-8")
        assert "\0" not in text and "\r" not in text
        assert [block.start for block in snapshot.blocks] == sorted(block.start for block in snapshot.blocks)
        for block in snapshot.blocks:
            assert 0 <= block.start < block.end <= len(text)
            assert block.start <= block.header_end <= block.end
            assert text[block.start : block.end].strip()
            assert (block.level > 0) == (block.kind == "heading")
            if block.kind != "page":
                assert block.start >= end
                end = block.end

    return run


@pytest.fixture(scope="session")
def uncovered() -> Callable[[Snapshot], str]:
    """The text outside all blocks, without white space."""

    def run(snapshot: Snapshot) -> str:
        position, outside = 0, []
        for block in snapshot.blocks:
            outside.append(snapshot.text[position : block.start])
            position = max(position, block.end)
        return "".join("".join([*outside, snapshot.text[position:]]).split())

    return run


@pytest.fixture(scope="session")
def kinds() -> Callable[[Snapshot], list[tuple[str, str]]]:
    """Kind and text of every block."""
    return lambda snapshot: [(block.kind, snapshot.text[block.start : block.end]) for block in snapshot.blocks]

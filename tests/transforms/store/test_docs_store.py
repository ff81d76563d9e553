"""The page about the store: its blocks run, in order, on a root that was really written."""

import re

import pytest


def test_the_blocks_of_the_page_run(store, publishing, documents, checkout, capsys):
    pytest.importorskip("duckdb")
    publishing(store, "v1", documents | {"it's here": "one more text"})
    publishing(store, "v2", documents)
    page = (checkout / "docs" / "store.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 9
    names: dict[str, object] = {"ROOT": store.root}
    for number, block in enumerate(blocks):
        exec(compile(block, f"docs/store.md, block {number}", "exec"), names)
    assert "alpha" in capsys.readouterr().out

"""The Python of docs/llm.md that needs the models alone runs."""

import re

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_blocks_of_the_page_run(checkout, capsys):
    found = BLOCK.findall((checkout / "docs" / "llm.md").read_text())
    blocks = [block for block in found if "pipelines" not in block]
    assert blocks
    for block in blocks:
        exec(block, {})
    assert capsys.readouterr().out.endswith("About a mill. 5 2\n")

import json

import pytest
from golden.evaluation_rows import LEFT_TO_PLANNING, ROWS


@pytest.fixture(scope="module")
def figures(checkout):
    return {row["id"]: row for row in json.loads((checkout / "tests" / "data" / "seed_numbers.json").read_text())}


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_worked_figure_comes_out(figures, name):
    assert ROWS[name](figures[name]["inputs"]) == pytest.approx(figures[name]["expected"], rel=1e-9)


def test_no_figure_is_forgotten(figures):
    mine = {name for name, row in figures.items() if row["section"] in ("13.5 evaluation", "sweep")}
    assert mine == ROWS.keys() | set(LEFT_TO_PLANNING)

"""Every worked figure, from the public functions that the commands use."""

import json
from pathlib import Path

import pytest
from golden import evaluation_rows, planning_rows

FIGURES = json.loads((Path(__file__).resolve().parent / "data" / "seed_numbers.json").read_text())
ROWS = planning_rows.ROWS | evaluation_rows.ROWS


@pytest.mark.parametrize("figure", [f for f in FIGURES if f["id"] in ROWS], ids=lambda figure: figure["id"])
def test_golden(figure):
    assert ROWS[figure["id"]](figure["inputs"]) == pytest.approx(figure["expected"], rel=1e-9, abs=1e-15)


def test_each_of_the_188_figures_has_one_row():
    names = [figure["id"] for figure in FIGURES]
    assert len(names) == len(set(names)) == 188
    assert planning_rows.ROWS.keys() & evaluation_rows.ROWS.keys() == set()
    assert set(names) - ROWS.keys() == set() and ROWS.keys() - set(names) == set()

"""What ends a run, in one line."""

import re

import pytest
from asking import ask_for

from models.errors import RefusedError
from models.fake_llm import refused
from models.llm.budget import Budget
from models.llm.ending import ending_early, ending_error
from models.llm.records import LlmFailure
from models.llm.settings import LlmBudgetSettings, LlmSettings


@pytest.mark.parametrize(
    ("reason", "words"),
    [("budget_usd", r"budget_usd = 2\.5 is spent; .*run again"), ("budget_gpu_hours", r"budget_gpu_hours = 1 is spent"),
     ("endpoint_down", r"at http://h/v1 did not answer for 60 s, .* \(why\); .*run again"),
     ("model_changed", r"at http://h/v1 is not the one that this run began with: why; .*llm_revision")],
)  # fmt: skip
def test_what_ends_a_run_is_one_line_with_the_remedy(reason, words):
    budget = LlmBudgetSettings(budget_usd=2.5, budget_gpu_hours=1.0)
    error = ending_error(LlmFailure(reason, "why"), LlmSettings(llm_url="http://h/v1", llm_revision="1"), budget)
    assert error.exit_code == 1 and re.search(words, str(error)) and "\n" not in str(error)


def test_a_spent_budget_ends_the_run_and_is_no_bad_answer(serve):
    prices = LlmBudgetSettings(usd_per_million_answer_tokens=1.0, budget_usd=0.0)
    _, client = serve("yes", budget=Budget(prices))
    standing = r"budget_usd = 0 is spent; .*: of its share of 0 USD a process has spent 0, and .* may take 0\.0001"
    with pytest.raises(RefusedError, match=standing):
        ending_early(client.ask, client.settings, prices)([ask_for("?")])
    _, client = serve(refused(400))
    assert ending_early(client.ask, client.settings, prices)([ask_for("?")])[0].reason == "refused"

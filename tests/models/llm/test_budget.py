"""Whatever is reserved and however it turns out, the books balance and money is never passed."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.llm.budget import Budget, Refusal, Reservation, token_price_usd
from models.llm.records import Usage
from models.llm.settings import LlmBudgetSettings

requests = st.lists(
    st.tuples(st.integers(0, 5000), st.integers(1, 2000), st.floats(0, 1), st.floats(0, 1), st.booleans()), max_size=40
)


@given(requests, st.floats(0, 20), st.floats(0, 20), st.one_of(st.none(), st.floats(0, 20)), st.floats(0, 0.2))
def test_money_is_never_passed(asked, prompt_usd, answer_usd, cached_usd, limit):
    prices = LlmBudgetSettings(
        usd_per_million_prompt_tokens=prompt_usd,
        usd_per_million_answer_tokens=answer_usd,
        usd_per_million_cached_tokens=cached_usd,
        budget_usd=limit,
    )
    budget, under_way = Budget(prices), []
    for n_prompt, n_answer, cached, answered, waits in asked:
        reserved = budget.reserve(n_prompt, n_answer)
        if isinstance(reserved, Reservation):
            under_way.append((reserved, Usage(n_prompt, int(n_prompt * cached), int(n_answer * answered))))
        while under_way and not waits:
            budget.settle(*under_way.pop())
        assert budget.spent_usd <= limit * (1 + 1e-9)
    for reserved, usage in under_way:
        budget.settle(reserved, usage)
    assert budget.spent_usd <= limit * (1 + 1e-9)
    assert budget.spent_usd == pytest.approx(token_price_usd(prices, budget.usage), abs=1e-12)


def test_a_refusal_is_final_only_where_nothing_under_way_can_help():
    budget = Budget(LlmBudgetSettings(usd_per_million_answer_tokens=1e6, budget_usd=10.0))
    first = budget.reserve(0, 6)
    assert budget.reserve(0, 6) == Refusal("budget_usd", is_final=False)
    assert budget.reserve(0, 11) == Refusal("budget_usd", is_final=True)
    budget.settle(first, Usage(0, 0, 4))
    assert isinstance(budget.reserve(0, 6), Reservation)


@pytest.mark.parametrize("price", [0.1, 1.0, 3.3, 1e-3])
def test_what_fits_to_the_last_token_is_not_refused(price):
    settings = LlmBudgetSettings(usd_per_million_answer_tokens=price, budget_usd=1000 * 7 * price / 1e6)
    budget = Budget(settings)
    for _ in range(1000):
        budget.settle(budget.reserve(0, 7), Usage(0, 0, 7))
    assert budget.reserve(0, 1) == Refusal("budget_usd", is_final=True)


def test_workers_have_a_share_each():
    settings = LlmBudgetSettings(usd_per_million_answer_tokens=1e6, budget_usd=10.0)
    assert isinstance(Budget(settings, share=0.5).reserve(0, 6), Refusal)


def test_device_time_runs_while_anything_is_under_way_and_counts_each_device():
    now = [0.0]
    settings = LlmBudgetSettings(budget_gpu_hours=1.0, usd_per_gpu_hour=2.0)
    budget = Budget(settings, n_devices=2, clock=lambda: now[0])
    first, second = budget.reserve(1, 1), budget.reserve(1, 1)
    now[0] = 1000.0
    budget.settle(first, Usage(1, 0, 1))
    assert budget.device_hours == pytest.approx(2000 / 3600) and budget.spent_usd == pytest.approx(4000 / 3600)
    now[0] = 1700.0
    budget.settle(second, Usage(1, 0, 1))
    now[0] = 9000.0  # idle
    third = budget.reserve(1, 1)
    assert isinstance(third, Reservation)
    now[0] = 9101.0
    assert budget.reserve(1, 1) == Refusal("budget_gpu_hours", is_final=True)
    assert budget.standing("budget_gpu_hours", 1, 1) == "of its share of 1 hours a process has used 1.001"


def test_threads_do_not_pass_the_limit_together():
    budget = Budget(LlmBudgetSettings(usd_per_million_answer_tokens=1e6, budget_usd=100.0))

    def spend():
        for _ in range(50):
            reserved = budget.reserve(0, 1)
            if isinstance(reserved, Reservation):
                budget.settle(reserved, Usage(0, 0, 1))

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.spent_usd == 100.0


def test_without_limits_nothing_is_refused():
    budget = Budget(LlmBudgetSettings())
    assert isinstance(budget.reserve(10**9, 10**9), Reservation)


@pytest.mark.parametrize("name", [name for name in LlmBudgetSettings.model_fields if "usd" in name or "hours" in name])
@pytest.mark.parametrize("value", [float("inf"), float("nan"), -1.0, 1e308])
def test_no_price_makes_a_bill_that_is_no_number(name, value):
    if name.startswith("budget") and value == 1e308:
        return
    with pytest.raises(ValueError, match=name):
        LlmBudgetSettings(**{name: value})

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.batching import is_out_of_memory, plan_batches, run_batches

LENGTHS = st.lists(st.integers(0, 300), max_size=200).map(lambda lengths: np.array(lengths, np.int32))


@given(LENGTHS, st.integers(1, 2000), st.integers(0, 200))
@settings(max_examples=100, deadline=None)
def test_a_plan_holds_every_row_once_within_its_limits(n_tokens, batch_tokens, padding_tokens):
    batches = plan_batches(n_tokens, batch_tokens, padding_tokens)
    assert sorted(row for rows in batches for row in rows.tolist()) == list(range(len(n_tokens)))
    for rows in batches:
        slots = len(rows) * int(n_tokens[rows].max())
        assert len(rows) == 1 or slots <= batch_tokens
        assert slots - int(n_tokens[rows].sum()) <= padding_tokens
    longest = [int(n_tokens[rows].max()) for rows in batches]
    assert longest == sorted(longest, reverse=True)


@given(LENGTHS, st.integers(1, 20))
@settings(max_examples=50, deadline=None)
def test_halving_gives_the_same_vectors(n_tokens, max_texts):
    def forward(rows):
        if len(rows) > max_texts:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return rows[:, None] + np.zeros((1, 3), np.float32)

    batches = plan_batches(n_tokens, 4000, 50)
    result = run_batches(forward, batches, n_tokens, 3)
    assert result.vectors[:, 0].tolist() == list(range(len(n_tokens)))
    assert not result.out_of_memory
    assert (result.n_splits > 0) == any(len(rows) > max_texts for rows in batches)


def test_memory_is_released_before_the_next_try_and_only_the_hopeless_row_fails():
    events = []

    def forward(rows):
        events.append(rows.tolist())
        if 2 in rows:
            raise MemoryError
        return np.ones((len(rows), 1), np.float32)

    n_tokens = np.full(4, 5, np.int32)
    result = run_batches(forward, [np.arange(4)], n_tokens, 1, lambda: events.append("released"))
    assert events == [[0, 1, 2, 3], "released", [0, 1], [2, 3], "released", [2], "released", [3]]
    assert (result.out_of_memory, result.n_splits, result.padded_slots) == ([2], 2, 15)
    assert result.vectors[:, 0].tolist() == [1, 1, 0, 1]


def test_any_other_error_goes_up():
    def forward(rows):
        raise RuntimeError("device-side assert triggered")

    with pytest.raises(RuntimeError, match="assert"):
        run_batches(forward, [np.arange(2)], np.ones(2, np.int32), 1)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (RuntimeError("CUDA out of memory. Tried to allocate"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
    ],
)
def test_what_counts_as_out_of_memory(error, expected):
    assert is_out_of_memory(error) is expected


def test_torch_says_out_of_memory_in_words_we_know():
    torch = pytest.importorskip("torch")
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory."))
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60, dtype=torch.uint8)
    assert is_out_of_memory(caught.value)

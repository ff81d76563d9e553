"""What the encoder and the LLM have to do for a policy, counted before any price is known."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from transforms.planning.figures import Mark, weakest
from transforms.planning.lengths import Lengths
from transforms.planning.windows import Tokens, last_window_tokens, window_counts


class EncoderPass(msgspec.Struct, frozen=True):
    """Texts that the encoder reads once.

    `content_tokens` are those of the texts, `tokens` those that the encoder reads: with special tokens, prompt and
    context, and equal texts of one call once where that is known. `pairs` is the sum of the squares of the lengths of
    what is read, `padded_slots` what the inputs take when each is padded to the longest that may come. `content_mark`
    is that of `content_tokens`: units that tile a text hold its tokens once, wherever they are cut. `mark` is that of
    everything else.
    """

    n_inputs: float
    content_tokens: float
    tokens: float
    pairs: float
    padded_slots: float
    mark: Mark
    basis: str
    content_mark: Mark


class LlmCalls(msgspec.Struct, frozen=True):
    """Completions: how many, what they read and write, and the pairs of tokens that attention compares.

    `input_mark` says how what they read is known; what they write is always assumed.
    """

    n_calls: float
    input_tokens: float
    output_tokens: float
    input_basis: str
    output_basis: str
    input_mark: Mark = "assumed"

    @property
    def pairs(self) -> float:
        """Causal attention of calls of equal length: c P + c (c + 1) / 2 for a prompt and for the answer behind it."""
        if not self.n_calls:
            return 0.0
        read, written = self.input_tokens / self.n_calls, self.output_tokens / self.n_calls
        return self.n_calls * (read * (read + 1) / 2 + written * read + written * (written + 1) / 2)


class PolicyWork(msgspec.Struct, frozen=True):
    """A policy's work over a corpus: passes whose vectors are indexed, passes that only find cuts, and completions."""

    name: str
    meaning: str
    indexed: tuple[EncoderPass, ...]
    detection: tuple[EncoderPass, ...] = ()
    llm: LlmCalls | None = None

    @property
    def passes(self) -> tuple[EncoderPass, ...]:
        return self.indexed + self.detection

    @property
    def n_units(self) -> float:
        return sum(part.n_inputs for part in self.indexed)

    @property
    def units_mark(self) -> Mark:
        return weakest(*(part.mark for part in self.indexed))

    @property
    def mark(self) -> Mark:
        """How the encoder's work is known."""
        return weakest(*(part.mark for part in self.passes))

    @property
    def content_mark(self) -> Mark:
        """How the number of content tokens is known."""
        return weakest(*(part.content_mark for part in self.passes))

    def total(self, name: str) -> float:
        """The sum of one count over all passes, such as `tokens`."""
        return float(sum(getattr(part, name) for part in self.passes))


def fixed_pass(lengths: Lengths, window_tokens: int, overlap_tokens: int, overhead_tokens: int) -> EncoderPass:
    """Fixed windows over documents of known lengths: exact, per document, whatever the number of documents."""
    counts = window_counts(lengths.tokens, window_tokens, overlap_tokens)
    inner = np.maximum(0, counts - 1)
    last = last_window_tokens(lengths.tokens, window_tokens, overlap_tokens)
    n_inputs = lengths.total(counts)
    content = lengths.n_tokens + lengths.total(inner) * overlap_tokens
    ends = (last + overhead_tokens) ** 2 * (counts > 0)
    return EncoderPass(
        n_inputs=n_inputs,
        content_tokens=content,
        tokens=content + n_inputs * overhead_tokens,
        pairs=lengths.total(inner) * (window_tokens + overhead_tokens) ** 2 + lengths.total(ends),
        padded_slots=n_inputs * (window_tokens + overhead_tokens),
        mark="formula",
        basis="T + (n - 1) o tokens in n = ceil((T - o) / (L - o)) windows, per document",
        content_mark="formula",
    )


def even_pass(
    n_inputs: float, content_tokens: float, slots_per_input: float, added_tokens: float, basis: str,
    mark: Mark = "assumed", content_mark: Mark = "assumed", unevenness: float = 1.0,
) -> EncoderPass:  # fmt: skip
    """Inputs of which only number and mean length are known; `added_tokens` are added to each.

    `unevenness` is the mean of their squared lengths over the square of the mean: 1 for inputs of equal length, the
    least that attention can cost.
    """
    tokens = content_tokens + n_inputs * added_tokens
    pairs = unevenness * tokens * tokens / n_inputs if n_inputs else 0.0
    slots = n_inputs * slots_per_input
    return EncoderPass(n_inputs, content_tokens, tokens, pairs, slots, mark, basis, content_mark)


class PassTally:
    """Adds up inputs as they are measured."""

    def __init__(self, slots_per_input: float, overhead_tokens: int) -> None:
        self._slots, self._overhead = slots_per_input, overhead_tokens
        self._n_inputs = self._content = self._tokens = self._pairs = 0

    def add(
        self, content_tokens: Tokens, context_tokens: Tokens | int = 0, is_read: NDArray[np.bool_] | bool = True
    ) -> None:
        """Take inputs of these lengths, int64 (n,); a context stands in front of its text.

        Of equal texts in one call the encoder reads one, which `is_read`, bool (n,), tells.
        """
        tokens = (content_tokens + context_tokens + self._overhead) * is_read
        self._n_inputs += len(content_tokens)
        self._content += int(content_tokens.sum())
        self._tokens += int(tokens.sum())
        self._pairs += int((tokens * tokens).sum())

    def finish(self, basis: str, scale: float = 1.0) -> EncoderPass:
        """The pass of all inputs, times `scale`."""
        return EncoderPass(
            n_inputs=self._n_inputs * scale,
            content_tokens=self._content * scale,
            tokens=self._tokens * scale,
            pairs=self._pairs * scale,
            padded_slots=self._n_inputs * self._slots * scale,
            mark="measured",
            basis=basis,
            content_mark="measured",
        )

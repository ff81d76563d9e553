"""What a person asks of a sweep, checked before anything is read."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from models.encoder import encoder_prompts
from models.errors import SettingsError
from models.settings import EncoderSettings
from models.tokenizer import Tokenizer, load_tokenizer
from pipelines.config import Settings
from pipelines.evaluation.comparing import COMPARED
from pipelines.settings_file import read_settings_file
from transforms.chunking import window_and_context
from transforms.evaluation.attribution import overlap_of_share
from transforms.evaluation.hypotheses import Hypothesis, check_hypotheses
from transforms.evaluation.statistics import N_RESAMPLES, SEED

SMALL_TOKENS = 128
SIZES = (128, 256, 512, 1024)
LEAST_OVER_LIMIT_SHARE = 0.05
_METRICS = COMPARED


@dataclass(frozen=True)
class SweepRequest:
    """Files, sizes and cuts. Sizes are tokens of an encoder input, special tokens and prompt included, as limits are.

    The short encoder is that of the settings; the long one is it with `long_encoder` and `long_max_input_tokens` where
    they are given. `big_tokens` is by default all that the long encoder reads.
    """

    questions: str | Path
    hypotheses: str | Path
    work: str | Path
    long_encoder: str | None = None
    long_max_input_tokens: int | None = None
    big_tokens: int | None = None
    small_tokens: int = SMALL_TOKENS
    sizes: Sequence[int] = SIZES
    overlap_share: float = 0.0
    k: int = 5
    budget_tokens: int = 1000
    count_with: str = "encoder"
    max_lost_share: float = 0.1
    sample_documents: int | None = None
    force: bool = False
    n_resamples: int = N_RESAMPLES
    seed: int = SEED


class Side(NamedTuple):
    """One of the two encoders: its settings, its tokenizer, and the tokens that an input loses to anything but text."""

    settings: EncoderSettings
    tokenizer: Tokenizer
    overhead_tokens: int

    @property
    def limit_tokens(self) -> int:
        """Tokens that it says it reads of an input."""
        return self.tokenizer.max_input_tokens


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    quantity: str
    low: float
    high: float
    metric: str = "recall"


class _File(msgspec.Struct, forbid_unknown_fields=True):
    hypothesis: list[_Row] = []


def read_hypotheses(path: str | Path) -> list[Hypothesis]:
    """The ranges in a settings file with a [[hypothesis]] for each: `name`, `quantity`, `low`, `high` and `metric`."""
    values = read_settings_file(Path(path))
    try:
        rows = msgspec.convert(values, _File, strict=True).hypothesis
    except msgspec.ValidationError as error:
        raise SettingsError(
            f"{str(path)!a}: {error}; a [[hypothesis]] has name, quantity, low, high and, if wanted, metric"
        ) from error
    found = [Hypothesis(row.name, row.quantity, row.metric, row.low, row.high) for row in rows]
    try:
        check_hypotheses(found, _METRICS)
    except SettingsError as error:
        raise SettingsError(f"{str(path)!a}: {error}") from error
    return found


def sides_of(settings: Settings, request: SweepRequest) -> tuple[Side, Side]:
    """The short encoder and the long one. `SettingsError` where the second does not say that it reads more."""
    short = settings.encoder
    changes = {"encoder": request.long_encoder, "max_input_tokens": request.long_max_input_tokens}
    if request.long_encoder is not None:
        changes |= {"max_input_tokens": request.long_max_input_tokens, "encoder_revision": None}
        changed = short.model_copy(update=changes)
    else:
        changed = short.model_copy(update={name: value for name, value in changes.items() if value is not None})
    sides = _side(short), _side(changed)
    if sides[1].limit_tokens <= sides[0].limit_tokens:
        raise SettingsError(
            f"the long encoder reads {sides[1].limit_tokens} tokens and the short one {sides[0].limit_tokens}; name "
            "one that reads more by --long-encoder or --long-max-input-tokens, or lower --max-input-tokens"
        )
    return sides


def check_request(settings: Settings, request: SweepRequest, short: Side, long: Side) -> int:
    """The size of the big chunks. `SettingsError` for sizes that do not make the experiment, or cuts that cannot be."""
    chunking = settings.chunking
    if chunking.budget_tokenizer != "encoder":
        raise SettingsError(
            f"budget_tokenizer = {chunking.budget_tokenizer!a}: a sweep counts in the encoder's tokens; leave it out"
        )
    if chunking.window_tokens is not None or chunking.overlap_tokens:
        raise SettingsError(
            f"window_tokens = {chunking.window_tokens} and overlap_tokens = {chunking.overlap_tokens} are what a sweep "
            "varies; leave them out and use --big-tokens, --small-tokens and --overlap-share"
        )
    if request.k < 1 or request.budget_tokens < 1:
        raise SettingsError(f"k = {request.k} and budget_tokens = {request.budget_tokens} must be at least 1")
    big = request.big_tokens or long.limit_tokens
    if not short.limit_tokens < big <= long.limit_tokens:
        raise SettingsError(
            f"big_tokens = {big} must be above the {short.limit_tokens} that the short encoder reads, and at most the "
            f"{long.limit_tokens} of the long one; or there is no truncation to measure, or it is in both"
        )
    if request.small_tokens > short.limit_tokens:
        raise SettingsError(
            f"small_tokens = {request.small_tokens} is above the {short.limit_tokens} tokens that the short encoder "
            "reads; arm B must be read whole"
        )
    return big


def settings_of_size(settings: Settings, side: Side, size_tokens: int, overlap_share: float) -> Settings:
    """The settings that cut for inputs of `size_tokens` of this encoder. Chunker auto means recursive in all arms."""
    name = "recursive" if settings.chunking.chunker == "auto" else settings.chunking.chunker
    room = size_tokens - side.overhead_tokens
    if room < 1:
        raise SettingsError(f"a size of {size_tokens} tokens leaves no text beside {side.overhead_tokens} of overhead")
    plain = settings.chunking.model_copy(update={"chunker": name, "window_tokens": None, "overlap_tokens": 0})
    window, reserved = window_and_context(name, plain, room)
    chosen = {
        "window_tokens": window,
        "overlap_tokens": overlap_of_share(window, overlap_share),
        "max_context_tokens": reserved if name == "structural" else plain.max_context_tokens,
    }
    return settings.model_copy(update={"chunking": plain.model_copy(update=chosen), "encoder": side.settings})


def _side(settings: EncoderSettings) -> Side:
    tokenizer, prompt = load_tokenizer(settings), encoder_prompts(settings)[0]
    prompt_tokens = int(tokenizer.count([prompt])[0]) if prompt else 0
    return Side(settings, tokenizer, tokenizer.overhead_tokens + prompt_tokens)

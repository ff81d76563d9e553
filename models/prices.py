"""What tokens and devices cost, and how fast devices are: stated, dated, and read from a TOML file.

The defaults are round list prices and sustained rates of late 2026, for orders of magnitude; a bill needs your own.
"""

import tomllib
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from models.errors import SettingsError
from models.settings import Section
from models.text_files import read_text

SECONDS_PER_HOUR = 3600
MAX_FILE_BYTES = 256 * 1024

Usd = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Whole = Annotated[int, Field(gt=0, le=10**15)]


def token_usd(n_tokens: float, usd_per_million_tokens: float) -> float:
    """Money for tokens at a price per million.

    >>> token_usd(451_200_000, 0.02)
    9.024
    """
    return n_tokens * usd_per_million_tokens / 1e6


def device_usd(seconds: float, usd_per_device_hour: float) -> float:
    """Money for seconds of a device at a price per hour.

    >>> device_usd(7200, 2.5)
    5.0
    """
    return seconds / SECONDS_PER_HOUR * usd_per_device_hour


class Device(Section):
    """A device by the hour. `flop_per_second` is what it sustains on this work, not its peak."""

    name: Annotated[str, Field(min_length=1, max_length=40)]
    usd_per_hour: Usd
    flop_per_second: Rate


class Cpu(Device):
    """One core, as bfloat16 sentence encoders run on it."""

    name: Annotated[str, Field(min_length=1, max_length=40)] = "CPU core"
    usd_per_hour: Usd = 0.04
    flop_per_second: Rate = 1.5e11


class Gpu(Device):
    """A data-centre GPU, as large batches keep it busy."""

    name: Annotated[str, Field(min_length=1, max_length=40)] = "GPU"
    usd_per_hour: Usd = 2.50
    flop_per_second: Rate = 3.4e14


class EncoderPrices(Section):
    """How encoding is paid: by the hour of a device, or by the token where `usd_per_million_tokens` is given."""

    device: Literal["gpu", "cpu"] = "cpu"
    usd_per_million_tokens: Usd | None = None
    parameters: Whole | None = None
    layers: Whole | None = None
    hidden_size: Whole | None = None
    dimension: Whole | None = None
    max_input_tokens: Whole | None = None
    overhead_tokens: Annotated[int, Field(ge=0, le=1000)] = 2


class LlmPrices(Section):
    """The LLM's size, and how it is paid: by the token (`paid_by = "token"`), or by the hour of the GPU.

    `decode_tokens_per_second` is that of the whole device at the batch sizes you run; FLOP do not predict it.
    """

    paid_by: Literal["token", "hour"] = "token"
    usd_per_million_input_tokens: Usd = 0.15
    usd_per_million_output_tokens: Usd = 0.60
    parameters: Whole = 8_000_000_000
    layers: Whole = 32
    hidden_size: Whole = 4096
    decode_tokens_per_second: Rate = 2500.0


class Assumptions(Section):
    """What nobody can count before a model has run or a sample was read. A measured sample replaces what it can."""

    tokens_per_sentence: Rate = 25.0
    tokens_per_paragraph: Rate = 100.0
    tokens_per_section: Rate = 400.0
    slots_per_sentence: Rate = 32.0
    recursive_fill: Annotated[float, Field(gt=0, le=1)] = 0.75
    structural_fill: Annotated[float, Field(gt=0, le=1)] = 0.65
    context_tokens_per_unit: Annotated[float, Field(ge=0)] = 8.0
    unit_unevenness: Annotated[float, Field(ge=1)] = 1.2
    sentence_unevenness: Annotated[float, Field(ge=1)] = 2.0
    neighbours_each_side: Annotated[int, Field(ge=0, le=100)] = 1
    semantic_cut_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.05
    semantic_fill: Annotated[float, Field(gt=0, le=1)] = 0.7
    pic_sentences_per_run: Rate = 4.0
    summary_tokens: Rate = 80.0
    boundary_fill: Annotated[float, Field(gt=0, le=1)] = 0.7
    boundary_answer_tokens_per_cut: Rate = 4.0
    numbering_tokens_per_sentence: Rate = 3.0
    instruction_tokens: Rate = 200.0
    llm_window_tokens: Rate = 6000.0
    tokens_per_proposition: Rate = 23.4
    proposition_tokens_per_passage_token: Rate = 1.4
    prefix_tokens: Rate = 60.0
    shown_tokens: Rate = 375.0


class Prices(Section):
    """Everything that a plan takes on trust, by section of the file."""

    as_of: Annotated[date, Field(strict=False)] = date(2026, 11, 1)
    cpu: Cpu = Cpu()
    gpu: Gpu = Gpu()
    encoder: EncoderPrices = EncoderPrices()
    llm: LlmPrices = LlmPrices()
    assumptions: Assumptions = Assumptions()

    @property
    def encoder_device(self) -> Device:
        """The device that encodes."""
        return self.gpu if self.encoder.device == "gpu" else self.cpu

    def states(self, section: str, *names: str) -> bool:
        """Whether the file itself gave every one of these values, so that none is a default of ours."""
        return section in self.model_fields_set and set(names) <= getattr(self, section).model_fields_set


def load_prices(path: str | Path | None) -> Prices:
    """The prices in a TOML file, over the defaults; the defaults alone for None.

    :raises SettingsError: in one line: the file cannot be read, or has an unknown name or a price that is not above 0.
    """
    if path is None:
        return Prices()
    try:
        return Prices.model_validate(_read_toml(Path(path)))
    except ValidationError as error:
        raise SettingsError(f"{str(path)!a}: {_one_line(error)}") from error


def _read_toml(path: Path) -> dict[str, Any]:
    text = read_text(path, MAX_FILE_BYTES, "that is no file of prices")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{str(path)!a} is no TOML: {' '.join(str(error).split())}") from error


def _one_line(error: ValidationError) -> str:
    found = error.errors()[0]
    where = ".".join(str(part) for part in found["loc"])
    if found["type"] == "extra_forbidden":
        return f"unknown name {where}; docs/plan.md lists them"
    shown = ascii(found["input"])
    return f"{where} = {shown if len(shown) <= 60 else shown[:57] + '...'}: {found['msg'][0].lower()}{found['msg'][1:]}"

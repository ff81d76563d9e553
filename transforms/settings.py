"""Settings of the stages. Transforms receive these objects and never see a command line or a file."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from models.settings import Section


class ReadingSettings(Section):
    """What is read, and how a table's rows become documents."""

    input: Annotated[tuple[str, ...], Field(description="file patterns, on any Beam file system")] = ()
    id_column: Annotated[str, Field(description="column of a table (jsonl, csv, parquet) that names a row")] = "id"
    text_column: Annotated[str, Field(description="column of a table that holds the text")] = "text"
    id_scope: Annotated[
        Literal["file", "corpus"],
        Field(
            description="'file': a row is known as file#id; 'corpus': by its id alone, for exports that rename their part files"
        ),
    ] = "file"
    max_document_bytes: Annotated[
        int, Field(gt=0, description="largest document in bytes after decompression; larger ones are dead letters")
    ] = 64 * 1024 * 1024
    max_metadata_bytes: Annotated[
        int, Field(gt=0, le=65536, description="largest metadata of one document as JSON, in bytes")
    ] = 16 * 1024

    @field_validator("input")
    @classmethod
    def _patterns_say_something(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        if any(not pattern.strip() for pattern in patterns):
            raise ValueError("input has an empty pattern; name a file, a folder or a pattern")
        return patterns


class ChunkingSettings(Section):
    """How a document is cut into units."""

    chunker: Annotated[
        Literal["auto", "fixed", "recursive", "structural", "semantic", "pic", "llm"],
        Field(
            description="auto picks structural where the document has markup and recursive elsewhere; pic and llm ask a language model"
        ),
    ] = "auto"
    window_tokens: Annotated[
        int | None,
        Field(gt=0, description="content tokens of a unit at most; none takes the encoder's limit less its overhead"),
    ] = None
    budget_tokenizer: Annotated[
        str,
        Field(
            pattern=r"^(encoder|tiktoken:[A-Za-z0-9_.-]+)$",
            description="what window_tokens, overlap_tokens and min_tokens are counted with: 'encoder', or an LLM's tokens as 'tiktoken:cl100k_base', counted where they stand in the document; units over the encoder's own limit are split",
        ),
    ] = "encoder"
    overlap_tokens: Annotated[int, Field(ge=0, description="content tokens that neighbouring units share at most")] = 0
    min_tokens: Annotated[
        int, Field(ge=0, description="units below this many tokens join a neighbour of the same section")
    ] = 32
    heading_prefix: Annotated[bool, Field(description="put the heading path in front of the embedded text")] = True
    max_context_tokens: Annotated[
        int, Field(ge=0, description="tokens a prefix (headings, table header) may take at most")
    ] = 64

    @model_validator(mode="after")
    def _budget_has_a_window(self) -> Self:
        if self.budget_tokenizer != "encoder" and self.window_tokens is None:
            raise ValueError(f"budget_tokenizer = {self.budget_tokenizer!r} has no limit of its own; set window_tokens")
        return self

    @model_validator(mode="after")
    def _overlap_below_window(self) -> Self:
        if self.window_tokens is not None and self.overlap_tokens >= self.window_tokens:
            raise ValueError(
                f"overlap_tokens = {self.overlap_tokens} is not below window_tokens = {self.window_tokens}; a window must advance"
            )
        return self

    @model_validator(mode="after")
    def _minimum_fits_window(self) -> Self:
        if self.window_tokens is not None:
            self.check_minimum(self.window_tokens)
        return self

    def check_minimum(self, window: int) -> None:
        """ValueError where `min_tokens` is above `window`, the content tokens of a unit at most.

        The default goes with any window: neighbours join while they fit.
        """
        if window < self.min_tokens != type(self).model_fields["min_tokens"].default:
            raise ValueError(
                f"min_tokens = {self.min_tokens} is above the window of {window} tokens, which no unit could reach; lower it or raise window_tokens"
            )


class SemanticSettings(Section):
    """How `chunker = semantic` finds the places where a text changes its subject."""

    detection_encoder: Annotated[
        str | None,
        Field(description="model that reads sentences to find boundaries, named as encoder is; none takes the encoder"),
    ] = None
    detection_revision: Annotated[
        str | None,
        Field(description="revision of a hub model named in detection_encoder; none takes the hub's default"),
    ] = None
    detection_windows: Annotated[
        Literal["mean", "text"],
        Field(
            description="mean: each sentence is encoded once and windows are token-weighted means; text: the text of each window is encoded, at 2 neighbour_sentences + 1 times the tokens"
        ),
    ] = "mean"
    neighbour_sentences: Annotated[
        int, Field(ge=0, le=16, description="sentences on either side of one that make its window")
    ] = 1
    compare_windows: Annotated[
        Literal["apart", "overlapping"],
        Field(
            description="apart: the window that ends at a gap with the one that begins there; overlapping: the windows around the two sentences beside it, which share sentences"
        ),
    ] = "apart"
    threshold: Annotated[
        Literal["percentile", "absolute", "deviation", "iqr", "gradient"],
        Field(description="how the distance above which is cut comes about; each kind has a factor of its own"),
    ] = "percentile"
    threshold_percentile: Annotated[
        float, Field(ge=0, le=100, description="for percentile: of the document's distances")
    ] = 95.0
    threshold_distance: Annotated[float, Field(ge=0, le=2, description="for absolute: the distance itself")] = 0.5
    threshold_deviations: Annotated[
        float, Field(ge=0, description="for deviation: standard deviations above the mean distance")
    ] = 3.0
    threshold_iqrs: Annotated[
        float, Field(ge=0, description="for iqr: inter-quartile ranges above the mean distance")
    ] = 1.5
    gradient_percentile: Annotated[
        float, Field(ge=0, le=100, description="for gradient: percentile of the gradient of the distances")
    ] = 95.0
    min_distance: Annotated[
        float, Field(ge=0, le=2, description="distance below which nothing is cut, whatever the threshold")
    ] = 0.0
    min_run_sentences: Annotated[
        int, Field(ge=1, description="sentences between two cuts at least; the larger distance stays")
    ] = 1

    def decisive(self) -> dict[str, Any]:
        """What decides the cuts beside the encoder: the threshold's kind with its own factor, and the windows."""
        shared = {"detection_windows", "neighbour_sentences", "compare_windows", "min_distance", "min_run_sentences"}
        return {**self.model_dump(include=shared), "threshold": self.threshold, "factor": self.factor}

    @property
    def factor(self) -> float:
        """The factor of the threshold's kind."""
        return {
            "percentile": self.threshold_percentile,
            "absolute": self.threshold_distance,
            "deviation": self.threshold_deviations,
            "iqr": self.threshold_iqrs,
            "gradient": self.gradient_percentile,
        }[self.threshold]


class IndexSettings(Section):
    """How vectors become a FAISS index, and what it must reach to be published."""

    index: Annotated[
        Literal["auto", "flat", "ivfpq"], Field(description="auto takes flat below min_ivf_units and IVF-PQ above")
    ] = "auto"
    min_ivf_units: Annotated[int, Field(gt=0, description="units from which auto takes IVF-PQ")] = 20_000
    pq_bytes: Annotated[
        int | None,
        Field(
            gt=0,
            description="bytes of one product-quantizer code; none takes the most up to 48, or up to an eighth of the components",
        ),
    ] = None
    nprobe: Annotated[int, Field(gt=0, description="inverted lists read per query")] = 32
    rerank_factor: Annotated[
        int, Field(ge=1, description="candidates re-scored from the stored vectors, as a multiple of k")
    ] = 10
    shard_chars: Annotated[
        int,
        Field(
            gt=0,
            description="text characters a shard is planned for, which bounds a worker's memory; a shard of twice as many is split",
        ),
    ] = 32 * 1024 * 1024
    min_recall_at_10: Annotated[
        float, Field(ge=0, le=1, description="recall@10 against exact search below which a run does not publish")
    ] = 0.9
    recall_queries: Annotated[int, Field(ge=0, description="held-out vectors used to measure recall")] = 500
    recall_vectors: Annotated[
        int, Field(gt=0, description="vectors searched exactly to measure recall at most, in whole shards")
    ] = 1_000_000
    max_dead_share: Annotated[
        float, Field(gt=0, le=1, description="share of dead rows from which a shard's segments are compacted")
    ] = 0.3


class RunSettings(Section):
    """Guards and limits of one run."""

    full: Annotated[bool, Field(description="ignore stamps and read everything again")] = False
    accept_recipe_change: Annotated[
        bool, Field(description="go on although a changed recipe encodes a large share of the stored units again")
    ] = False
    max_reencode_share: Annotated[
        float,
        Field(ge=0, le=1, description="share of stored units a recipe change may encode again without being accepted"),
    ] = 0.2
    accept_deletes: Annotated[
        bool, Field(description="go on although a large share of the known documents vanished")
    ] = False
    max_delete_share: Annotated[
        float, Field(ge=0, le=1, description="share of the known documents that may vanish in one run")
    ] = 0.2
    max_failures: Annotated[
        str,
        Field(
            pattern=r"^(\d+|(\d{1,2}(\.\d+)?|100(\.0+)?)%)$",
            description="failed documents allowed: a number, or a share such as 5%",
        ),
    ] = "5%"
    read_item_bytes: Annotated[int, Field(gt=0, description="bytes of small files one worker reads as one item")] = (
        4 * 1024 * 1024
    )

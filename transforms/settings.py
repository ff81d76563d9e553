"""Settings of the stages. Transforms receive these objects and never see a command line or a file."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

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


class ChunkingSettings(Section):
    """How a document is cut into units."""

    chunker: Annotated[
        Literal["auto", "fixed", "recursive", "structural"],
        Field(description="auto picks structural where the document has markup and recursive elsewhere"),
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
        Field(pattern=r"^(\d+|\d+(\.\d+)?%)$", description="failed documents allowed: a number, or a share such as 5%"),
    ] = "5%"
    read_item_bytes: Annotated[int, Field(gt=0, description="bytes of small files one worker reads as one item")] = (
        4 * 1024 * 1024
    )

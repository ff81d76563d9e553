"""What every stage of one run needs to know: where the store is, what it held, and how this run makes things."""

import functools
from dataclasses import dataclass, field
from typing import Any

from models.llm.settings import LlmBudgetSettings
from models.settings import EncoderSettings, Section
from transforms.identity import bucket, uri_bucket
from transforms.layout import shard_of
from transforms.recipes import Recipe
from transforms.rewriting.asking import AskingPlan
from transforms.settings import (
    BoundarySettings,
    ChunkingSettings,
    IndexSettings,
    PicSettings,
    ReadingSettings,
    RewritingSettings,
    RunSettings,
    SemanticSettings,
)
from transforms.spending import Spending
from transforms.store.dry import DryStore, is_dry
from transforms.store.files import Store
from transforms.store.manifest import DocumentShard, Manifest, Shard
from transforms.store.versions import load_manifest


@dataclass(frozen=True)
class EncoderCosts:
    """What the bill needs to know of the encoder: `n_parameters` leaves embedding tables out."""

    n_parameters: int = 0
    hidden_size: int = 0
    n_layers: int = 0


@dataclass(frozen=True)
class RunContext:
    """The settings, recipes and layout of one run. Small and plain, so that it travels to every worker.

    `base` is the version the run started from, empty for a first run. `document_shards` and `shards` are that version's
    entries after splitting, or empty ones; their order gives the shard indexes that records are keyed by. `asking` is
    there where the run asks a language model.
    """

    root: str
    run: str
    base: str
    base_sha256: str
    reading: ReadingSettings
    chunking: ChunkingSettings
    encoder: EncoderSettings
    index: IndexSettings
    limits: RunSettings
    recipes: dict[str, Recipe]
    document_shards: tuple[DocumentShard, ...]
    shards: tuple[Shard, ...]
    dimension: int
    prompt_tokens: int
    costs: EncoderCosts
    started_at: str = ""
    n_known_documents: int = 0
    n_unchanged: int = 0
    encoder_identity: dict[str, Any] = field(default_factory=dict)
    libraries: dict[str, str] = field(default_factory=dict)
    semantic: SemanticSettings = field(default_factory=SemanticSettings)
    detection_costs: EncoderCosts = EncoderCosts()
    pic: PicSettings = field(default_factory=PicSettings)
    boundaries: BoundarySettings = field(default_factory=BoundarySettings)
    asking: AskingPlan | None = None
    rewriting: RewritingSettings = field(default_factory=RewritingSettings)
    # Of a run that asks nothing too: it may have to bill a dead one that asked.
    prices: LlmBudgetSettings = field(default_factory=LlmBudgetSettings)

    @functools.cached_property
    def _document_firsts(self) -> list[int]:
        return [shard.first for shard in self.document_shards]

    @functools.cached_property
    def _content_firsts(self) -> list[int]:
        return [shard.first for shard in self.shards]

    @property
    def store(self) -> Store:
        return open_store(self.root)

    @property
    def spending(self) -> Spending:
        """This process's sums of what no finished work bears, one object a process."""
        return _spending(self.root, self.run)

    @property
    def cut_recipe(self) -> str:
        return self.recipes["cut"].id

    @property
    def encode_recipe(self) -> str:
        return self.recipes["encode"].id

    def sections(self) -> dict[str, Section]:
        """The settings of the run that a version remembers, by section. Keys are in none of them."""
        found: dict[str, Section] = {
            "reading": self.reading, "chunking": self.chunking, "semantic": self.semantic, "index": self.index,
            "run": self.limits,
        }  # fmt: skip
        if self.asking is not None:
            found |= {
                "pic": self.pic,
                "boundaries": self.boundaries,
                "rewriting": self.rewriting,
                "llm": self.asking.llm,
            }
            found |= {"llm_server": self.asking.server, "llm_budget": self.asking.budget}
        return found

    def scratch(self, folder: str) -> str:
        """A folder of this run's unpublished work."""
        return f"runs/{self.run}/{folder}"

    def document_shard(self, uri: str) -> int:
        """The index of the document shard that holds `uri`."""
        return shard_of(uri_bucket(uri), self._document_firsts)

    def content_shard(self, content_id: str) -> int:
        """The index of the content shard that holds `content_id`."""
        return shard_of(bucket(content_id), self._content_firsts)

    def base_manifest(self) -> Manifest | None:
        """The manifest of the version this run started from."""
        return _manifest(self.root, self.base) if self.base else None


@functools.lru_cache(maxsize=8)
def open_store(root: str) -> Store:
    """The store at `root`, one object a process."""
    return DryStore(root) if is_dry(root) else Store(root)


@functools.lru_cache(maxsize=8)
def _spending(root: str, run: str) -> Spending:
    return Spending(open_store(root), run)


@functools.lru_cache(maxsize=8)
def _manifest(root: str, version: str) -> Manifest | None:
    return load_manifest(open_store(root), version)

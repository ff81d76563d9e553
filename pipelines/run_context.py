"""Making the context of a run: recipes computed from what the settings stand for, and the layout of its shards."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from models.encoder import encoder_identity, encoder_parameters, encoder_prompts
from models.errors import SettingsError
from models.model_files import read_json, resolve_model
from models.settings import EncoderSettings
from models.tokenizer import Tokenizer, load_tokenizer
from pipelines.config import Settings
from transforms.chunking import ASKING, Questioning, asks_nobody, make_cutter, make_detection, nobody
from transforms.context import EncoderCosts, RunContext
from transforms.extraction import extractor_identity, format_of, is_table
from transforms.indexing.recipe import VERSION as INDEX_VERSION
from transforms.indexing.recipe import code_bytes
from transforms.layout import expected_documents, first_document_shards, first_shards
from transforms.listing import ListedFile, total_bytes
from transforms.recipes import Recipe, make_recipes
from transforms.rewriting.asking import Asking, AskingPlan, estimated_tokens, make_asking, plan_asking
from transforms.semantic.detection import detection_encoder
from transforms.settings import IndexSettings
from transforms.splitting import split_document_shards, split_shards
from transforms.store.files import Store
from transforms.store.manifest import DocumentShard, Manifest, Shard

PACKAGES = (
    "apache-beam",
    "faiss-cpu",
    "faiss-gpu",
    "faiss-gpu-cuvs",
    "numpy",
    "pyarrow",
    "sentence-transformers",
    "tokenizers",
    "torch",
)


def make_context(
    settings: Settings,
    store: Store,
    base: Manifest | None,
    base_sha256: str,
    listing: Sequence[ListedFile],
    share: float = 1.0,
) -> RunContext:
    """The context of a run that starts from `base` (None: a first run) and finds `listing`.

    :param share: each worker process's share of what the run may spend on a language model.

    Raises `SettingsError` where a window or a code does not fit the encoder, and as `load_tokenizer`,
    `encoder_identity` and `plan_asking`.
    """
    if settings.pic.pic_anchor != "summary":
        raise SettingsError(
            f"pic_anchor = {settings.pic.pic_anchor!r} is for evaluation only and no run takes it; leave it out, or "
            "measure it with `corpusmill boundaries`, `chunk`, `evaluate` or `sweep`"
        )
    tokenizer = load_tokenizer(settings.encoder)
    prompt_tokens = _prompt_tokens(settings.encoder, tokenizer)
    identity = encoder_identity(settings.encoder)
    detection = make_detection(settings.semantic, settings.encoder)
    plan = asking_plan(settings, share)
    questioning = _questioning(settings, plan)
    cutter = make_cutter(settings.chunking, tokenizer, prompt_tokens, detection, questioning)
    return RunContext(
        root=store.root,
        run=f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}",
        base=base.version if base else "",
        base_sha256=base_sha256,
        reading=settings.reading,
        chunking=settings.chunking,
        encoder=settings.encoder,
        index=settings.index,
        limits=settings.run,
        recipes=_recipes(settings, identity, cutter.identity),
        document_shards=tuple(_document_shards(base, listing)),
        shards=tuple(_shards(settings, base, listing)),
        dimension=int(identity["dimension"]),
        prompt_tokens=prompt_tokens,
        costs=encoder_costs(settings.encoder),
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        n_known_documents=_known_documents(base),
        encoder_identity=identity,
        libraries=_libraries(),
        semantic=settings.semantic,
        rewriting=settings.rewriting,
        detection_costs=encoder_costs(detection_encoder(settings.semantic, settings.encoder))
        if cutter.detects
        else EncoderCosts(),
        pic=settings.pic,
        boundaries=settings.boundaries,
        asking=plan,
        prices=settings.llm_budget,
    )


def asking_plan(settings: Settings, share: float = 1.0) -> AskingPlan | None:
    """How the language model is asked, where the settings have it asked; raises as `plan_asking`."""
    chunker, rewrite = settings.chunking.chunker, settings.rewriting.rewrite
    if asks_nobody(chunker, settings.pic) and rewrite == "none":
        return None
    asker = f"chunker = {chunker!r}" if chunker in ASKING else f"rewrite = {rewrite!r}"
    return plan_asking(settings.llm, settings.llm_server, settings.llm_budget, asker, share)


def local_questioning(settings: Settings) -> Questioning | None:
    """How documents are asked about outside a run: answers are kept in memory, for this process alone."""
    found = _questioning(settings, asking_plan(settings))
    if found is None and settings.chunking.chunker in ASKING:
        return Questioning(Asking(nobody, {}, 0, estimated_tokens), settings.pic, settings.boundaries)
    return found


def _questioning(settings: Settings, plan: AskingPlan | None) -> Questioning | None:
    return Questioning(make_asking(plan), settings.pic, settings.boundaries, settings.rewriting) if plan else None


def _recipes(settings: Settings, encoder: Mapping[str, Any], cutter: Mapping[str, Any]) -> dict[str, Recipe]:
    return make_recipes(
        {
            "extract": extractor_identity(),
            "cut": cutter,
            "encode": encoder,
            "index": _index_parts(settings.index, int(encoder["dimension"])),
        }
    )


def _index_parts(settings: IndexSettings, dimension: int) -> dict[str, Any]:
    """What decides an index. Codes that do not fit the vectors are refused here, before anything is paid for."""
    parts = settings.model_dump(include={"index", "min_ivf_units"})
    pq_bytes = 0 if settings.index == "flat" else code_bytes(settings, dimension)
    return {**parts, "pq_bytes": pq_bytes, "version": INDEX_VERSION}


def _prompt_tokens(settings: EncoderSettings, tokenizer: Tokenizer) -> int:
    prompt = encoder_prompts(settings)[0]
    return int(tokenizer.count([prompt])[0]) if prompt else 0


def encoder_costs(settings: EncoderSettings) -> EncoderCosts:
    """What the ledger needs to know of an encoder, read from its files."""
    if settings.encoder == "hashing":
        return EncoderCosts()
    config = read_json(resolve_model(settings) / "config.json")
    size, layers = int(config.get("hidden_size", 0)), int(config.get("num_hidden_layers", 0))
    return EncoderCosts(encoder_parameters(settings), size, layers)


def _document_shards(base: Manifest | None, listing: Sequence[ListedFile]) -> list[DocumentShard]:
    tables = [file for file in listing if is_table(format_of(file.file, None) or "")]
    found = len(listing) - len(tables), total_bytes(tables)
    if base is None:
        return list(first_document_shards(*found))
    return list(split_document_shards(base.document_shards, expected_documents(*found)))


def _shards(settings: Settings, base: Manifest | None, listing: Sequence[ListedFile]) -> list[Shard]:
    if base is not None:
        return list(split_shards(base.shards, settings.index.shard_chars))
    return list(first_shards(total_bytes(listing), settings.index.shard_chars))


def _known_documents(base: Manifest | None) -> int:
    return sum(shard.documents.n_rows for shard in base.document_shards if shard.documents) if base else 0


def _libraries() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found

"""Stage three, second half: train once if need be, then bring each touched shard's index up to date."""

import time
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from transforms.context import RunContext
from transforms.indexing import shards as kernel
from transforms.indexing.drift import Errors, judge
from transforms.indexing.recipe import IndexRecipe, n_training_rows, plan_index
from transforms.indexing.sampling import take_sample
from transforms.indexing.training import measure_errors, train, training_id
from transforms.live_units import live_ids, live_rows
from transforms.records import FillItem, ShardFilled, ShardWritten
from transforms.store.files import damaged
from transforms.store.manifest import Shard, Training

TRAINING_SALT = "training"
MAX_DRIFT_ROWS = 8192


def plan_fills(context: RunContext, written: Sequence[ShardWritten]) -> Iterator[FillItem]:
    """Decide how the version is indexed, train if that is called for, and say what each shard needs.

    Shards that nobody touched are filled again only where the training or the index's kind is another one.
    """
    shards = merged_shards(context, written)
    base = context.base_manifest()
    stored = base.training if base else None
    same_recipe = base is not None and base.recipes["index"]["id"] == context.recipes["index"].id
    n_units = sum(shard.n_units for shard in shards)
    factory = stored.factory if stored and same_recipe else None
    n_shards = sum(1 for shard in shards if shard.n_units)
    recipe = plan_index(context.index, context.dimension, n_units, factory, n_shards)
    training, drift = _training(context, recipe, shards, stored if same_recipe else None, written)
    name = training.id if training else ""
    touched = {shard.index for shard in written}
    for index, shard in enumerate(shards):
        before = context.shards[index]
        as_before = same_recipe and before.index is not None and before.training == name
        if index in touched or (shard.n_units and not as_before):
            yield FillItem(index, shard, not as_before, training, drift)


def merged_shards(context: RunContext, written: Sequence[ShardWritten]) -> list[Shard]:
    """All shards of the new version: those of the base with the written ones in their places."""
    shards = list(context.shards)
    for record in written:
        shards[record.index] = record.shard
    return shards


def _training(
    context: RunContext,
    recipe: IndexRecipe,
    shards: Sequence[Shard],
    stored: Training | None,
    written: Sequence[ShardWritten],
) -> tuple[Training | None, float | None]:
    """The training to fill from: none for a flat index, the stored one as long as it suits, or a new one.

    Beside it the drift of the new vectors under the stored one.
    """
    if recipe.kind == "flat":
        return None, None
    drift = None
    if stored is not None and recipe.accepts(stored.factory):
        new = _new_errors(context, stored, written)
        holdout = Errors(1, stored.residual_error, stored.reconstruction_error)
        n_total = sum(shard.n_units for shard in shards)
        verdict = judge(new, holdout, n_total=n_total, n_total_at_training=stored.n_total)
        if verdict.decision != "retrain":
            return stored, verdict.ratio
        drift = verdict.ratio
    return _train(context, recipe, shards), drift


def _new_errors(context: RunContext, stored: Training, written: Sequence[ShardWritten]) -> Errors:
    """Errors of a sample of the new vectors under the stored training; the count is that of all new vectors."""
    rows = [_added_rows(context, record.index, record.shard)[1] for record in written]
    n_new = sum(len(part) for part in rows)
    if not n_new:
        return Errors(0, 0.0, 0.0)
    step = max(1, n_new // MAX_DRIFT_ROWS)
    sample = np.concatenate([part[::step] for part in rows])
    errors = measure_errors(context.store.read(stored.file), sample)
    return Errors(n_new, errors.residual, errors.reconstruction)


def _train(context: RunContext, recipe: IndexRecipe, shards: Sequence[Shard]) -> Training:
    """Train on the rows of least hash over all shards, unless that very training is stored already."""
    ids, vectors = sample_rows(context, shards, n_training_rows(recipe))
    name = training_id(recipe, ids)
    trained = train(recipe, vectors)
    entry = context.store.write("training", "faiss", trained.data)
    return Training(
        name, entry, recipe.factory, trained.n_sample, sum(shard.n_units for shard in shards),
        trained.holdout.residual, trained.holdout.reconstruction,
    )  # fmt: skip


def sample_rows(context: RunContext, shards: Sequence[Shard], n: int) -> tuple[NDArray[np.int64], NDArray[np.float16]]:
    """The `n` live rows of least id hash over all shards, in id order. Holds one shard and the sample in memory."""
    ids, vectors = np.empty(0, np.int64), np.empty((0, context.dimension), np.float16)
    for shard in shards:
        more_ids, more_vectors = live_rows(context, shard)
        ids, vectors = np.concatenate([ids, more_ids]), np.concatenate([vectors, more_vectors])
        if len(ids) > n:
            chosen = take_sample(ids, n, TRAINING_SALT)
            places = np.argsort(ids)[np.searchsorted(np.sort(ids), chosen)]
            ids, vectors = ids[places], vectors[places]
    order = np.argsort(ids)
    return ids[order], vectors[order]


def fill_shard(context: RunContext, item: FillItem) -> ShardFilled:
    """Update the shard's index in place of the last version's, or fill it afresh, and store it."""
    started = time.process_time()
    _check_new_files(context, context.shards[item.index], item.shard)
    training = item.training
    name = training.id if training else ""
    shard = item.shard
    if shard.n_units:
        index = _filled(context, shard, training) if item.afresh else _updated(context, item.index, shard, name)
        entry = context.store.write(f"indexes/{shard.name}", "faiss", kernel.dump(index), index.n_vectors)
        kind = "ivfpq" if training else "flat"
        shard = msgspec.structs.replace(shard, index=entry, index_kind=kind, training=name)
    return ShardFilled(item.index, shard, time.process_time() - started, training, item.drift)


def _check_new_files(context: RunContext, before: Shard, shard: Shard) -> None:
    """Read every file that is new in the shard once more, since a version is checked before it is published."""
    old = {entry.path for entry in (*before.snapshots, *before.units, *before.vectors)}
    entries = [*shard.snapshots, *shard.units, *shard.vectors, *([shard.contents] if shard.contents else [])]
    for entry in entries:
        if entry.path not in old and context.store.sha256(entry.path) != entry.sha256:
            raise damaged(context.store.path(entry.path), "does not have the bytes that were written")


def _filled(context: RunContext, shard: Shard, training: Training | None) -> kernel.ShardIndex:
    ids, vectors = live_rows(context, shard)
    return kernel.fill(_empty(context, training), ids, vectors)


def _updated(context: RunContext, index: int, shard: Shard, training: str) -> kernel.ShardIndex:
    before = context.shards[index]
    assert before.index is not None
    added_ids, added = _added_rows(context, index, shard)
    removed = np.setdiff1d(live_ids(context, before), live_ids(context, shard), assume_unique=True)
    stored = kernel.load(context.store.read(before.index), training)
    return kernel.update(stored, removed, added_ids, added)


def _added_rows(context: RunContext, index: int, shard: Shard) -> tuple[NDArray[np.int64], NDArray[np.float16]]:
    """The live rows that the shard of the last version does not have."""
    return live_rows(context, shard, without=live_ids(context, context.shards[index]))


def _empty(context: RunContext, training: Training | None) -> kernel.ShardIndex:
    if training is None:
        return kernel.empty_flat(IndexRecipe("flat", context.dimension))
    return kernel.load(context.store.read(training.file), training.id)

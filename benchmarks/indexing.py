"""Filling a shard's IVF-PQ index beside FAISS's own add, and recall@10 with re-scoring, on encoded vectors.

    python -m benchmarks.indexing --units 5000 --folder docs

Vectors of made-up words have no neighbourhoods, so give --folder for a recall that counts.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.corpus import texts
from benchmarks.encode import cut_texts
from benchmarks.measuring import Figure, hand_over, part_parser, side_by_side
from models.encoder import load_encoder
from models.settings import EncoderSettings
from transforms.indexing.recall import answer, measure_recall
from transforms.indexing.recipe import IndexRecipe, plan_index
from transforms.indexing.shards import empty, fill, load
from transforms.indexing.training import train
from transforms.settings import IndexSettings

Halves = np.ndarray
N_QUERIES = 500


def encoded(units: list[str], encoder: str) -> Halves:
    """Their vectors, float16 (n, d), without those that could not be made."""
    made = load_encoder(EncoderSettings(encoder=encoder)).encode(units)
    return np.asarray(made.vectors)[made.valid]


def recall(recipe: IndexRecipe, trained: bytes, ids: np.ndarray, vectors: Halves) -> float:
    chosen = np.sort(np.array(random.Random(0).sample(range(len(ids)), min(N_QUERIES, len(ids)))))
    shard = fill(load(trained, "bench"), ids, vectors)
    found = measure_recall([answer(shard, recipe, ids, vectors, ids[chosen], vectors[chosen])]).recall_at_10
    return found or 0.0


def figures(units: list[str], encoder: str) -> Iterator[Figure]:
    import faiss

    vectors = encoded(units, encoder)
    ids = np.arange(len(vectors), dtype=np.int64)
    recipe = plan_index(IndexSettings(index="ivfpq"), vectors.shape[1], len(vectors))
    trained = train(recipe, vectors).data
    rows = vectors.astype(np.float32)

    def ours() -> None:
        fill(load(trained, "bench"), ids, vectors)

    def theirs() -> None:
        faiss.deserialize_index(np.frombuffer(trained, np.uint8)).add_with_ids(rows, ids)

    taken = side_by_side({"ours": ours, "faiss": theirs})
    detail = f"{recipe.factory}, {len(ids)} vectors, {taken['ours']:.2f} and {taken['faiss']:.2f} CPU s"
    yield Figure("indexing", "fill / add_with_ids", taken["ours"] / taken["faiss"], 1.2, detail=detail)
    flat = empty(IndexRecipe("flat", recipe.dimension))
    assert fill(flat, ids, vectors).n_vectors == len(ids)
    value = recall(recipe, trained, ids, vectors)
    detail = f"nprobe {recipe.nprobe} of {recipe.nlist}, best {10 * recipe.rerank_factor} re-scored"
    yield Figure("indexing", "recall@10", value, 0.95, False, detail)


def main() -> None:
    parser = part_parser(__doc__.split("\n")[0])
    parser.add_argument("--units", type=int, default=5_000, help="passages that are encoded")
    parser.add_argument("--encoder", default="minilm", help="as in the settings")
    parser.add_argument("--folder", type=Path, help="folder with real texts; without, words are made up")
    options = parser.parse_args()
    units = cut_texts(options.folder, options.units, options.seed) if options.folder else texts(options.units)
    hand_over(figures(units, options.encoder), options.json)


if __name__ == "__main__":
    main()

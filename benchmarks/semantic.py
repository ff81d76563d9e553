"""Boundary quality of semantic breakpoints on annotated texts, and their speed beside other semantic splitters.

    python benchmarks/semantic.py ../shared/data/wiki_test_50
    python benchmarks/semantic.py ../shared/data/wiki_test_50 --speed

The folder holds texts, one sentence a line, in which a line that begins with ======== begins a section. Prints the mean
Pk and WindowDiff over the texts in percent (k is half a text's mean section, halves rounded up, at least 2) of no
boundary at all, of settings, and of what the settings read in tokens. `--speed` prints sentences a CPU second of our
detection and of the semantic splitters of llama-index and langchain where they are installed, with the same model.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from models.encoder import Encoder, load_encoder
from models.settings import EncoderSettings
from models.tokenizer import Tokenizer, load_tokenizer
from transforms.chunking import make_cutter, make_detection
from transforms.elements import Snapshot
from transforms.evaluation.boundaries import compare
from transforms.semantic.distances import gap_distances, mean_distances, window_ranges, window_sides
from transforms.semantic.thresholds import find_breakpoints
from transforms.settings import ChunkingSettings, SemanticSettings

# Chosen on other text than the annotated folder: see docs/semantic.md.
TUNED = SemanticSettings(neighbour_sentences=4, threshold="iqr", threshold_iqrs=0.5, min_run_sentences=8)
SETTINGS = {
    "default (percentile 95)": SemanticSettings(),
    "default, windows of text": SemanticSettings(detection_windows="text"),
    "overlapping windows": SemanticSettings(compare_windows="overlapping"),
    "overlapping windows of text": SemanticSettings(compare_windows="overlapping", detection_windows="text"),
    "single sentences": SemanticSettings(neighbour_sentences=0),
    "deviation 2": SemanticSettings(threshold="deviation", threshold_deviations=2.0),
    "iqr 1.5": SemanticSettings(threshold="iqr"),
    "gradient 95": SemanticSettings(threshold="gradient"),
    "tuned on other text": TUNED,
}


class Annotated(NamedTuple):
    """A text's sentences, bool (n - 1,) whether a section ends at each gap, their vectors and tokens."""

    sentences: list[str]
    gaps: NDArray[np.bool_]
    vectors: NDArray[np.float16]
    n_tokens: NDArray[np.int64]


def read_annotated(path: Path) -> tuple[list[str], NDArray[np.bool_]]:
    sentences: list[str] = []
    ends: set[int] = set()
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("========"):
            ends.add(len(sentences) - 1)
        elif line.strip():
            sentences.append(line.strip())
    return sentences, np.array([gap in ends for gap in range(len(sentences) - 1)], np.bool_)


def pk_and_windowdiff(reference: NDArray[np.bool_], found: NDArray[np.bool_]) -> tuple[float, float]:
    compared = compare(reference, found)
    return compared.pk, compared.windowdiff


def distances_of(text: Annotated, settings: SemanticSettings, encoder: Encoder, room: int) -> tuple[Any, int]:
    """Distances at the gaps, and the tokens read for them."""
    n, compare = settings.neighbour_sentences, settings.compare_windows
    if settings.detection_windows == "mean":
        return mean_distances(text.vectors, text.n_tokens, n, compare), int(text.n_tokens.sum())
    windows: list[str] = []
    for side in window_sides(n, compare):
        ranges = window_ranges(text.n_tokens, *side, room)
        windows += [" ".join(text.sentences[a:b]) for a, b in zip(*(r.tolist() for r in ranges), strict=True)]
    distinct = list(dict.fromkeys(windows))
    encoded = encoder.encode(distinct)
    place = {window: row for row, window in enumerate(distinct)}
    vectors = encoded.vectors[[place[window] for window in windows]]
    n_rows = len(text.sentences)
    return gap_distances(vectors[: n_rows - 1], vectors[n_rows + 1 :]), int(encoded.n_tokens.sum() - 2 * len(distinct))


def quality(folder: Path) -> Iterator[tuple[str, float, float, float]]:
    """Yields a name, Pk and WindowDiff in percent, and tokens read as a multiple of the texts' tokens."""
    settings = EncoderSettings()
    encoder, tokenizer = load_encoder(settings), load_tokenizer(settings)
    texts = []
    for path in sorted((folder / "docs").glob("*")):
        sentences, gaps = read_annotated(path)
        if gaps.any():
            vectors = encoder.encode(sentences).vectors
            texts.append(Annotated(sentences, gaps, vectors, tokenizer.count(sentences).astype(np.int64)))
    total = sum(int(text.n_tokens.sum()) for text in texts)
    none = np.mean([pk_and_windowdiff(text.gaps, np.zeros_like(text.gaps)) for text in texts], axis=0)
    yield "no boundary", 100 * none[0], 100 * none[1], 0.0
    room = tokenizer.max_input_tokens - tokenizer.overhead_tokens
    for name, chosen in SETTINGS.items():
        scores, read = [], 0
        for text in texts:
            distances, n_tokens = distances_of(text, chosen, encoder, room)
            found = find_breakpoints(
                distances, chosen.threshold, chosen.factor, chosen.min_distance, chosen.min_run_sentences
            )
            scores.append(pk_and_windowdiff(text.gaps, found.is_cut))
            read += n_tokens
        mean = 100 * np.mean(scores, axis=0)
        yield name, float(mean[0]), float(mean[1]), read / total


def ours(tokenizer: Tokenizer) -> Callable[[str], Any]:
    detection = make_detection(SemanticSettings(), EncoderSettings())
    cutter = make_cutter(ChunkingSettings(chunker="semantic"), tokenizer, detection=detection)
    return lambda text: cutter.cut(Snapshot(text))


def by_llama_index() -> Callable[[str], Any]:
    from llama_index.core import Document
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.node_parser import SemanticSplitterNodeParser

    model = _sentence_transformer()

    class Embedding(BaseEmbedding):  # type: ignore[misc]
        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            rows: list[list[float]] = model.encode(texts, show_progress_bar=False).tolist()
            return rows

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embeddings([query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    parser = SemanticSplitterNodeParser(embed_model=Embedding(embed_batch_size=32))
    return lambda text: parser.get_nodes_from_documents([Document(text=text)])


def by_langchain() -> Callable[[str], Any]:
    from langchain_core.embeddings import Embeddings
    from langchain_experimental.text_splitter import SemanticChunker

    model = _sentence_transformer()

    class Model(Embeddings):  # type: ignore[misc]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            rows: list[list[float]] = model.encode(texts, show_progress_bar=False).tolist()
            return rows

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    return SemanticChunker(Model()).split_text


def _sentence_transformer() -> Any:
    from sentence_transformers import SentenceTransformer

    from models.model_files import resolve_model

    return SentenceTransformer(str(resolve_model(EncoderSettings())), device="cpu")


def speed(folder: Path, n_texts: int) -> Iterator[tuple[str, float]]:
    """Yields a name and sentences a CPU second over the first texts, each splitter after one text to warm up."""
    read = [read_annotated(path)[0] for path in sorted((folder / "docs").glob("*"))[:n_texts]]
    texts, n_sentences = [" ".join(sentences) for sentences in read], sum(map(len, read))
    splitters = {"corpusmill": ours(load_tokenizer(EncoderSettings()))}
    if find_spec("llama_index"):
        splitters["llama-index"] = by_llama_index()
    if find_spec("langchain_experimental"):
        splitters["langchain"] = by_langchain()
    for name, split in splitters.items():
        split(texts[0])
        started = time.process_time()
        for text in texts:
            split(text)
        yield name, n_sentences / (time.process_time() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with docs/, annotated texts")
    parser.add_argument("--speed", action="store_true", help="measure speed instead of quality")
    parser.add_argument("--texts", type=int, default=20, help="texts for the speed (default 20)")
    arguments = parser.parse_args()
    if arguments.speed:
        for name, rate in speed(arguments.folder, arguments.texts):
            print(f"{name:12} {rate:7.1f} sentences a CPU second")
        return
    print(f"{'':28}    Pk  WindowDiff  tokens read")
    for name, pk, windowdiff, read in quality(arguments.folder):
        print(f"{name:28}  {pk:4.1f}        {windowdiff:4.1f}  {read:8.2f} T")


if __name__ == "__main__":
    main()

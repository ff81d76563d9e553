"""Encoding side by side: our encoder and SentenceTransformer.encode at its defaults, in one process, as a ratio.

    python benchmarks/encode.py --texts 5000

Made-up words are all alike, so sorting by letters, as SentenceTransformer does, works better on them than on real
texts: give --folder for the figure that counts.
Prints tokens per CPU second of both, the ratio, the share of padding and the mean of 1 - cosine.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from models.encoder import load_encoder
from models.model_files import resolve_model
from models.settings import EncoderSettings

_SYLLABLES = [
    "ba",
    "de",
    "fi",
    "go",
    "lu",
    "ma",
    "ne",
    "pi",
    "ro",
    "su",
    "ta",
    "ve",
    "wo",
    "xi",
    "yu",
    "zen",
    "kar",
    "tol",
    "min",
    "der",
]


def make_texts(n_texts: int, seed: int = 0) -> list[str]:
    """Texts with the length mix of cut documents: log-normal, median about 50 words, 3 to 190."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(_SYLLABLES, k=rng.choice((1, 1, 2, 2, 3)))) for _ in range(5000)]
    lengths = [min(190, max(3, round(rng.lognormvariate(3.9, 0.9)))) for _ in range(n_texts)]
    return [" ".join(rng.choices(words, k=length)) for length in lengths]


def cut_texts(folder: Path, n_texts: int, seed: int = 0) -> list[str]:
    """Texts of the same lengths, cut at random from the files of `folder`, read as UTF-8."""
    rng = random.Random(seed)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    words = [word for path in paths for word in path.read_text(encoding="utf-8", errors="replace").split()]
    if not words:
        raise SystemExit(f"--folder {folder} holds no text")
    lengths = [len(text.split()) for text in make_texts(n_texts, seed)]
    starts = [rng.randrange(max(1, len(words) - 200)) for _ in lengths]
    return [" ".join(words[start : start + length]) for start, length in zip(starts, lengths, strict=True)]


def cpu_seconds(work: Callable[[], Any]) -> tuple[Any, float]:
    started_at = time.process_time()
    result = work()
    return result, time.process_time() - started_at


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--texts", type=int, default=5000, help="number of texts")
    parser.add_argument("--folder", type=Path, help="folder with real texts; without, words are made up")
    parser.add_argument("--encoder", default="minilm", help="as in the settings")
    parser.add_argument("--dtype", default="auto", help="arithmetic of our encoder")
    parser.add_argument("--seed", type=int, default=0, help="of the texts")
    options = parser.parse_args()

    from sentence_transformers import SentenceTransformer

    settings = EncoderSettings(encoder=options.encoder, dtype=options.dtype, device="cpu")
    ours, theirs = load_encoder(settings), SentenceTransformer(str(resolve_model(settings)), device="cpu")
    texts = (
        cut_texts(options.folder, options.texts, options.seed)
        if options.folder
        else make_texts(options.texts, options.seed)
    )
    ours.encode(texts[:32]), theirs.encode(texts[:32])
    expected, their_seconds = cpu_seconds(lambda: theirs.encode(texts))
    encoded, our_seconds = cpu_seconds(lambda: ours.encode(texts))

    n_tokens = int(encoded.n_tokens.sum())
    vectors = encoded.vectors.astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(expected, axis=1)
    print(f"{options.texts} texts, {n_tokens} tokens, {ours.description['dtype']}, {ours.description['device_name']}")
    print(f"SentenceTransformer.encode  {n_tokens / their_seconds:9.0f} tokens per CPU second")
    print(f"corpusmill                  {n_tokens / our_seconds:9.0f} tokens per CPU second")
    print(f"ratio {their_seconds / our_seconds:.2f}, padding {1 - n_tokens / encoded.padded_slots:.1%}")
    print(f"mean 1 - cosine {np.mean(1 - (vectors * expected).sum(axis=1) / lengths):.1e}")


if __name__ == "__main__":
    main()

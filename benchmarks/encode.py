"""Encoding beside SentenceTransformer.encode at its defaults, in CPU seconds of one process.

    python -m benchmarks.encode --texts 5000 --folder docs

Made-up words are all alike, so sorting by letters, as SentenceTransformer does, works better on them than on real
texts: give --folder for the figure that counts.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.corpus import vocabulary
from benchmarks.measuring import Figure, cpu_seconds, hand_over, part_parser
from models.encoder import load_encoder
from models.model_files import resolve_model
from models.settings import EncoderSettings


def text_lengths(n_texts: int, seed: int) -> list[int]:
    """Words of texts with the length mix of cut documents: log-normal, median about 50, 3 to 190."""
    rng = random.Random(seed)
    return [min(190, max(3, round(rng.lognormvariate(3.9, 0.9)))) for _ in range(n_texts)]


def made_texts(n_texts: int, seed: int = 0) -> list[str]:
    """Texts of made-up words."""
    rng = random.Random(seed)
    words, weights = vocabulary()
    return [" ".join(rng.choices(words, cum_weights=weights, k=length)) for length in text_lengths(n_texts, seed)]


def cut_texts(folder: Path, n_texts: int, seed: int = 0) -> list[str]:
    """Texts of the same lengths, cut at random from the files of `folder`, read as UTF-8."""
    rng = random.Random(seed)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    words = [word for path in paths for word in path.read_text(encoding="utf-8", errors="replace").split()]
    if not words:
        raise SystemExit(f"--folder {folder} holds no text")
    starts = [rng.randrange(max(1, len(words) - 200)) for _ in range(n_texts)]
    spans = zip(starts, text_lengths(n_texts, seed), strict=True)
    return [" ".join(words[start : start + length]) for start, length in spans]


def figures(texts: list[str], settings: EncoderSettings) -> Iterator[Figure]:
    from sentence_transformers import SentenceTransformer

    ours, theirs = load_encoder(settings), SentenceTransformer(str(resolve_model(settings)), device="cpu")
    ours.encode(texts[:32]), theirs.encode(texts[:32])
    results = {}

    def keep(name: str, work: object) -> None:
        results[name] = work

    their_seconds = cpu_seconds(lambda: keep("theirs", theirs.encode(texts)))
    our_seconds = cpu_seconds(lambda: keep("ours", ours.encode(texts)))
    encoded, expected = results["ours"], results["theirs"]
    n_tokens = int(encoded.n_tokens.sum())
    vectors = encoded.vectors.astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(expected, axis=1)
    dtype = ours.description["dtype"]
    detail = f"{n_tokens / our_seconds:.0f} and {n_tokens / their_seconds:.0f} tokens per CPU s; {dtype}; "
    detail += f"padding {1 - n_tokens / encoded.padded_slots:.1%}"
    target = 1.8 if dtype == "bfloat16" else 1.05
    yield Figure("encode", "ours / SentenceTransformer.encode", their_seconds / our_seconds, target, False, detail)
    distance = float(np.mean(1 - (vectors * expected).sum(axis=1) / lengths))
    yield Figure("encode", "mean 1 - cosine", distance, 1e-4, detail=f"{len(texts)} texts")


def main() -> None:
    parser = part_parser(__doc__.split("\n")[0])
    parser.add_argument("--texts", type=int, default=5_000, help="number of texts")
    parser.add_argument("--folder", type=Path, help="folder with real texts; without, words are made up")
    parser.add_argument("--encoder", default="minilm", help="as in the settings")
    parser.add_argument("--dtype", default="auto", help="arithmetic of our encoder")
    options = parser.parse_args()
    make = cut_texts if options.folder else None
    texts = make(options.folder, options.texts, options.seed) if make else made_texts(options.texts, options.seed)
    settings = EncoderSettings(encoder=options.encoder, dtype=options.dtype, device="cpu")
    hand_over(figures(texts, settings), options.json)


if __name__ == "__main__":
    main()

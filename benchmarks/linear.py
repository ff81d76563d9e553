"""Hard documents of two sizes: the CPU seconds of cutting must grow with the length and not faster.

python -m benchmarks.linear
"""

import time
from collections.abc import Callable, Iterator

from benchmarks.measuring import Figure, hand_over, part_parser
from models.settings import EncoderSettings
from models.tokenizer import load_tokenizer
from transforms.chunking import make_cutter
from transforms.extraction import extract_file
from transforms.settings import ChunkingSettings, ReadingSettings

MAKERS: dict[str, Callable[[int], str]] = {
    "no white space": lambda n: "abcdefghij" * (n // 10),
    "no newline": lambda n: "some words without an end " * (n // 26),
    "headings only": lambda n: "".join(f"# Heading {number}\n\n" for number in range(n // 18)),
    "one long table": lambda n: "| a | b |\n|---|---|\n" + "| cell one | cell two |\n" * (n // 24),
    "open brackets": lambda n: "([{" * (n // 3),
}
GROWTH = 4


def seconds(text: str, chunker: str) -> float:
    """CPU seconds of extracting and cutting a Markdown text, on objects made anew."""
    import io

    cutter = make_cutter(ChunkingSettings(chunker=chunker), load_tokenizer(EncoderSettings()))
    started = time.process_time()
    for extracted in extract_file(io.BytesIO(text.encode()), "text.md", ReadingSettings()):
        assert extracted.snapshot is not None, extracted.reason
        cutter.cut(extracted.snapshot)
    return time.process_time() - started


def figures(n_bytes: int) -> Iterator[Figure]:
    for name, make in MAKERS.items():
        for chunker in ("fixed", "recursive", "structural"):
            small, large = seconds(make(n_bytes // GROWTH), chunker), seconds(make(n_bytes), chunker)
            detail = f"{large:.2f} CPU s for {n_bytes / 1e6:.0f} MB, {small:.2f} for a quarter of it"
            # Quadratic work would show as 4 times as long a byte; noise and caches as up to 1.5.
            yield Figure("linear", f"{name}, {chunker}", large / small / GROWTH, 1.5, detail=detail)


def main() -> None:
    parser = part_parser(__doc__.split("\n")[0])
    parser.add_argument("--bytes", type=int, default=10_000_000, help="size of the larger document")
    options = parser.parse_args()
    hand_over(figures(options.bytes), options.json)


if __name__ == "__main__":
    main()

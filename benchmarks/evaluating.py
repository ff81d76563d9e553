"""What an evaluation costs on top of embedding the questions and one exact search, over 100,000 units.

    python -m benchmarks.evaluating --units 100000 --questions 500

The index is made with the hashing encoder at MiniLM's 384 components, so that making it takes minutes and not hours.
What embedding the questions costs is measured with MiniLM, and stands in for it.
"""

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measuring import Figure, cpu_seconds, hand_over, part_parser
from models.encoder import load_encoder
from models.settings import EncoderSettings
from pipelines.config import load_settings
from pipelines.evaluation import evaluate
from pipelines.evaluation.published import PublishedArm
from pipelines.ingest import run_ingest
from transforms.indexing.searching import exact_search

WINDOW_TOKENS, UNITS_PER_DOCUMENT = 16, 500


def write_corpus(folder: Path, n_units: int, n_questions: int) -> Path:
    """Documents of made-up words, and a file of questions, each with the quote that answers it."""
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(20_000)]
    rows = []
    n_documents = max(1, n_units // UNITS_PER_DOCUMENT)
    for number in range(n_documents):
        text = draw.choices(words, k=WINDOW_TOKENS * UNITS_PER_DOCUMENT)
        (folder / f"d{number}.txt").write_text(" ".join(text))
        for _ in range(-(-n_questions // n_documents)):
            at = draw.randrange(len(text) - 12)
            quote = " ".join(text[at : at + 12])
            reference = {"uri": f"d{number}.txt", "quote": quote}
            rows.append({"question": f"What about {quote[:40]}?", "references": [reference]})
    path = folder.parent / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[:n_questions]))
    return path


def figures(n_units: int, n_questions: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as scratch:
        folder, root = Path(scratch) / "corpus", str(Path(scratch) / "index")
        folder.mkdir()
        questions = write_corpus(folder, n_units, n_questions)
        encoder = {"encoder": "hashing", "hashing_dimension": 384}
        chunking = {"chunker": "fixed", "window_tokens": WINDOW_TOKENS, "index": "flat"}
        run_ingest(load_settings(None, {"input": [str(folder)], **encoder, **chunking}), root)
        texts = [json.loads(line)["question"] for line in questions.read_text().splitlines()]
        embedding = cpu_seconds(lambda: load_encoder(EncoderSettings(encoder="minilm")).encode_queries(texts), 3)
        arm = PublishedArm(root)
        asked = arm.encode(texts)
        ids, vectors = np.arange(n_units), np.random.default_rng(0).standard_normal((n_units, 384)).astype(np.float16)
        search = cpu_seconds(lambda: exact_search(ids, vectors, asked, 100), 3)
        hashing = cpu_seconds(lambda: arm.encode(texts), 3)
        n_found = evaluate(questions, root=root).n_questions
        whole = cpu_seconds(lambda: evaluate(questions, root=root), 3) - hashing
        ranked = cpu_seconds(lambda: arm.index.rank(asked, 100), 3)
        over = whole - ranked
        detail = (
            f"{n_found} questions, {n_units} units: evaluation {whole:.2f} CPU s without embedding, its search "
            f"{ranked:.2f}; embedding {embedding:.2f}, exact search {search:.2f}"
        )
        yield Figure("evaluating", "over (embedding + exact search)", over / (embedding + search), 0.1, True, detail)


def main() -> None:
    parser = part_parser(__doc__)
    parser.add_argument("--units", type=int, default=100_000, help="of the index")
    parser.add_argument("--questions", type=int, default=500, help="how many are asked")
    options = parser.parse_args()
    hand_over(figures(options.units, options.questions), options.json)


if __name__ == "__main__":
    main()

"""The public chunking evaluation of Chroma (github.com/brandonstarxel/chunking_evaluation), beside its published rows.

python -m benchmarks.chunking_evaluation FOLDER [--rows 200/0 250/0 250/125]
python -m benchmarks chunking_evaluation --folder FOLDER

FOLDER holds `questions_df.csv` and `corpora/*.md`. Chunks of langchain's recursive splitter are measured twice: as
that evaluator does (a chunk lies where its text first occurs, less a full stop at its end; the denominator of precision
counts overlapping chunks twice; IoU is N / (all chunk lengths + missed reference)), and exactly (true spans, unions).
Precision_omega of the published rows is that of the first way, to the digit; it needs no vectors. In the second it is
up to a point higher, since a chunk is not taken for an earlier one of the same text, and one that only borders on a
reference is left out. Search is exact in both. corpusmill's own recursive cutter comes below. Needs the extras bench
and minilm.
"""

import argparse
import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.measuring import Figure, hand_over
from models.encoder import load_encoder
from models.settings import EncoderSettings
from models.tokenizer import Tokenizer, load_tokenizer
from pipelines.evaluation.encoding import VectorMemo
from transforms.chunking import make_cutter
from transforms.evaluation.extent import Spans, extents
from transforms.extraction import extract_file
from transforms.indexing.searching import exact_search
from transforms.settings import ChunkingSettings, ReadingSettings

K = 5
SEPARATORS = ["\n\n", "\n", ".", "?", "!", " ", ""]
PUBLISHED = {"200/0": (75.7, 6.5, 31.2, 6.5), "250/0": (78.5, 5.4, 26.7, 5.4), "250/125": (78.7, 4.9, 21.9, 4.9)}
"""Recall, precision, precision_omega and IoU in percent of all-MiniLM-L6-v2 at k = 5, rows `Recursive`."""


class Chunk(NamedTuple):
    """A chunk with its true place in a corpus."""

    corpus: int
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Task:
    """Corpora and questions; the references are (corpus, start, end)."""

    corpora: Sequence[str]
    names: Sequence[str]
    questions: Sequence[str]
    references: Sequence[Sequence[tuple[int, int, int]]]


def load_task(folder: Path) -> Task:
    """The task in a folder as it is published."""
    paths = sorted((folder / "corpora").glob("*.md"))
    names = [path.stem for path in paths]
    corpora = [path.read_bytes().decode() for path in paths]
    with (folder / "questions_df.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    references = [
        [(names.index(row["corpus_id"]), one["start_index"], one["end_index"]) for one in json.loads(row["references"])]
        for row in rows
    ]
    return Task(corpora, names, [row["question"] for row in rows], references)


def langchain_chunks(task: Task, tokenizer: Tokenizer, size: int, overlap: int) -> list[Chunk]:
    """Recursive chunks, their lengths counted in word pieces with the special tokens."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    def length(text: str) -> int:
        return int(tokenizer.count([text])[0]) + tokenizer.overhead_tokens

    splitter = RecursiveCharacterTextSplitter(
        SEPARATORS, chunk_size=size, chunk_overlap=overlap, length_function=length
    )
    return [
        chunk for number, text in enumerate(task.corpora) for chunk in _placed(number, text, splitter.split_text(text))
    ]


def own_chunks(task: Task, tokenizer: Tokenizer, window_tokens: int, overlap_tokens: int) -> list[Chunk]:
    """Units of corpusmill's own recursive cutter."""
    settings = ChunkingSettings(chunker="recursive", window_tokens=window_tokens, overlap_tokens=overlap_tokens)
    cutter = make_cutter(settings, tokenizer)
    found = []
    for number, text in enumerate(task.corpora):
        (document,) = extract_file(io.BytesIO(text.encode()), "a.txt", ReadingSettings())
        assert document.snapshot is not None and len(document.snapshot.text) == len(text)
        found += [Chunk(number, unit.start, unit.end, unit.text) for unit in cutter.cut(document.snapshot).units]
    return found


def _placed(corpus: int, text: str, pieces: Sequence[str]) -> Iterator[Chunk]:
    start = -1
    for piece in pieces:
        start = text.index(piece, start + 1)
        yield Chunk(corpus, start, start + len(piece), piece)


def compatible(task: Task, chunks: Sequence[Chunk], top: np.ndarray) -> tuple[float, ...]:
    """Recall, precision, precision_omega and IoU in percent, as the published evaluator counts them."""
    places = _first_places(task, chunks)
    scores = []
    for references, ranked in zip(task.references, top, strict=True):
        gold = sum(end - start for _, start, end in references)
        shared = _shared(references, places[ranked])
        lengths = int((places[ranked][:, 2] - places[ranked][:, 1]).sum())
        missed = gold - _shared_sum(references, places[ranked])
        omega = _omega(references, places)
        scores.append((shared / gold, shared / lengths, omega, shared / (lengths + missed)))
    return tuple(100 * np.mean(scores, axis=0))


def _first_places(task: Task, chunks: Sequence[Chunk]) -> np.ndarray:
    """Where each chunk's text first occurs, without the full stop at its end, as that evaluator looks it up."""
    texts = [(chunk.corpus, chunk.text.removesuffix(".")) for chunk in chunks]
    starts = [(corpus, task.corpora[corpus].index(text), text) for corpus, text in texts]
    return np.array([(corpus, start, start + len(text)) for corpus, start, text in starts])


def _omega(references: Sequence[tuple[int, int, int]], places: np.ndarray) -> float:
    """Precision of every chunk that touches a reference: one that only ends where a reference begins counts too."""
    touching = places[_touches(references, places, 1)]
    all_of = np.concatenate([touching, np.array(references)])
    return _shared(references, touching) / _union(all_of)


def exact(task: Task, chunks: Sequence[Chunk], top: np.ndarray) -> tuple[float, ...]:
    """The same four from true spans and unions."""
    places = np.array([chunk[:3] for chunk in chunks])
    numbers = np.repeat(np.arange(len(top)), [len(references) for references in task.references])
    gold = Spans(numbers, *np.array([r for references in task.references for r in references]).T)
    asked = np.repeat(np.arange(len(top)), top.shape[1])
    found = extents(gold, Spans(asked, *places[top.ravel()].T), len(top))
    touching = [np.flatnonzero(_touches(references, places)) for references in task.references]
    owners = np.repeat(np.arange(len(top)), [len(rows) for rows in touching])
    best = extents(gold, Spans(owners, *places[np.concatenate(touching)].T), len(top))
    return tuple(100 * float(v.mean()) for v in (found.recall, found.precision, best.precision, found.iou))


def _touches(references: Sequence[tuple[int, int, int]], places: np.ndarray, margin: int = 0) -> np.ndarray:
    parts = [
        (places[:, 0] == c) & (places[:, 1] < end + margin) & (start < places[:, 2] + margin)
        for c, start, end in references
    ]
    return np.logical_or.reduce(parts)


def _parts(references: Sequence[tuple[int, int, int]], places: np.ndarray) -> list[tuple[int, int, int]]:
    return [
        (c, max(s, int(start)), min(e, int(end)))
        for c, s, e in references
        for corpus, start, end in places
        if corpus == c and max(s, start) < min(e, end)
    ]


def _shared(references: Sequence[tuple[int, int, int]], places: np.ndarray) -> int:
    return _union(np.array(_parts(references, places), np.int64).reshape(-1, 3))


def _shared_sum(references: Sequence[tuple[int, int, int]], places: np.ndarray) -> int:
    """Reference positions found, reference by reference."""
    return sum(_shared([reference], places) for reference in references)


def _union(places: np.ndarray) -> int:
    covered = set()
    for corpus, start, end in places.tolist():
        covered |= {(corpus, place) for place in range(start, end)}
    return len(covered)


def search(task: Task, chunks: Sequence[Chunk], memo: VectorMemo) -> np.ndarray:
    """The best `K` chunks of each question, int64 (q, K)."""
    vectors, _ = memo.vectors([chunk.text for chunk in chunks])
    queries = memo.encoder.encode_queries(task.questions).vectors.astype(np.float32)
    return exact_search(np.arange(len(chunks)), vectors, queries, K).ids


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="the published task")
    parser.add_argument("--rows", nargs="+", default=list(PUBLISHED), choices=list(PUBLISHED), help="published rows")
    parser.add_argument("--encoder", default="minilm", help="as in the settings")
    parser.add_argument(
        "--own", action=argparse.BooleanOptionalAction, default=True, help="corpusmill's own cutter too"
    )
    parser.add_argument("--json", action="store_true", help="figures as JSON lines for `python -m benchmarks`")
    options = parser.parse_args()
    settings = EncoderSettings(encoder=options.encoder)
    task, tokenizer, memo = load_task(options.folder), load_tokenizer(settings), VectorMemo(load_encoder(settings))
    figures: list[Figure] = []
    print(f"{'':30}{'recall':>8}{'precision':>11}{'p. omega':>10}{'IoU':>7}")
    for row in options.rows:
        size, overlap = map(int, row.split("/"))
        chunks = langchain_chunks(task, tokenizer, size, overlap)
        top = search(task, chunks, memo)
        _print(f"published recursive {row}", PUBLISHED[row])
        found = compatible(task, chunks, top)
        _print("  as that evaluator counts", found)
        figures += [_figure(row, found), _omega_figure(row, found)]
        _print(f"  exact, {len(chunks):,} chunks", exact(task, chunks, top))
        if options.own:
            own = own_chunks(task, tokenizer, size - tokenizer.overhead_tokens, overlap)
            _print(f"  corpusmill, {len(own):,} chunks", exact(task, own, search(task, own, memo)))
    if options.json:
        hand_over(figures, as_json=True)


def _figure(row: str, found: tuple[float, ...]) -> Figure:
    """How far the farthest of recall, precision and IoU lies from the published row."""
    off = max(abs(found[column] - PUBLISHED[row][column]) for column in (0, 1, 3))
    detail = f"recall {found[0]:.1f}, precision {found[1]:.1f}, omega {found[2]:.1f}, IoU {found[3]:.1f}"
    return Figure("chunking_evaluation", f"recursive {row}, off the published row", off, 0.5, True, detail, "points")


def _omega_figure(row: str, found: tuple[float, ...]) -> Figure:
    """How far precision_omega lies from the published one, both to one digit."""
    off = abs(round(found[2], 1) - PUBLISHED[row][2])
    return Figure(
        "chunking_evaluation", f"recursive {row}, omega off the published digit", off, 0.05, True, "", "points"
    )


def _print(name: str, values: Sequence[float]) -> None:
    recall, precision, omega, iou = values
    print(f"{name:30}{recall:8.1f}{precision:11.1f}{omega:10.1f}{iou:7.1f}", flush=True)


if __name__ == "__main__":
    main()

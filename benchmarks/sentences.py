"""Sentence splitting beside pysbd, blingfire and spaCy's sentencizer, those of them that are installed.

    python benchmarks/sentences.py ../shared/data/sentences

The folder holds `ud_sentences.json`, a list of {language, text, sentences: [[start, end], ...]}. Prints for each
language the F1 of sentence ends and of whole spans, in percent, and megabytes a CPU second.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from transforms.sentences import split_sentences

Span = tuple[int, int]
Splitter = Callable[[str, str], list[Span]]


def ours(text: str, language: str) -> list[Span]:
    return [(start, end) for start, end in split_sentences(text).tolist()]


def by_pysbd(text: str, language: str) -> list[Span]:
    import pysbd

    segmenter = pysbd.Segmenter(language=language[:2], clean=False, char_span=True)
    return [_stripped(text, span.start, span.end) for span in segmenter.segment(text)]


def by_blingfire(text: str, language: str) -> list[Span]:
    import blingfire

    return [_stripped(text, *span) for span in blingfire.text_to_sentences_and_offsets(text)[1]]


def by_spacy(text: str, language: str) -> list[Span]:
    import spacy

    pipe = spacy.blank(language[:2])
    pipe.add_pipe("sentencizer")
    pipe.max_length = len(text) + 1
    return [_stripped(text, sentence.start_char, sentence.end_char) for sentence in pipe(text).sents]


def splitters() -> Iterator[tuple[str, Splitter]]:
    yield "corpusmill", ours
    for name, splitter in (("pysbd", by_pysbd), ("blingfire", by_blingfire), ("spacy", by_spacy)):
        if find_spec(name):
            yield name, splitter


def f1(found: set[object], gold: set[object]) -> float:
    return 200 * len(found & gold) / (len(found) + len(gold))


def measure(splitter: Splitter, text: str, language: str, gold: list[Span], repeats: int) -> tuple[float, float, float]:
    """F1 of ends and of spans in percent, and megabytes of UTF-8 a CPU second over `repeats` copies of the text."""
    found = splitter(text, language)
    started = time.process_time()
    splitter("\n\n".join([text] * repeats), language)
    seconds = time.process_time() - started
    speed = repeats * len(text.encode()) / seconds / 1e6
    return f1({end for _, end in found}, {end for _, end in gold}), f1(set(found), set(gold)), speed


def _stripped(text: str, start: int, end: int) -> Span:
    kept = text[start:end].rstrip()
    return start + len(kept) - len(kept.lstrip()), start + len(kept)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with ud_sentences.json")
    parser.add_argument("--repeats", type=int, default=1, help="copies of each text for the speed (default 1)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("language  splitter    F1 ends  F1 spans  MB/CPU s")
    for entry in json.loads((arguments.folder / "ud_sentences.json").read_text("utf-8")):
        gold = [(start, end) for start, end in entry["sentences"]]
        for name, splitter in splitters():
            values = measure(splitter, entry["text"], entry["language"], gold, arguments.repeats)
            print(f"{entry['language']:8}  {name:10}" + "".join(f"{value:9.1f}" for value in values))


if __name__ == "__main__":
    main()

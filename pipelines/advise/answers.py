"""Where the answers of a questions file lie in a corpus, and how long they are."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from models.errors import SettingsError
from models.tokenizer import Tokenizer
from pipelines.evaluation.arms import Names
from pipelines.evaluation.corpus import Corpus
from pipelines.evaluation.gold import FOUND, check_questions
from transforms.evaluation.extent import Spans
from transforms.evaluation.locating import SearchedText, locate
from transforms.evaluation.questions import read_questions


@dataclass(frozen=True)
class Answers:
    """References as spans of the corpus's documents, their tokens int64 (n,), and what became of all by fate.

    `questions` are the texts of the questions that they answer.
    """

    spans: Spans
    n_tokens: NDArray[np.int64]
    fates: Counter[str]
    questions: Sequence[str] = ()


def find_answers(path: str | Path, corpus: Corpus, tokenizer: Tokenizer) -> Answers:
    """Every reference that is found; `SettingsError` where none is."""
    names = Names(check_questions(path).uris)
    names.add(pa.table({"uri": list(corpus.contents_by_uri), "content_id": list(corpus.contents_by_uri.values())}))
    contents = names.found()
    codes = {name: code for code, name in enumerate(corpus.snapshots)}
    searched = {name: SearchedText(corpus.snapshots[name].text) for name in set(contents.values())}
    fates = Counter[str]()
    rows: list[tuple[int, int, int, int]] = []
    texts: list[str] = []
    asked: list[str] = []
    for line, question in read_questions(path):
        for number, reference in enumerate(question.references, start=1):
            content_id = contents.get(reference.uri)
            if content_id is None:
                fates["document_missing"] += 1
                continue
            found = locate(reference, searched[content_id], f"{path}, line {line}: reference {number}")
            fates[found.fate] += 1
            if found.fate in FOUND:
                rows.append((len(rows), codes[content_id], found.start, found.end))
                texts.append(searched[content_id].text[found.start : found.end])
                asked.append(question.question)
    if not rows:
        raise SettingsError(f"{path}: none of its references is in the sample; give --sample the documents they name")
    spans = Spans(*np.array(rows, np.int64).T.copy())
    return Answers(spans, tokenizer.count(texts).astype(np.int64), fates, asked)

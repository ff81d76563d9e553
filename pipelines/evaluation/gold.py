"""The references of questions as spans of one arm's documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.errors import SettingsError
from pipelines.evaluation.arms import Arm
from transforms.evaluation.extent import Spans
from transforms.evaluation.locating import Fate, Located, SearchedText, locate
from transforms.evaluation.questions import Question, read_questions

FOUND: tuple[Fate, ...] = ("exact", "found", "moved")
NumberedQuestion = tuple[int, Question]


@dataclass(frozen=True)
class QuestionsFile:
    """A questions file that has been read through once: every line of it is sound."""

    path: Path
    n_questions: int
    uris: frozenset[str]


@dataclass(frozen=True)
class Gold:
    """The references of a block of questions that were found, and what became of each reference, by question.

    `contents` names what each question's references lie in.
    """

    spans: Spans
    fates: Sequence[Sequence[Fate]]
    contents: Sequence[frozenset[str]]

    @property
    def is_whole(self) -> NDArray[np.bool_]:
        """Whether all references of a question were found, bool (q,)."""
        return np.array([all(fate in FOUND for fate in fates) for fates in self.fates], np.bool_)


def check_questions(path: str | Path) -> QuestionsFile:
    """The file read through, a line at a time, before anything is paid for. `SettingsError` names what is wrong."""
    n_questions = 0
    uris: set[str] = set()
    for _, question in read_questions(path):
        n_questions += 1
        uris.update(reference.uri for reference in question.references)
    if not n_questions:
        raise SettingsError(f"questions file {str(path)!a} has no questions; write one JSON object a line")
    return QuestionsFile(Path(path), n_questions, frozenset(uris))


class GoldFinder:
    """Finds references in the documents of `arm`. Texts of a block stay for the next one, which often needs them."""

    def __init__(self, arm: Arm, questions: QuestionsFile) -> None:
        self._arm, self._path = arm, questions.path
        self._contents = arm.resolve(questions.uris)
        self._texts: dict[str, SearchedText] = {}
        if not self._contents:
            first = min(questions.uris)
            raise SettingsError(
                f"{questions.path}: none of its {len(questions.uris)} documents is in {arm.name}, such as {first!a}; "
                "a uri is that of a hit, or the end of it after a slash"
            )

    def find(self, block: Sequence[NumberedQuestion]) -> Gold:
        """The references of a block of questions."""
        self._load({self._contents[r.uri] for _, q in block for r in q.references if r.uri in self._contents})
        rows: list[tuple[int, int, int, int]] = []
        fates: list[list[Fate]] = []
        for number, (line, question) in enumerate(block):
            located = self._locate(line, question)
            fates.append([place.fate for _, place in located])
            found = [(content_id, place) for content_id, place in located if place.fate in FOUND]
            rows += [(number, self._arm.document_code(name), place.start, place.end) for name, place in found]
        spans = Spans(*np.array(rows, np.int64).reshape(-1, 4).T.copy())
        return Gold(spans, fates, [self._contents_of(question) for _, question in block])

    def _load(self, content_ids: set[str]) -> None:
        kept = {name: text for name, text in self._texts.items() if name in content_ids}
        read = self._arm.texts(content_ids - kept.keys())
        self._texts = kept | {name: SearchedText(text) for name, text in read.items()}

    def _locate(self, line: int, question: Question) -> list[tuple[str, Located]]:
        located = []
        for number, reference in enumerate(question.references, start=1):
            content_id = self._contents.get(reference.uri)
            if content_id is None:
                located.append(("", Located(0, 0, "document_missing")))
            else:
                place = f"{self._path}, line {line}: reference {number}"
                located.append((content_id, locate(reference, self._texts[content_id], place)))
        return located

    def _contents_of(self, question: Question) -> frozenset[str]:
        return frozenset(self._contents.get(reference.uri, "") for reference in question.references)

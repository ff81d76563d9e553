"""One pass over a questions file for any number of arms. A question without a reference in any is left out of all."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.errors import SettingsError
from pipelines.evaluation.gold import Gold, GoldFinder, NumberedQuestion, QuestionsFile
from pipelines.evaluation.measuring import Measurer, Measures, blocks_of
from pipelines.evaluation.report import QUESTION_CHARS, ArmReport, Asked, Conventions, estimates_of
from transforms.evaluation.extent import Spans


@dataclass(frozen=True)
class PassPart:
    """Some questions of a pass: those that were asked, and by arm the fates of references, measures and misses."""

    asked: Asked
    fates: Sequence[Counter[str]]
    n_different_texts: int
    measured: Sequence[tuple[Mapping[str, Measures], Counter[str]]]


class QuestionPass:
    """Asks the arms of `measurers` every question. `contents` names, by question, the first arm's texts that answer.

    `n_different_texts` counts questions about documents whose texts are not the same in all arms.
    """

    def __init__(
        self,
        questions: QuestionsFile,
        measurers: Sequence[Measurer],
        max_lost_share: float,
        finders: Sequence[GoldFinder] | None = None,
    ) -> None:
        self.measurers = measurers
        self.contents: list[frozenset[str]] = []
        self.n_different_texts = 0
        self.questions, self._max_lost_share = questions, max_lost_share
        self._finders = finders or [GoldFinder(measurer.arm, questions) for measurer in measurers]
        self._fates: list[Counter[str]] = [Counter() for _ in measurers]
        self._asked = Asked([], [], [], [])

    def run(self) -> Asked:
        """Ask them all. `SettingsError` where more than `max_lost_share` of the questions lack a reference."""
        for block in blocks_of(self.questions):
            self.ask(block)
        return self.finish()

    def finish(self) -> Asked:
        """What was asked; `SettingsError` as `run`."""
        self._check_losses()
        return self._asked

    def part(self) -> "PassPart":
        """What was asked so far, to be taken up elsewhere."""
        measured = [(measurer.measures, measurer.misses) for measurer in self.measurers]
        return PassPart(self._asked, self._fates, self.n_different_texts, measured)

    def take(self, part: "PassPart") -> None:
        """Go on as if the questions of `part`, the next ones, had been asked here."""
        for own, more in zip(vars(self._asked).values(), vars(part.asked).values(), strict=True):
            own.extend(more)
        for fates, found in zip(self._fates, part.fates, strict=True):
            fates.update(found)
        self.n_different_texts += part.n_different_texts
        for measurer, (measures, misses) in zip(self.measurers, part.measured, strict=True):
            measurer.take(measures, misses)

    def reports(self, conventions: Conventions) -> list[ArmReport]:
        """What was measured of each arm."""
        return [self._report(number, conventions) for number in range(len(self.measurers))]

    def ask(self, block: list[NumberedQuestion]) -> None:
        """Ask the next questions."""
        golds, is_kept = self._located(block)
        for fates, gold in zip(self._fates, golds, strict=True):
            fates.update(fate for of_question in gold.fates for fate in of_question)
        self._note(block, is_kept.tolist(), golds)
        kept = [question for question, keep in zip(block, is_kept, strict=True) if keep]
        if kept:
            for measurer, gold in zip(self.measurers, golds, strict=True):
                kept_contents = [names for names, keep in zip(gold.contents, is_kept, strict=True) if keep]
                measurer.measure(kept, _renumbered(gold.spans, is_kept), frozenset().union(*kept_contents))

    def kept(self, block: list[NumberedQuestion]) -> list[str]:
        """The questions of a block that have all their references in every arm."""
        return [question.question for (_, question), keep in zip(block, self._located(block)[1], strict=True) if keep]

    def _located(self, block: list[NumberedQuestion]) -> tuple[list[Gold], NDArray[np.bool_]]:
        golds = [finder.find(block) for finder in self._finders]
        return golds, np.logical_and.reduce([gold.is_whole for gold in golds])

    def _note(self, block: list[NumberedQuestion], is_kept: list[bool], golds: list[Gold]) -> None:
        for number, (line, question) in enumerate(block):
            if not is_kept[number]:
                self._asked.left_out.append(line)
                continue
            self._asked.lines.append(line)
            self._asked.ids.append(question.id)
            self._asked.questions.append(question.question[:QUESTION_CHARS])
            self.contents.append(golds[0].contents[number])
            self.n_different_texts += len({gold.contents[number] for gold in golds}) > 1

    def _check_losses(self) -> None:
        lost, n_questions = self._asked.left_out, self.questions.n_questions
        if len(lost) + len(self._asked.lines) != n_questions:
            raise SettingsError(f"{self.questions.path} was not the same when read again; name a file that stays")
        if lost and (len(lost) > self._max_lost_share * n_questions or not self._asked.lines):
            fates = sum(self._fates[:2], Counter[str]())
            counts = ", ".join(f"{fates[name]} {name}" for name in ("lost", "ambiguous", "document_missing"))
            remedy = " or raise --max-lost-share" if self._asked.lines else ""
            raise SettingsError(
                f"{self.questions.path}: {len(lost)} of {n_questions} questions lack a reference (first in line "
                f"{lost[0]}; references: {counts}), above max_lost_share = {self._max_lost_share:g}; correct the "
                f"references{remedy}"
            )

    def _report(self, number: int, conventions: Conventions) -> ArmReport:
        measurer = self.measurers[number]
        arm, measures = measurer.arm, measurer.measures
        estimates = estimates_of(measures, conventions)
        fates = dict(sorted(self._fates[number].items()))
        misses = dict(measurer.misses)
        return ArmReport(arm.name, arm.description, fates, misses, measurer.unit_tokens, measures, estimates)


def _renumbered(gold: Spans, is_kept: NDArray[np.bool_]) -> Spans:
    """Without the references of questions that are left out, the others' questions counted anew."""
    numbers = np.cumsum(is_kept) - 1
    stays = is_kept[gold.questions]
    spans = Spans(*(values[stays] for values in gold))
    return spans._replace(questions=numbers[spans.questions])

"""One pass over a questions file for any number of arms. A question without a reference in any is left out of all."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.errors import SettingsError
from pipelines.evaluation.gold import Gold, GoldFinder, NumberedQuestion, QuestionsFile
from pipelines.evaluation.measuring import Measurer, blocks_of
from pipelines.evaluation.report import QUESTION_CHARS, ArmReport, Asked, Conventions, estimates_of
from transforms.evaluation.extent import Spans


class QuestionPass:
    """Asks the arms of `measurers` every question. `contents` names, by question, the first arm's texts that answer.

    `n_different_texts` counts questions about documents whose texts are not the same in all arms.
    """

    def __init__(self, questions: QuestionsFile, measurers: Sequence[Measurer], max_lost_share: float) -> None:
        self.measurers = measurers
        self.contents: list[frozenset[str]] = []
        self.n_different_texts = 0
        self._questions, self._max_lost_share = questions, max_lost_share
        self._finders = [GoldFinder(measurer.arm, questions) for measurer in measurers]
        self._fates: list[Counter[str]] = [Counter() for _ in measurers]
        self._asked = Asked([], [], [], [])

    def run(self) -> Asked:
        """Ask them all. `SettingsError` where more than `max_lost_share` of the questions lack a reference."""
        for block in blocks_of(self._questions):
            self._take(block)
        self._check_losses()
        return self._asked

    def reports(self, conventions: Conventions) -> list[ArmReport]:
        """What was measured of each arm."""
        return [self._report(number, conventions) for number in range(len(self.measurers))]

    def _take(self, block: list[NumberedQuestion]) -> None:
        golds = [finder.find(block) for finder in self._finders]
        for fates, gold in zip(self._fates, golds, strict=True):
            fates.update(fate for of_question in gold.fates for fate in of_question)
        is_kept = np.logical_and.reduce([gold.is_whole for gold in golds])
        self._note(block, is_kept.tolist(), golds)
        kept = [question for question, keep in zip(block, is_kept, strict=True) if keep]
        if kept:
            for measurer, gold in zip(self.measurers, golds, strict=True):
                kept_contents = [names for names, keep in zip(gold.contents, is_kept, strict=True) if keep]
                measurer.measure(kept, _renumbered(gold.spans, is_kept), frozenset().union(*kept_contents))

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
        lost, n_questions = self._asked.left_out, self._questions.n_questions
        if len(lost) + len(self._asked.lines) != n_questions:
            raise SettingsError(f"{self._questions.path} was not the same when read again; name a file that stays")
        if lost and (len(lost) > self._max_lost_share * n_questions or not self._asked.lines):
            fates = sum(self._fates[:2], Counter[str]())
            counts = ", ".join(f"{fates[name]} {name}" for name in ("lost", "ambiguous", "document_missing"))
            raise SettingsError(
                f"{self._questions.path}: {len(lost)} of {n_questions} questions lack a reference (first in line "
                f"{lost[0]}; references: {counts}), above max_lost_share = {self._max_lost_share:g}; correct the "
                "references or raise --max-lost-share"
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

"""Evaluation of an index or a policy, alone or against another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.encoder import load_encoder
from models.errors import SettingsError
from models.settings import EncoderSettings
from models.tokenizer import Tokenizer, load_budget_tokenizer
from pipelines.config import Settings, load_settings
from pipelines.evaluation.arms import Arm
from pipelines.evaluation.asking import QuestionPass
from pipelines.evaluation.comparing import Comparison, compare_measures
from pipelines.evaluation.corpus import Corpus, read_corpus
from pipelines.evaluation.encoding import VectorMemo
from pipelines.evaluation.gold import QuestionsFile, check_questions
from pipelines.evaluation.measuring import Cuts, Measurer
from pipelines.evaluation.policy import PolicyArm
from pipelines.evaluation.published import PublishedArm
from pipelines.evaluation.report import ArmReport, Asked, Conventions, EvaluationReport
from pipelines.progress import Watch
from transforms.evaluation.statistics import CONFIDENCE, N_RESAMPLES, SEED, matched_k
from transforms.settings import ReadingSettings

MAX_LOST_SHARE = 0.1
_POLICY_SUFFIXES = (".toml", ".yaml", ".yml")


def evaluate(
    questions: str | Path,
    root: str | None = None,
    input: str | Sequence[str] = (),
    policy: str | Path | None = None,
    against: str | None = None,
    *,
    version: str | None = None,
    k: int = 5,
    budget_tokens: int = 1000,
    count_with: str = "encoder",
    max_lost_share: float = MAX_LOST_SHARE,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
    overrides: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
    beam_args: Sequence[str] | None = None,
) -> EvaluationReport:
    """Recall, precision and IoU by extent, for the questions in a file.

    :param root: folder of a published index, searched as it is served; `version` names one that is not current.
    :param input: file patterns of a corpus that is cut and encoded in memory, and searched exactly, instead of `root`.
    :param policy: settings file for `input`; without one, the defaults hold.
    :param against: another root or settings file, for a paired comparison.
    :param budget_tokens: tokens of retrieved text, counted with `count_with`: 'encoder' (that of the first arm) or
        an LLM's, such as 'tiktoken:cl100k_base'. A unit that does not fit whole is cut there.
    :param max_lost_share: share of the questions that may be left out because a reference is lost or ambiguous.
    :param overrides: settings by name that go over the policies, and over the encoder settings of a root.
    :param beam_args: Beam's own flags: roots are then searched shard by shard in a pipeline. Workers read the questions
        file and the roots themselves; what they find passes through `--temp_location`, else a folder of this machine.
    :raises SettingsError: for a mistake in what is asked, in the questions, or in a policy.
    """
    patterns = (input,) if isinstance(input, str) else tuple(input)
    _check_request(root, patterns, policy, against)
    if k < 1 or budget_tokens < 1:
        raise SettingsError(f"k = {k} and budget_tokens = {budget_tokens} must be at least 1")
    asked = check_questions(questions)
    maker = _ArmMaker(patterns, dict(overrides or {}), watch)
    arms = [maker.published(root, version) if root is not None else maker.policy(policy)]
    if against is not None:
        arms.append(maker.any(against))
    counter = load_budget_tokenizer(count_with, arms[0].tokenizer)
    conventions = Conventions(Cuts(k, budget_tokens), count_with, CONFIDENCE, n_resamples, seed)
    evaluation = _Evaluation(asked, arms, counter, conventions, max_lost_share)
    return evaluation.run() if beam_args is None else evaluation.run_scattered(beam_args)


def _is_policy(name: str) -> bool:
    """Whether a path is a settings file, by its suffix, and not the folder of an index."""
    return name.endswith(_POLICY_SUFFIXES)


def _check_request(root: str | None, patterns: tuple[str, ...], policy: str | Path | None, against: str | None) -> None:
    wants_corpus = bool(patterns) or policy is not None
    if root is None and not wants_corpus:
        raise SettingsError("nothing to evaluate: name the folder of an index (--root) or a corpus (--input, --policy)")
    if root is not None and policy is not None:
        raise SettingsError(f"--root {root!a} and --policy {str(policy)!a}: name one, and the other after --against")
    if root is not None and patterns and not (against and _is_policy(against)):
        raise SettingsError(f"--root {root!a} has its own corpus; leave out --input, or name a policy after --against")
    own = root if root is not None else policy
    if against is not None and own is not None and str(own) == against:
        raise SettingsError(f"--against {against!a} is what it would be compared with; name another one")


@dataclass
class _ArmMaker:
    """Makes arms; policies on the same documents share their texts, those with the same encoder their vectors."""

    patterns: tuple[str, ...]
    overrides: Mapping[str, Any]
    watch: Watch | None
    _corpora: dict[ReadingSettings, Corpus] = field(default_factory=dict)
    _memos: dict[EncoderSettings, VectorMemo] = field(default_factory=dict)

    def any(self, name: str) -> Arm:
        """The arm that a path means."""
        return self.policy(name) if _is_policy(name) else self.published(name, None)

    def published(self, root: str, version: str | None) -> Arm:
        flags = {name: value for name, value in self.overrides.items() if name in EncoderSettings.model_fields}
        if not flags:
            return PublishedArm(root, version)
        stored = PublishedArm(root, version).encoder_settings.model_dump()
        return PublishedArm(root, version, load_settings(None, stored | flags).encoder)

    def policy(self, file: str | Path | None) -> Arm:
        given = {"input": list(self.patterns)} if self.patterns else {}
        settings = load_settings(file, {**self.overrides, **given})
        if settings.reading not in self._corpora:
            self._corpora[settings.reading] = read_corpus(settings.reading)
        name = str(file) if file is not None else "default policy"
        return PolicyArm(name, settings, self._corpora[settings.reading], self._memo(settings))

    def _memo(self, settings: Settings) -> VectorMemo:
        if settings.encoder not in self._memos:
            self._memos[settings.encoder] = VectorMemo(load_encoder(settings.encoder), self.watch)
        return self._memos[settings.encoder]


class _Evaluation:
    """One pass over the questions for one arm or two."""

    def __init__(
        self,
        questions: QuestionsFile,
        arms: Sequence[Arm],
        counter: Tokenizer,
        conventions: Conventions,
        max_lost_share: float,
    ) -> None:
        self._conventions = conventions
        self._unit_tokens = [arm.mean_unit_tokens(counter) for arm in arms]
        parts = zip(arms, self._cuts(), self._unit_tokens, strict=True)
        measurers = [Measurer(arm, cuts, counter, unit_tokens) for arm, cuts, unit_tokens in parts]
        self._pass = QuestionPass(questions, measurers, max_lost_share)

    def run(self) -> EvaluationReport:
        return self._report(self._pass.run())

    def _report(self, asked: Asked) -> EvaluationReport:
        reports = self._pass.reports(self._conventions)
        return EvaluationReport(self._conventions, asked, reports, self._compare(reports))

    def run_scattered(self, beam_args: Sequence[str]) -> EvaluationReport:
        """The same, by a Beam pipeline."""
        from pipelines.evaluation.scattering import ask_scattered

        return self._report(ask_scattered(self._pass, self._conventions.token_counter, beam_args))

    def _cuts(self) -> list[Cuts]:
        cuts = self._conventions.cuts
        if len(self._unit_tokens) == 1:
            return [cuts]
        matched = matched_k(cuts.k, *self._unit_tokens)
        return [cuts, Cuts(cuts.k, cuts.budget_tokens, matched)]

    def _compare(self, reports: Sequence[ArmReport]) -> Comparison | None:
        if len(reports) == 1:
            return None
        this, other = (report.measures for report in reports)
        conventions = self._conventions
        differences = compare_measures(this, other, conventions.n_resamples, conventions.seed, conventions.confidence)
        matched = self._pass.measurers[1].cuts.matched_k
        assert matched is not None
        unit_tokens = (self._unit_tokens[0], self._unit_tokens[1])
        return Comparison(differences, unit_tokens, matched, self._pass.n_different_texts)

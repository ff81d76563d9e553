"""An evaluation of published versions as a Beam pipeline: blocks of questions, shard by shard, block by block.

    blocks ─> Encode ─> (arm, shard) ─ group ─> Search ─> block ─ group ─> Measure ─> files

A worker holds one shard, or one block with what all shards found for it: numbers, and no texts. The driver takes the
blocks up in the order of the questions, so that nothing depends on who measured what.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, Tuple  # noqa: UP035 - Beam's type hints

import apache_beam as beam
import msgspec
import numpy as np
from numpy.typing import NDArray

from models.errors import RefusedError, SettingsError
from models.settings import EncoderSettings
from models.tokenizer import load_budget_tokenizer, load_tokenizer
from pipelines.beam_options import beam_arguments
from pipelines.evaluation.asking import PassPart, QuestionPass
from pipelines.evaluation.gold import GoldFinder, NumberedQuestion, QuestionsFile, check_questions
from pipelines.evaluation.measuring import METRICS, QUESTIONS_AT_ONCE, Cuts, Measurer
from pipelines.evaluation.passing import passing_folder
from pipelines.evaluation.published import PublishedArm
from pipelines.evaluation.report import Asked
from pipelines.evaluation.scattered import Found, ScatteredArm, sizes_asked
from pipelines.ingest import local_root
from pipelines.run_graph import run_pipeline
from transforms.evaluation.questions import question_places, read_questions
from transforms.store.files import Store

Keyed = Tuple[int, Any]  # noqa: UP006
ByShard = Tuple[Tuple[int, int], Any]  # noqa: UP006

_REMEDY = "nothing was written to the roots; run it again"


class ArmPlace(NamedTuple):
    """A version and how it is cut: what a worker needs to open it and to measure."""

    root: str
    version: str
    encoder: EncoderSettings
    cuts: Cuts
    unit_tokens: float
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Job:
    """What travels to every worker. `token_counter` names whose tokens fill the budget, `folder` takes the parts."""

    questions: str
    arms: tuple[ArmPlace, ...]
    token_counter: str
    folder: str


class Block(NamedTuple):
    """Up to `n_questions` from a line on, which begins at `offset`."""

    number: int
    offset: int
    first_line: int
    n_questions: int


class Encoded(NamedTuple):
    """Vectors of the questions of a block that are asked of one arm, float32 (q, d), and the shards to search."""

    block: Block
    arm: int
    vectors: NDArray[np.float32]
    n_over_limit: int
    shards: tuple[int, ...]


class PartFile(msgspec.Struct, frozen=True):
    """What became of one block: `PassPart` in plain numbers, and the questions over the limit of each arm's encoder."""

    lines: list[int]
    ids: list[str]
    questions: list[str]
    left_out: list[int]
    fates: list[dict[str, int]]
    n_different_texts: int
    measures: list[dict[str, list[list[float]]]]
    misses: list[dict[str, int]]
    over_limit: list[int]


def ask_scattered(asking: QuestionPass, token_counter: str, beam_args: Sequence[str]) -> Asked:
    """What `QuestionPass.run` does, by a pipeline. Raises as it does, and `RefusedError` where a worker fails.

    :param token_counter: whose tokens fill the budget, as `load_budget_tokenizer` names it.
    """
    chosen = beam_arguments(beam_args)
    with passing_folder(chosen) as folder:
        job = Job(str(asking.questions.path.absolute()), _places(asking), token_counter, folder)
        run_pipeline(lambda pipeline: _build(pipeline, job), chosen, _REMEDY)
        for block in _blocks(job.questions):
            part, over_limit = _read_part(job, block)
            asking.take(part)
            for measurer, n_over in zip(asking.measurers, over_limit, strict=True):
                _published(measurer).index.outcomes["queries_over_limit"] += n_over
    return asking.finish()


def _places(asking: QuestionPass) -> tuple[ArmPlace, ...]:
    places = []
    for measurer in asking.measurers:
        arm, cuts, unit_tokens = _published(measurer), measurer.cuts, measurer.unit_tokens
        sizes = sizes_asked(arm, cuts, unit_tokens)
        root = local_root(arm.name)
        places.append(ArmPlace(root, arm.index.version, arm.encoder_settings, cuts, unit_tokens, sizes))
    return tuple(places)


def _published(measurer: Measurer) -> PublishedArm:
    if not isinstance(measurer.arm, PublishedArm):
        raise SettingsError(
            f"{measurer.arm.name!a} is a policy, which is measured in memory; ingest the corpus with it and name the "
            "roots, or leave out Beam's flags"
        )
    return measurer.arm


def _blocks(questions: str) -> Iterator[Block]:
    for number, (line, offset) in enumerate(islice(question_places(questions), 0, None, QUESTIONS_AT_ONCE)):
        yield Block(number, offset, line, QUESTIONS_AT_ONCE)


def _questions_of(job: Job, block: Block) -> list[NumberedQuestion]:
    return list(islice(read_questions(job.questions, block.offset, block.first_line), block.n_questions))


def _part_name(block: Block) -> str:
    return f"part-{block.number:09d}.msgpack"


def _read_part(job: Job, block: Block) -> tuple[PassPart, list[int]]:
    data = Store(job.folder).find_named(_part_name(block))
    if data is None:
        raise RefusedError(f"block {block.number} of the questions has no result; {_REMEDY}")
    found = msgspec.msgpack.decode(data, type=PartFile)
    asked = Asked(found.lines, found.ids, found.questions, found.left_out)
    tables = [{name: np.array(rows).reshape(-1, len(METRICS)) for name, rows in arm.items()} for arm in found.measures]
    measured = list(zip(tables, map(Counter[str], found.misses), strict=True))
    return PassPart(
        asked, [Counter(fates) for fates in found.fates], found.n_different_texts, measured
    ), found.over_limit


def _write_part(job: Job, block: Block, part: PassPart, over_limit: list[int]) -> None:
    asked = part.asked
    plain = PartFile(
        asked.lines, asked.ids, asked.questions, asked.left_out,
        [dict(fates) for fates in part.fates],
        part.n_different_texts,
        [{name: table.tolist() for name, table in measures.items()} for measures, _ in part.measured],
        [dict(misses) for _, misses in part.measured],
        over_limit,
    )  # fmt: skip
    Store(job.folder).write_named(_part_name(block), msgspec.msgpack.encode(plain))


def _build(pipeline: beam.Pipeline, job: Job) -> None:
    encoded = (
        pipeline
        | "Blocks" >> beam.Create(list(_blocks(job.questions)))
        | "SpreadBlocks" >> beam.Reshuffle()
        | "Encode" >> beam.ParDo(_Encode(job)).with_output_types(Keyed)
    )
    found = (
        encoded
        | "ToShards" >> beam.FlatMap(_to_shards, job).with_output_types(ByShard)
        | "ByShard" >> beam.GroupByKey()
        | "Search" >> beam.ParDo(_Search(job)).with_output_types(Keyed)
    )
    (
        (encoded, found)
        | "Together" >> beam.Flatten()
        | "ByBlock" >> beam.GroupByKey()
        | "Measure" >> beam.ParDo(_Measure(job)).with_output_types(int)
    )


def _to_shards(keyed: Keyed, job: Job) -> Iterator[ByShard]:
    encoded = keyed[1]
    if len(encoded.vectors):
        for number in encoded.shards:
            yield (encoded.arm, number), encoded


class _Tools:
    """The arms of a job and what finds references in them; opened when they are needed."""

    def __init__(self, job: Job) -> None:
        first = load_tokenizer(job.arms[0].encoder)
        self.counter = load_budget_tokenizer(job.token_counter, first)
        self.arms = [ScatteredArm(place.root, place.version, place.encoder, self.counter) for place in job.arms]
        self._job = job

    @cached_property
    def _finding(self) -> tuple[QuestionsFile, list[GoldFinder]]:
        questions = check_questions(self._job.questions)
        return questions, [GoldFinder(arm, questions) for arm in self.arms]

    def asking(self) -> QuestionPass:
        """A pass over some of the questions; who takes up its part judges what is lost."""
        questions, finders = self._finding
        measurers = [
            Measurer(arm, place.cuts, self.counter, place.unit_tokens)
            for arm, place in zip(self.arms, self._job.arms, strict=True)
        ]
        return QuestionPass(questions, measurers, 1.0, finders)


class _Working(beam.DoFn):
    def __init__(self, job: Job) -> None:
        self._job = job

    def setup(self) -> None:
        # Of each step its own: an arm holds the block that it is asked about.
        self._tools = _Tools(self._job)


class _Encode(_Working):
    """Blocks in; for each arm the vectors of the questions that are asked, keyed by the block's number."""

    def process(self, block: Any) -> Iterator[Keyed]:
        block = Block(*block)
        texts = self._tools.asking().kept(_questions_of(self._job, block))
        for number, arm in enumerate(self._tools.arms):
            before = arm.index.outcomes["queries_over_limit"]
            vectors = arm.index.encode(texts) if texts else np.empty((0, 0), np.float32)
            n_over = arm.index.outcomes["queries_over_limit"] - before
            yield block.number, Encoded(block, number, vectors, n_over, tuple(arm.shard_numbers))


class _Search(_Working):
    """The vectors of many blocks for one shard in; what it has for each, keyed by the block's number."""

    def process(self, group: Tuple[Tuple[int, int], Iterable[Any]]) -> Iterator[Keyed]:  # noqa: UP006
        (arm, shard), blocks = group
        for encoded in blocks:
            for n in self._job.arms[arm].sizes:
                yield encoded.block.number, (arm, n, self._tools.arms[arm].search(shard, encoded.vectors, n))


class _Measure(_Working):
    """All that there is of a block in; its part is written, and its number goes out."""

    def process(self, group: Tuple[int, Iterable[Any]]) -> Iterator[int]:  # noqa: UP006
        values = list(group[1])
        encoded = {value.arm: value for value in values if isinstance(value, Encoded)}
        found: dict[int, dict[int, list[Found]]] = {number: {} for number in encoded}
        for arm, n, part in (value for value in values if not isinstance(value, Encoded)):
            found[arm].setdefault(n, []).append(part)
        for number, arm in enumerate(self._tools.arms):
            arm.hand_over(encoded[number].vectors, found[number])
        block, asking = encoded[0].block, self._tools.asking()
        asking.ask(_questions_of(self._job, block))
        over_limit = [encoded[number].n_over_limit for number in range(len(encoded))]
        _write_part(self._job, block, asking.part(), over_limit)
        yield block.number

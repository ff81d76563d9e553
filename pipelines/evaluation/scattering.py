"""An evaluation of published versions as a Beam pipeline: blocks of questions, shard by shard, block by block.

    blocks ─> Encode ─> (arm, shard) ─ group ─> Search ─> block ─ group ─> Measure ─> files

A worker holds one shard, or one block with what all shards found for it: numbers, and no texts. Vectors and what was
found go through files of the passing folder, and only their names are grouped. The driver takes the blocks up in the
order of the questions, so that nothing depends on who measured what.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, Tuple  # noqa: UP035 - Beam's type hints

import apache_beam as beam
import numpy as np
from numpy.typing import NDArray

from models.errors import SettingsError
from models.settings import EncoderSettings
from models.tokenizer import load_budget_tokenizer, load_tokenizer
from pipelines.beam_options import beam_arguments
from pipelines.evaluation.asking import QuestionPass
from pipelines.evaluation.gold import GoldFinder, NumberedQuestion, QuestionsFile, check_questions
from pipelines.evaluation.measuring import QUESTIONS_AT_ONCE, Cuts, Measurer
from pipelines.evaluation.parts import read_part, write_part
from pipelines.evaluation.passing import passing_folder, read_arrays, write_arrays
from pipelines.evaluation.published import PublishedArm
from pipelines.evaluation.report import Asked
from pipelines.evaluation.scattered import Found, ScatteredArm, from_arrays, sizes_asked, to_arrays
from pipelines.ingest import local_root
from pipelines.run_graph import run_pipeline
from transforms.evaluation.questions import question_places, read_questions

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
    """The questions of a block that are asked of one arm lie encoded in a file; and the shards to search."""

    block: Block
    arm: int
    n_questions: int
    n_over_limit: int
    shards: tuple[int, ...]


class Hits(NamedTuple):
    """What `shard` of an arm has for a block, when asked for `n` units a question, lies in a file."""

    block: int
    arm: int
    n: int
    shard: int


def ask_scattered(asking: QuestionPass, token_counter: str, beam_args: Sequence[str]) -> Asked:
    """What `QuestionPass.run` does, by a pipeline. Raises as it does, and `RefusedError` where a worker fails.

    :param token_counter: whose tokens fill the budget, as `load_budget_tokenizer` names it.
    """
    chosen = beam_arguments(beam_args)
    with passing_folder(chosen) as folder:
        job = Job(str(asking.questions.path.absolute()), _places(asking), token_counter, folder)
        run_pipeline(lambda pipeline: _build(pipeline, job), chosen, _REMEDY)
        for block in _blocks(job.questions):
            part, over_limit = read_part(job.folder, block.number)
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
    if encoded.n_questions:
        for number in encoded.shards:
            yield (encoded.arm, number), encoded


def _write_vectors(job: Job, block: int, arm: int, vectors: NDArray[np.float32]) -> None:
    write_arrays(job.folder, _vectors_name(block, arm), {"vectors": vectors})


def _read_vectors(job: Job, block: int, arm: int) -> NDArray[np.float32]:
    return read_arrays(job.folder, _vectors_name(block, arm))["vectors"]


def _vectors_name(block: int, arm: int) -> str:
    return f"vectors-{block:09d}-{arm}.npz"


def _hits_name(hits: Hits) -> str:
    return f"hits-{hits.block:09d}-{hits.arm}-{hits.n}-{hits.shard}.npz"


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
    """Blocks in; for each arm that the questions which are asked are encoded, keyed by the block's number."""

    def process(self, block: Any) -> Iterator[Keyed]:
        block = Block(*block)
        texts = self._tools.asking().kept(_questions_of(self._job, block))
        for number, arm in enumerate(self._tools.arms):
            before = arm.index.outcomes["queries_over_limit"]
            vectors = arm.index.encode(texts) if texts else np.empty((0, 0), np.float32)
            n_over = arm.index.outcomes["queries_over_limit"] - before
            _write_vectors(self._job, block.number, number, vectors)
            yield block.number, Encoded(block, number, len(texts), n_over, tuple(arm.shard_numbers))


class _Search(_Working):
    """The blocks that one shard is to be asked in; that it has been asked, keyed by the block's number."""

    def process(self, group: Tuple[Tuple[int, int], Iterable[Any]]) -> Iterator[Keyed]:  # noqa: UP006
        (arm, shard), blocks = group
        for encoded in blocks:
            block = encoded.block.number
            vectors = _read_vectors(self._job, block, arm)
            for n in self._job.arms[arm].sizes:
                hits = Hits(block, arm, n, shard)
                found = self._tools.arms[arm].search(shard, vectors, n)
                write_arrays(self._job.folder, _hits_name(hits), to_arrays(found))
                yield block, hits


class _Measure(_Working):
    """All that there is of a block in; its part is written, and its number goes out."""

    def process(self, group: Tuple[int, Iterable[Any]]) -> Iterator[int]:  # noqa: UP006
        values = list(group[1])
        encoded = {value.arm: value for value in values if isinstance(value, Encoded)}
        found: dict[int, dict[int, list[Found]]] = {number: {} for number in encoded}
        for hits in sorted(value for value in values if isinstance(value, Hits)):
            part = from_arrays(hits.shard, read_arrays(self._job.folder, _hits_name(hits)))
            found[hits.arm].setdefault(hits.n, []).append(part)
        for number, arm in enumerate(self._tools.arms):
            arm.hand_over(_read_vectors(self._job, group[0], number), found[number])
        block, asking = encoded[0].block, self._tools.asking()
        asking.ask(_questions_of(self._job, block))
        over_limit = [encoded[number].n_over_limit for number in range(len(encoded))]
        write_part(self._job.folder, block.number, asking.part(), over_limit)
        yield block.number

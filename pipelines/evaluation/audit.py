"""What an encoder does not read: its limit as measured on the path that is deployed, and the inputs over it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from models.encoder import Encoder, encoder_prompts, load_encoder
from models.errors import SettingsError
from models.settings import EncoderSettings
from models.tokenizer import Tokenizer, load_tokenizer
from pipelines.evaluation.arms import Names
from pipelines.evaluation.clipping import Clipped, Inputs, MemoryRankers, measure_clipping
from pipelines.evaluation.comparing import finite
from pipelines.evaluation.corpus import nothing_to_read, read_documents
from pipelines.evaluation.encoding import VectorMemo
from pipelines.output import print_pairs, safe
from pipelines.progress import Progress, Watch
from pipelines.wording import left_out_in_words, n_of
from transforms.evaluation.questions import read_questions
from transforms.evaluation.truncation import Group, Tally, effective_limit
from transforms.extraction import Extracted
from transforms.settings import ReadingSettings

if TYPE_CHECKING:
    from rich.console import Console

TEXTS_AT_ONCE = 1024
SHOWN_SOURCES = 10
SHOWN_CHARS = 32
_NOT_FOUND = "none found"


class Limits(NamedTuple):
    """Tokens of one input, special tokens and prompt included: declared, and measured; None where none was found."""

    declared: int
    documents: int | None
    questions: int | None


@dataclass(frozen=True)
class AuditReport:
    """The limits, and the inputs of a corpus over them: altogether, by length of the document, and by source.

    `room_tokens` is what an input may hold beside special tokens and prompt. `questions` are those over their limit,
    and all; None where none were given.
    """

    name: str
    encoder: str
    limits: Limits
    room_tokens: int
    total: Group
    by_length: Sequence[Group]
    by_source: Sequence[Group]
    questions: tuple[int, int] | None
    outcomes: dict[str, int]
    answers: Clipped | None = None

    def to_json(self) -> dict[str, Any]:
        """The documented keys of `corpusmill audit --json`."""
        return {
            "corpus": self.name,
            "encoder": self.encoder,
            "limits": self.limits._asdict(),
            "room_tokens": self.room_tokens,
            "total": group_json(self.total),
            "by_length": [group_json(group) for group in self.by_length],
            "by_source": [group_json(group) for group in self.by_source],
            "questions": {"over_limit": self.questions[0], "total": self.questions[1]} if self.questions else None,
            "outcomes": self.outcomes,
            "answers": _answers_json(self.answers) if self.answers else None,
        }

    def show(self, console: "Console") -> None:
        """Limits, totals, and the two tables."""
        total, limits = self.total, self.limits
        console.print(f"{safe(self.name)}, encoded by {safe(self.encoder)}", style="bold", soft_wrap=True)
        measured = [_NOT_FOUND if limit is None else f"{limit:,}" for limit in limits[1:]]
        pairs = [
            (
                "limit",
                f"{limits.declared:,} tokens declared; measured {measured[0]} (passages), {measured[1]} (questions)",
            ),
            ("corpus", f"{total.n_documents:,} documents, {total.n_inputs:,} inputs, {total.n_tokens:,} tokens"),
            ("over limit", f"{total.n_over_limit:,} inputs ({total.over_limit_share:.1%})"),
            ("not read", f"{total.n_unread_tokens:,} tokens ({total.unread_share:.1%})"),
        ]
        if self.questions:
            pairs.append(("questions", f"{self.questions[0]:,} of {self.questions[1]:,} over limit"))
        if noted := left_out_in_words(self.outcomes):
            pairs.append(("noted", safe(noted)))
        print_pairs(console, pairs)
        _show_groups(console, "tokens of the document", self.by_length)
        _show_groups(console, "source", self.by_source[:SHOWN_SOURCES])
        if len(self.by_source) > SHOWN_SOURCES:
            console.print(f"and {len(self.by_source) - SHOWN_SOURCES:,} more sources; --json has all")
        if self.answers:
            _show_answers(console, self.answers, self.total.n_over_limit)


def audit(
    reading: ReadingSettings,
    encoder: EncoderSettings,
    document_column: str | None = None,
    questions: str | Path | None = None,
    k: int = 5,
    watch: Watch | None = None,
) -> AuditReport:
    """What `encoder` would not read of a corpus, each document, or row of a table, being one input as it stands.

    :param document_column: column of a table of chunks that names the document a chunk is of; without it each row is
        its own document.
    :param questions: a questions file. Its questions are held against their own limit, and asked: then the corpus is
        encoded in memory, to see what became of their references at `k` and what reading all would change.
    :raises SettingsError: no document with text, or no such column.
    """
    auditor, outcomes = Auditor(encoder), Counter[str]()
    texts: list[str] = []
    documents: list[str] = []
    with auditor.counting(watch):
        for inputs in _batches(reading, document_column, outcomes):
            auditor.add(inputs)
            if questions is not None:
                documents += [document for document, _, _ in inputs]
                texts += [text for _, _, text in inputs]
    if not auditor.tally.total().n_inputs:
        raise SettingsError(nothing_to_read(reading, outcomes))
    answers = None
    if questions is not None:
        answers = _asked_in_memory(auditor, Inputs(texts, documents, partial(_by_name, documents)), questions, k, watch)
    return auditor.report(" ".join(reading.input), outcomes, questions, answers)


class Auditor:
    """Counts inputs against what an encoder really reads."""

    def __init__(self, settings: EncoderSettings) -> None:
        self.settings = settings
        self.tokenizer, self.encoder = load_tokenizer(settings), load_encoder(settings)
        self.limits = measure_limits(self.encoder, self.tokenizer, settings)
        self._prompts = self.tokenizer.count(list(encoder_prompts(settings))).tolist()
        self.room_tokens = self._room(self.limits.documents, 0)
        self.tally = Tally(self.room_tokens)
        self.n_counted = 0

    def counting(self, watch: Watch | None) -> AbstractContextManager[None]:
        """Has `watch` show how many inputs are counted while the block runs."""
        return watch(lambda: Progress("counting", self.n_counted, 0, "inputs")) if watch else nullcontext()

    def add(self, inputs: Sequence[tuple[str, str, str]]) -> None:
        """Count inputs (document, source, text)."""
        counts = self.tokenizer.count([text for _, _, text in inputs])
        for (document, source, _), n_tokens in zip(inputs, counts.tolist(), strict=True):
            self.tally.add(document, source, n_tokens)
        self.n_counted += len(inputs)

    def report(
        self,
        name: str,
        outcomes: Counter[str],
        questions: str | Path | None,
        answers: Clipped | None,
        counted: tuple[Group, list[Group], list[Group]] | None = None,
    ) -> AuditReport:
        """Everything counted: here, or elsewhere in `counted`."""
        room = self._room(self.limits.questions, 1)
        asked = _questions_over(questions, self.tokenizer, room) if questions is not None else None
        groups = counted or (self.tally.total(), self.tally.by_length(), self.tally.by_source())
        counts = dict(sorted(outcomes.items()))
        return AuditReport(name, self.settings.encoder, self.limits, self.room_tokens, *groups, asked, counts, answers)

    def _room(self, limit: int | None, prompt: int) -> int:
        return (limit or self.limits.declared) - self.tokenizer.overhead_tokens - int(self._prompts[prompt])


def _asked_in_memory(auditor: Auditor, inputs: Inputs, questions: str | Path, k: int, watch: Watch | None) -> Clipped:
    memo = VectorMemo(auditor.encoder, watch)
    rankers = MemoryRankers(inputs, auditor.encoder, memo, auditor.tokenizer, auditor.room_tokens, k)
    whole = rankers.whole if auditor.tally.total().n_over_limit else None
    return measure_clipping(inputs, questions, auditor.tokenizer, auditor.room_tokens, k, rankers.deployed, whole)


def _by_name(documents: Sequence[str], uris: frozenset[str]) -> Mapping[str, str]:
    import pyarrow as pa

    distinct = list(dict.fromkeys(documents))
    names = Names(uris)
    names.add(pa.table({"uri": distinct, "content_id": distinct}))
    return names.found()


def measure_limits(encoder: Encoder, tokenizer: Tokenizer, settings: EncoderSettings) -> Limits:
    """Tokens that `encoder` reads of a passage and of a question, found by growing a text: see `effective_limit`."""
    found = []
    for encode, prompt in zip((encoder.encode, encoder.encode_queries), encoder_prompts(settings), strict=True):
        text = effective_limit(lambda text, encode=encode: encode([text]).vectors[0])  # type: ignore[misc]
        n_tokens = None if text is None else int(tokenizer.count([prompt + text])[0]) + tokenizer.overhead_tokens
        found.append(n_tokens)
    return Limits(encoder.max_input_tokens, *found)


def _batches(
    reading: ReadingSettings, document_column: str | None, outcomes: Counter[str]
) -> Iterator[list[tuple[str, str, str]]]:
    """Inputs as (document, source, text), so many at once."""
    inputs: list[tuple[str, str, str]] = []
    for file, uri, extracted in read_documents(reading, outcomes):
        inputs.append(as_input(file, uri, extracted, document_column))
        if len(inputs) == TEXTS_AT_ONCE:
            yield inputs
            inputs = []
    if inputs:
        yield inputs


def as_input(file: str, uri: str, extracted: Extracted, document_column: str | None) -> tuple[str, str, str]:
    """A document, or a row of a table, as (document, source, text). `SettingsError` where it lacks the column."""
    assert extracted.snapshot is not None
    source = file if extracted.row >= 0 else file.rpartition("/")[0]
    document = uri
    if document_column is not None:
        if document_column not in extracted.metadata:
            raise SettingsError(f"{uri} has no column {document_column!a}; name the one that names its document")
        document = str(extracted.metadata[document_column])
    return document, source, extracted.snapshot.text


def _questions_over(file: str | Path, tokenizer: Tokenizer, room_tokens: int) -> tuple[int, int]:
    n_over = n_questions = 0
    for _, question in read_questions(file):
        n_over += int(tokenizer.count([question.question])[0]) > room_tokens
        n_questions += 1
    return n_over, n_questions


def group_json(group: Group) -> dict[str, Any]:
    """The counts of a group with its shares."""
    return asdict(group) | {"over_limit_share": group.over_limit_share, "unread_share": group.unread_share}


def _answers_json(answers: Clipped) -> dict[str, Any]:
    cost = answers.cost
    return {
        "k": answers.k,
        "references": dict(answers.fates),
        "questions": len(answers.deployed),
        "left_out": answers.n_left_out,
        "measured_references": {"count": answers.n_measured, "total": answers.n_references},
        "recall": finite(answers.recall),
        "recall_lost_to_truncation": finite(cost[0]) | cost[1]._asdict() if cost else None,
    }


def _show_answers(console: "Console", answers: Clipped, n_over_limit: int) -> None:
    words = {"severed": "severed (in no input)", "clipped": "clipped (not read)", "lost": "lost (not in the corpus)"}
    shown = [(name, count) for name, count in answers.fates.items() if count or name != "lost"]
    fates = ", ".join(f"{count:,} {words.get(name, name)}" for name, count in shown)
    console.print()
    pairs = [(f"answers, k = {answers.k}", fates)]
    recall, n_questions = answers.recall, len(answers.deployed)
    interval = f"{recall.low:.3f} to {recall.high:.3f}"
    pairs.append(("recall", f"{recall.mean:.3f} ({interval}) of the references, over {n_questions:,} questions"))
    if answers.n_left_out:
        share = answers.n_measured / answers.n_references
        measured = f"{answers.n_measured:,} of {answers.n_references:,} references ({share:.1%})"
        pairs.append(("measured on", f"{measured}; {n_of(answers.n_left_out, 'question')} with a lost one left out"))
    pairs.append(("truncation", _cost_text(answers, n_over_limit)))
    print_pairs(console, pairs)


def _cost_text(answers: Clipped, n_over_limit: int) -> str:
    if not n_over_limit:
        return "nothing is cut off, so it costs no recall"
    if answers.cost is None:
        return "what it costs is measured for a corpus only (--input)"
    estimate, flips = answers.cost
    return (
        f"costs {estimate.mean:+z.3f} ({estimate.low:+z.3f} to {estimate.high:+z.3f}) of recall: read in pieces, "
        f"{flips.improved:,} questions are better and {flips.regressed:,} worse"
    )


def _ending(name: str) -> str:
    """The end of a long name, which tells a source from its neighbours; `--json` has all of it."""
    return name if len(name) <= SHOWN_CHARS else f"... {name[4 - SHOWN_CHARS :]}"


def _show_groups(console: "Console", name: str, groups: Sequence[Group]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(Text(name), header_style="bold", overflow="fold")
    for head in ("documents", "inputs", "over limit", "share", "not read"):
        table.add_column(Text(head), header_style="bold", justify="right")
    for group in groups:
        counts = (f"{group.n_documents:,}", f"{group.n_inputs:,}", f"{group.n_over_limit:,}")
        shares = (f"{group.over_limit_share:.1%}", f"{group.unread_share:.1%}")
        table.add_row(*(Text(cell) for cell in (_ending(safe(group.name)), *counts, *shares)))
    console.print()
    console.print(table)

"""What an encoder does not read: its limit as measured on the path that is deployed, and the inputs over it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from models.encoder import Encoder, encoder_prompts, load_encoder
from models.errors import SettingsError
from models.settings import EncoderSettings
from models.tokenizer import Tokenizer, load_tokenizer
from pipelines.evaluation.corpus import nothing_to_read, read_documents
from pipelines.output import print_pairs, safe
from transforms.evaluation.questions import read_questions
from transforms.evaluation.truncation import Group, Tally, effective_limit
from transforms.settings import ReadingSettings

if TYPE_CHECKING:
    from rich.console import Console

TEXTS_AT_ONCE = 1024
SHOWN_SOURCES = 10
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
        pairs += [("noted", f"{count:,} {safe(name.replace('_', ' '))}") for name, count in self.outcomes.items()]
        print_pairs(console, pairs)
        _show_groups(console, "tokens of the document", self.by_length)
        _show_groups(console, "source", self.by_source[:SHOWN_SOURCES])
        if len(self.by_source) > SHOWN_SOURCES:
            console.print(f"and {len(self.by_source) - SHOWN_SOURCES:,} more sources; --json has all")


def audit(
    reading: ReadingSettings,
    encoder: EncoderSettings,
    document_column: str | None = None,
    questions: str | Path | None = None,
) -> AuditReport:
    """What `encoder` would not read of a corpus, each document, or row of a table, being one input as it stands.

    :param document_column: column of a table of chunks that names the document a chunk is of; without it each row is
        its own document.
    :param questions: a questions file, whose questions are held against their own limit.
    :raises SettingsError: no document with text, or no such column.
    """
    tokenizer, loaded = load_tokenizer(encoder), load_encoder(encoder)
    limits = measure_limits(loaded, tokenizer, encoder)
    prompts = [int(count) for count in tokenizer.count(list(encoder_prompts(encoder)))]
    room = (limits.documents or limits.declared) - tokenizer.overhead_tokens - prompts[0]
    tally, outcomes = Tally(room), Counter[str]()
    for inputs in _batches(reading, document_column, outcomes):
        counts = tokenizer.count([text for _, _, text in inputs])
        for (document, source, _), n_tokens in zip(inputs, counts.tolist(), strict=True):
            tally.add(document, source, n_tokens)
    total = tally.total()
    if not total.n_inputs:
        raise SettingsError(nothing_to_read(reading, outcomes))
    question_room = (limits.questions or limits.declared) - tokenizer.overhead_tokens - prompts[1]
    asked = _questions_over(questions, tokenizer, question_room) if questions is not None else None
    name = " ".join(reading.input)
    groups = (total, tally.by_length(), tally.by_source())
    return AuditReport(name, encoder.encoder, limits, room, *groups, asked, dict(sorted(outcomes.items())))


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
        assert extracted.snapshot is not None
        source = file if extracted.row >= 0 else file.rpartition("/")[0]
        document = uri
        if document_column is not None:
            if document_column not in extracted.metadata:
                raise SettingsError(f"{uri} has no column {document_column!a}; name the one that names its document")
            document = str(extracted.metadata[document_column])
        inputs.append((document, source, extracted.snapshot.text))
        if len(inputs) == TEXTS_AT_ONCE:
            yield inputs
            inputs = []
    if inputs:
        yield inputs


def _questions_over(file: str | Path, tokenizer: Tokenizer, room_tokens: int) -> tuple[int, int]:
    n_over = n_questions = 0
    for _, question in read_questions(file):
        n_over += int(tokenizer.count([question.question])[0]) > room_tokens
        n_questions += 1
    return n_over, n_questions


def group_json(group: Group) -> dict[str, Any]:
    """The counts of a group with its shares."""
    return asdict(group) | {"over_limit_share": group.over_limit_share, "unread_share": group.unread_share}


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
        table.add_row(*(Text(cell) for cell in (safe(group.name), *counts, *shares)))
    console.print()
    console.print(table)

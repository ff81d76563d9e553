"""How one file is cut, for a person who chooses settings by looking, and as data."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from models.errors import CorpusmillError, ExtractionError, SettingsError
from models.settings import EncoderSettings
from pipelines.explain_view import explanation_json, show_explanation
from pipelines.output import safe, safe_lines
from pipelines.views import outcome_pairs
from pipelines.wording import n_of
from transforms.elements import SOURCE_LEVELS, CutDocument, Snapshot, Unit
from transforms.identity import row_uri
from transforms.settings import ChunkingSettings, ReadingSettings, SemanticSettings

if TYPE_CHECKING:
    from rich.console import Console

    from transforms.chunkers.explaining import Explanation
    from transforms.chunking import Cutter, Questioning


@dataclass(frozen=True)
class ChunkedDocument:
    """A document of the file with its units; `row` is -1 for a whole file, and `reason` says why there is no text."""

    row: int
    key: str | None
    snapshot: Snapshot = field(default_factory=lambda: Snapshot(""))
    cut: CutDocument = field(default_factory=lambda: CutDocument((), ""))
    reason: str = ""
    explanation: "Explanation | None" = None


@dataclass(frozen=True)
class ChunkView:
    """Every document of one file, cut. With `explains`, what made the cuts is shown in place of the units."""

    file: str
    documents: tuple[ChunkedDocument, ...]
    explains: bool = False

    def to_json(self) -> dict[str, Any]:
        """The documented keys of `corpusmill chunk --json`."""
        failures = [
            {"row": document.row, "key": document.key, "reason": document.reason}
            for document in self.documents
            if document.reason
        ]
        units: list[dict[str, Any]] = []
        for document in self.documents:
            units += [_unit(document, unit, len(units)) for unit in document.cut.units]
        outcomes = sum((Counter(document.cut.counts) for document in self.documents), Counter[str]())
        payload = {"file": self.file, "units": units, "failures": failures, "outcomes": dict(sorted(outcomes.items()))}
        if self.explains:
            payload["explanations"] = [
                explanation_json(document.key, document.explanation)
                for document in self.documents
                if document.explanation
            ]
        return payload

    def show(self, console: "Console") -> None:
        """The text itself with a line in front of every unit; what a unit shares with the one before is marked."""
        for document in self.documents:
            name = self.file + _row(document)
            units = document.cut.units
            what = (
                document.reason
                or f"{n_of(len(units), 'unit')} by {document.cut.chunker}, {len(document.snapshot.text)} characters"
            )
            console.print(f"{safe(name)}: {safe(what)}", style="bold", soft_wrap=True)
            for _, noted in outcome_pairs(document.cut.counts):
                console.print(f"  noted: {noted}", soft_wrap=True)
            if document.explanation:
                show_explanation(document.snapshot.text, document.explanation, console)
                continue
            for line, style in _marked(document.snapshot.text, units):
                console.print(line, style=style, soft_wrap=True)

    def plot(self, path: str) -> None:
        """Draw what made the cuts into an .svg file; `SettingsError` where it cannot be written."""
        from pipelines.explain_plot import Explained, write_plot

        explained = [
            Explained(self.file + _row(document), document.snapshot.text, document.explanation)
            for document in self.documents
            if document.explanation
        ]
        write_plot(Path(path), explained)


def cut_file(
    path: str,
    reading: ReadingSettings,
    chunking: ChunkingSettings,
    encoder: EncoderSettings,
    semantic: SemanticSettings | None = None,
    *,
    explains: bool = False,
    questioning: "Questioning | None" = None,
) -> ChunkView:
    """The units of every document in the file at `path`, with `explains` beside what made the cuts.

    `questioning` is needed by the chunkers that ask a language model.

    Raises:
        SettingsError: for settings that cannot work together, such as `explains` with a chunker that measures nothing.
        CorpusmillError: for a file that cannot be read, or holds no text.
    """
    from models.encoder import encoder_prompts
    from models.tokenizer import load_tokenizer
    from transforms.chunking import make_cutter, make_detection

    tokenizer = load_tokenizer(encoder)
    prompt = encoder_prompts(encoder)[0]
    prompt_tokens = int(tokenizer.count([prompt])[0]) if prompt else 0
    detection = make_detection(semantic or SemanticSettings(), encoder)
    cutter = make_cutter(chunking, tokenizer, prompt_tokens, detection, questioning)
    if explains and not (cutter.detects or cutter.asks):
        raise SettingsError(
            f"chunker = {chunking.chunker} measures nothing to explain; take --chunker semantic, pic or llm"
        )
    try:
        return ChunkView(path, tuple(_documents(path, reading, cutter, explains)), explains)
    except ExtractionError as error:
        raise CorpusmillError(f"{path}: {error}") from error
    except OSError as error:
        raise CorpusmillError(f"{path} cannot be read: {error.strerror or error}; name one document") from error


def _documents(path: str, reading: ReadingSettings, cutter: "Cutter", explains: bool) -> Iterator[ChunkedDocument]:
    from transforms.extraction import extract_file

    with _open(path) as stream:
        for extracted in extract_file(stream, path, reading):
            if extracted.snapshot is None:
                reason = f"{extracted.reason}: {extracted.detail}" if extracted.detail else extracted.reason
                yield ChunkedDocument(extracted.row, extracted.key, reason=reason or "empty")
            else:
                snapshot = extracted.snapshot
                uri = _address(path, extracted.key, extracted.row, reading)
                explanation = cutter.explain(snapshot, uri) if explains else None
                cut = cutter.cut(snapshot, uri)
                yield ChunkedDocument(extracted.row, extracted.key, snapshot, cut, explanation=explanation)


def _address(path: str, key: str | None, row: int, reading: ReadingSettings) -> str:
    """The address that the document would have in an index."""
    file = path if "://" in path else os.path.abspath(path)
    return row_uri(file, key, row, reading.id_scope) if row >= 0 else file


def _open(path: str) -> AbstractContextManager[BinaryIO]:
    if "://" not in path:
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            raise ExtractionError("unreadable", "a pipe, socket or device, not a regular file")
        return open(path, "rb")
    from apache_beam.io.filesystem import CompressionTypes
    from apache_beam.io.filesystems import FileSystems

    stream = FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED)
    return cast("AbstractContextManager[BinaryIO]", stream)


def _row(document: ChunkedDocument) -> str:
    if document.key is not None:
        return f"#{document.key}"
    return f", row {document.row}" if document.row >= 0 else ""


def _unit(document: ChunkedDocument, unit: Unit, n_before: int) -> dict[str, Any]:
    return {
        "key": document.key,
        "start": unit.start,
        "end": unit.end,
        "text": unit.text,
        "tokens": unit.n_tokens,
        "heading_path": list(unit.heading_path),
        "context": unit.context,
        "level": unit.level,
        "label": unit.label,
        "parent": None if unit.parent is None else n_before + unit.parent,
    }


def _marked(text: str, units: tuple[Unit, ...]) -> Iterator[tuple[str, str]]:
    """Lines with their styles: a heading for each unit, its text, what a model wrote, and text that no unit holds."""
    covered = 0
    for number, unit in enumerate(units, start=1):
        if unit.level not in SOURCE_LEVELS:
            yield f"  = {number} {unit.level} [{unit.start}:{unit.end}] {unit.n_tokens} tokens", "green"
            yield from ((f"    = {line}", "") for line in safe_lines(unit.text))
            continue
        if text[covered : unit.start].strip():
            yield from ((f"  ! {line}", "red") for line in safe_lines(text[covered : unit.start]))
        path = " > ".join(map(safe, unit.heading_path))
        about = "  ".join(part for part in (f"{unit.n_tokens} tokens", unit.label, path) if part)
        yield f"--- {number} [{unit.start}:{unit.end}] {about}", "cyan"
        if unit.context:
            yield from ((f"  + {line}", "italic") for line in safe_lines(unit.context))
        shared = max(covered, unit.start) - unit.start
        if shared:
            yield from ((f"  < {line}", "dim") for line in safe_lines(unit.text[:shared]))
        yield from ((f"    {line}", "") for line in safe_lines(unit.text[shared:]))
        covered = max(covered, unit.end)
    if text[covered:].strip():
        yield from ((f"  ! {line}", "red") for line in safe_lines(text[covered:]))

"""A corpus read into memory, once for all the policies that are tried on it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from models.errors import ExtractionError, SettingsError
from transforms.elements import Snapshot
from transforms.extraction import Extracted, content_id, extract_file
from transforms.settings import ReadingSettings


@dataclass
class Corpus:
    """Different texts by content id, in the order of their documents, and the content of every uri.

    `outcomes` counts documents without text, and those that could not be read, by reason.
    """

    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    contents_by_uri: dict[str, str] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def n_documents(self) -> int:
        return len(self.contents_by_uri)


def read_corpus(reading: ReadingSettings) -> Corpus:
    """Every document that the settings' patterns match, with the texts and uris that `corpusmill ingest` gives them.

    :raises SettingsError: there is no pattern, or no document with text matches.
    """
    corpus = Corpus()
    for _, uri, extracted in read_documents(reading, corpus.outcomes):
        _add(corpus, uri, extracted)
    if not corpus.snapshots:
        raise SettingsError(nothing_to_read(reading, corpus.outcomes))
    return corpus


def nothing_to_read(reading: ReadingSettings, outcomes: Counter[str]) -> str:
    """What to say of a corpus without a text."""
    counts = ", ".join(f"{count} {name.replace(':', ': ')}" for name, count in sorted(outcomes.items()))
    names_no_column = any(name.endswith(("no_id", "no_text")) for name in outcomes)
    remedy = "name the columns with id_column and text_column" if names_no_column else "correct the pattern"
    return f"input = {' '.join(reading.input)!a} has no document with text ({counts or 'no file'}); {remedy}"


def read_documents(reading: ReadingSettings, outcomes: Counter[str]) -> Iterator[tuple[str, str, Extracted]]:
    """The file, the uri and the text of every document that has one, as a stream; the others go into `outcomes`.

    :raises SettingsError: there is no pattern, or it cannot be listed.
    """
    from transforms.listing import list_files

    if not reading.input:
        raise SettingsError("no corpus: name file patterns after --input, or as input in section reading of the policy")
    for listed in list_files(reading.input):
        for uri, extracted in documents_of(listed.file, reading, outcomes):
            yield listed.file, uri, extracted


def documents_of(file: str, reading: ReadingSettings, outcomes: Counter[str]) -> Iterator[tuple[str, Extracted]]:
    """The uri and the text of every document of one file that has one; the others go into `outcomes`."""
    try:
        for extracted in _extracted(file, reading):
            if extracted.snapshot is None:
                outcomes[f"failed:{extracted.reason or 'empty'}"] += 1
            elif not extracted.snapshot.text.strip():
                outcomes["empty"] += 1
            else:
                yield _uri(file, extracted, reading), extracted
    except ExtractionError as error:
        outcomes[f"failed:{error.reason}"] += 1
    except (OSError, ValueError):
        outcomes["failed:unreadable"] += 1


def _extracted(file: str, reading: ReadingSettings) -> Iterator[Extracted]:
    from transforms.reading import open_regular

    with open_regular(file) as stream:
        yield from extract_file(stream, file, reading)


def _uri(file: str, extracted: Extracted, reading: ReadingSettings) -> str:
    if extracted.row < 0:
        return file
    if reading.id_scope == "corpus" and extracted.key is not None:
        return extracted.key
    return f"{file}#{extracted.key if extracted.key is not None else f'row-{extracted.row}'}"


def _add(corpus: Corpus, uri: str, extracted: Extracted) -> None:
    assert extracted.snapshot is not None
    if uri in corpus.contents_by_uri:
        corpus.outcomes["failed:duplicate"] += 1
        return
    name = content_id(extracted.snapshot)
    corpus.snapshots.setdefault(name, extracted.snapshot)
    corpus.contents_by_uri[uri] = name

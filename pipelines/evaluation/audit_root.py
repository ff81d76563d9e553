"""An audit of a published version: the inputs that its units were, as they are stored."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from models.errors import SettingsError
from models.settings import EncoderSettings
from pipelines.evaluation.audit import TEXTS_AT_ONCE, Auditor, AuditReport
from pipelines.evaluation.clipping import Inputs, Rows, measure_clipping
from pipelines.evaluation.published import PublishedArm
from pipelines.progress import Watch
from pipelines.search import open_index
from pipelines.search.shard import Row
from transforms.indexing.searching import NONE


def audit_root(
    root: str,
    version: str | None = None,
    encoder: EncoderSettings | None = None,
    questions: str | Path | None = None,
    k: int = 5,
    watch: Watch | None = None,
) -> AuditReport:
    """What the version's encoder did not read of its units, and what became of the references of `questions`.

    Questions are asked as the index serves them. All texts are held in memory where there are questions.

    :param encoder: settings of the encoder, where they are not the version's own.
    :raises SettingsError: a version without units.
    """
    index = open_index(root, version, encoder)
    auditor = Auditor(encoder or EncoderSettings.model_validate(index.manifest.encoder["settings"]))
    ids = index.sample_ids(1 << 62)
    if not len(ids):
        raise SettingsError(f"version {index.version} in {root} holds no units; there is nothing to audit")
    texts: list[str] = []
    contents: list[str] = []
    with auditor.counting(watch):
        for start in range(0, len(ids), TEXTS_AT_ONCE):
            units = index.units(ids[start : start + TEXTS_AT_ONCE])
            rows = [units[int(number)] for number in ids[start : start + TEXTS_AT_ONCE]]
            inputs = [input_of(row) for row in rows]
            uris = index.uris({str(row["content_id"]) for row in rows})
            owners = [str(row["content_id"]) for row in rows]
            auditor.add([(owner, source_of(uris[owner]), text) for owner, text in zip(owners, inputs, strict=True)])
            if questions is not None:
                texts += inputs
                contents += owners
    answers = None
    if questions is not None:
        arm = PublishedArm(root, index.version, encoder)
        order = np.argsort(ids)

        def rank(asked: Sequence[str]) -> Rows:
            found = index.rank(index.encode(asked), k).ids
            places = order[np.searchsorted(ids, found, sorter=order).clip(max=len(ids) - 1)]
            return np.where(found == NONE, NONE, places)

        def resolve(uris: frozenset[str]) -> Mapping[str, str]:
            return arm.resolve(uris)

        audited = Inputs(texts, contents, resolve)
        answers = measure_clipping(audited, questions, auditor.tokenizer, auditor.room_tokens, k, rank)
    return auditor.report(root, Counter(), questions, answers)


def input_of(row: Row) -> str:
    """What the encoder was given for a stored unit, without the prompt."""
    return f"{row['context']}\n{row['text']}" if row["context"] else str(row["text"])


def source_of(uri: str) -> str:
    """The table that a document is a row of, or its folder."""
    return uri.partition("#")[0] if "#" in uri else uri.rpartition("/")[0]

"""Names for what extraction makes: the id of a content, and the recipe of the extractors."""

import hashlib

import msgspec

from transforms.elements import Snapshot
from transforms.extraction import decoding, html, markdown, normalising, pdf, plain, tables, warc

_BLOCKS = msgspec.msgpack.Encoder()


def content_id(snapshot: Snapshot) -> str:
    """32 hex characters of the sha256 over text and blocks: equal texts with equal structure share their units.

    >>> content_id(Snapshot("")) == content_id(Snapshot("", counts={"replaced_nul": 1})) != content_id(Snapshot(" "))
    True
    """
    digest = hashlib.sha256(snapshot.text.encode("utf-8"))
    digest.update(b"\0")  # never in a snapshot's text, so nothing can move from text to blocks
    digest.update(_BLOCKS.encode(snapshot.blocks))
    return digest.hexdigest()[:32]


def extractor_identity() -> dict[str, int]:
    """The versions of all that decides a snapshot, as a recipe part; each is guarded by a golden output."""
    return {
        "decoding": decoding.VERSION,
        "normalising": normalising.VERSION,
        "plain": plain.VERSION,
        "markdown": markdown.VERSION,
        "html": html.VERSION,
        "pdf": pdf.VERSION,
        "tables": tables.VERSION,
        "warc": warc.VERSION,
    }

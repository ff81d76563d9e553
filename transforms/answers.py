"""The language model's answers, kept by what was asked: written before they are used, never asked for twice.

An answer's key hashes the prompt, the form asked for and the model's identity, so a changed prompt or model asks anew
and nothing else does. Segments are immutable Parquet files under answers/, named by their bytes; any number of
processes write them at once. A reader holds eight bytes of each key in memory, and no texts.
"""

import hashlib
import json
import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from models.errors import StoreError
from models.llm.records import Answer, Request, Result, Usage
from transforms.answers_index import AnswerIndex
from transforms.store import schemas
from transforms.store.files import Store
from transforms.store.manifest import FileEntry
from transforms.store.segments import read_table, take_rows, write_table

FOLDER = "answers"
FLUSH_SECONDS, FLUSH_ANSWERS = 30.0, 512
ALWAYS_LISTED, LISTING_PAUSE_SECONDS = 64, 0.001
"""Files up to which the folder is listed for every unknown key, and the pause after a listing for each file beyond."""
_SEGMENT = re.compile(rf"{FOLDER}/([0-9a-f]{{64}})\.parquet")

AskEach = Callable[[Sequence[Request], float | None], Iterator[tuple[int, Result] | None]]


def answer_key(request: Request, identity_sha256: str) -> str:
    """64 hex digits that name the answer to `request` by the model of that identity. Who asks for what is not in it.

    >>> answer_key(Request((), 5), "m") == answer_key(Request((), 5, stage="summary", owner="x"), "m")
    True
    """
    messages = [[message.role, message.content] for message in request.messages]
    words = [identity_sha256, messages, request.max_answer_tokens, request.schema]
    return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()


class StoredAnswer(msgspec.Struct, frozen=True):
    """The answers to one prompt by the contents that they are kept for, each with the time it was written at.

    There are several where processes asked side by side. Then each content keeps its own, whoever reads it and whatever
    else is removed, and a new one gets the oldest.
    """

    by_owner: Mapping[str, tuple[int, Answer]]

    @property
    def owners(self) -> frozenset[str]:
        return frozenset(self.by_owner)

    def answer(self, owner: str = "") -> Answer:
        """The answer for a content."""
        return self.by_owner[owner][1] if owner in self.by_owner else min(self.by_owner.values(), key=_age)[1]


class AnswerStore:
    """The answers under one root, as one process sees them. Safe to share between threads.

    What this process stored it knows. For what others store it lists the folder, and rests after a long list, so that
    listing takes a small share of the time: what another process stored meanwhile may be asked for a second time.

    `counts` holds `damaged_answer_files`: those whose bytes are not what their name says; they are left alone.
    """

    def __init__(self, store: Store, run: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self.store, self.run = store, run
        self._clock, self._lists_at = clock, -math.inf
        self.counts: Counter[str] = Counter()
        self._index = AnswerIndex()
        self._damaged: set[str] = set()
        self._lock = threading.Lock()

    def find(self, keys: Iterable[str]) -> dict[str, StoredAnswer]:
        """The stored answers to `keys`. The folder is listed again only for keys that are not known yet."""
        wanted = set(keys)
        with self._lock:
            found = self._look_up(wanted)
            if len(found) < len(wanted) and self._clock() >= self._lists_at and self._refresh():
                found |= self._look_up(wanted - found.keys())
        return found

    def put(self, answers: Sequence[tuple[str, Request, Answer]], model: str = "", *, is_paid: bool = True) -> None:
        """Write answers with their keys as one segment; they are durable when this returns.

        :param model: who answered. :param is_paid: False for answers that are there already, for other contents.
        """
        if not answers:
            return
        run, now = self.run if is_paid else "", int(time.time())
        made = ({**_row(*answer, run), "model": model, "written_at": now} for answer in answers)
        rows = sorted(made, key=lambda row: (row["key"], row["owner"]))
        entry = write_table(self.store, FOLDER, pa.Table.from_pylist(rows, schema=schemas.ANSWERS))
        with self._lock:
            self._index.add(entry, [row["key"] for row in rows])

    def _look_up(self, wanted: set[str]) -> dict[str, StoredAnswer]:
        found: dict[str, dict[str, tuple[int, Answer]]] = {}
        for entry, rows in list(self._index.rows_of(wanted)):
            for row in self._read(entry, rows):
                if row["key"] in wanted:
                    others, written = found.setdefault(row["key"], {}), (int(row["written_at"] or 0), _answer(row))
                    others[row["owner"]] = min(others.get(row["owner"], written), written, key=_age)
        return {key: StoredAnswer(by_owner) for key, by_owner in found.items()}

    def _read(self, entry: FileEntry, rows: list[int]) -> list[dict[str, Any]]:
        try:
            return list(take_rows(self.store, entry, rows).to_pylist())
        except (StoreError, pa.ArrowException):  # merged with others, or damaged, since it was read
            self._index.remove(entry.path)
            self._lists_at = -math.inf  # what was here is elsewhere now
            return []

    def _refresh(self) -> bool:
        """Reads the keys of segments that were not there before; False where there are none."""
        paths = {file.path: file.size for file in self.store.list(FOLDER)}
        for path in self._index.paths - paths.keys():
            self._index.remove(path)
        new = [path for path in paths if path not in self._index.paths and path not in self._damaged]
        for path in new:
            entry, table = segment_entry(path, paths[path]), _load(self.store, path, paths[path], ["key"])
            if entry is not None and table is not None:
                self._index.add(entry, table.column("key").to_pylist())
            elif entry is None or self.store.exists(path):
                self._damaged.add(path)
                self.counts["damaged_answer_files"] += 1
        self._lists_at = self._clock() + LISTING_PAUSE_SECONDS * max(0, len(paths) - ALWAYS_LISTED)
        return bool(new)


class StoredAsking:
    """`ask` with a memory: each different prompt is asked for once, ever, and stored before anybody uses the answer.

    Failures are not stored. Answers wait for their segment until there are `flush_answers` of them, or for
    `flush_seconds`; a kill loses those, and what is under way. `counts` holds `stored_answers` and `asked_answers`.

    :param n_held_back: answers that `ask_each` may have and not have yielded yet; they are among `flush_answers`.
    """

    def __init__(
        self,
        answers: AnswerStore,
        ask_each: AskEach,
        identity_sha256: str,
        flush_seconds: float = FLUSH_SECONDS,
        flush_answers: int = FLUSH_ANSWERS,
        n_held_back: int = 0,
    ) -> None:
        self.answers = answers
        self.counts: Counter[str] = Counter()
        self._ask_each, self._identity = ask_each, identity_sha256
        self._flush_seconds, self._flush_answers = flush_seconds, max(1, flush_answers - n_held_back)

    def __call__(self, requests: Sequence[Request]) -> list[Result]:
        """One result for each request, in their order; `is_stored` marks what was paid for before this call."""
        keys = [answer_key(request, self._identity) for request in requests]
        found = self.answers.find(keys)
        self.counts["stored_answers"] += len(found)
        asked = list(zip(keys, requests, strict=True))
        missing = {key: request for key, request in asked if key not in found}
        made = self._ask(list(missing.items())) if missing else {}
        results = [made[key] if key in made else found[key].answer(request.owner) for key, request in asked]
        owners = {key: stored.owners for key, stored in found.items()}
        owners |= {key: frozenset((request.owner,)) for key, request in missing.items()}
        self._keep_for_others(asked, owners, results)
        paid: set[str] = set()
        return [_once(key, result, paid) for key, result in zip(keys, results, strict=True)]

    def _ask(self, missing: list[tuple[str, Request]]) -> dict[str, Result]:
        results: dict[str, Result] = {}
        waiting: list[tuple[str, Request, Answer]] = []
        flushed_at = time.monotonic()
        try:
            for item in self._ask_each([request for _, request in missing], self._flush_seconds / 2):
                if item is not None:
                    key, request = missing[item[0]]
                    results[key] = item[1]
                    if isinstance(item[1], Answer):
                        waiting.append((key, request, item[1]))
                is_due = time.monotonic() - flushed_at >= self._flush_seconds / 2
                if len(waiting) >= self._flush_answers or (waiting and is_due):
                    waiting, flushed_at = self._flush(waiting), time.monotonic()
        finally:
            self._flush(waiting)
        return results

    def _keep_for_others(
        self,
        asked: Iterable[tuple[str, Request]],
        owners: Mapping[str, frozenset[str]],
        results: Iterable[Result],
    ) -> None:
        """Stores answers once more for contents that had no part in them yet, so that they outlive the others."""
        more: dict[tuple[str, str], tuple[str, Request, Answer]] = {}
        for (key, request), answer in zip(asked, results, strict=True):
            if isinstance(answer, Answer) and request.owner not in owners[key]:
                unpaid = Answer(answer.text, answer.usage, answer.is_cut, n_attempts=0)
                more[key, request.owner] = (key, request, unpaid)
        self.answers.put(list(more.values()), self._identity, is_paid=False)

    def _flush(self, waiting: list[tuple[str, Request, Answer]]) -> list[tuple[str, Request, Answer]]:
        self.answers.put(waiting, self._identity)
        self.counts["asked_answers"] += len(waiting)
        return []


def run_bill(store: Store, run: str) -> pa.Table:
    """What the answers took that `run` paid for, by stage and owner. Sums over rows, so a retry changes nothing."""
    columns = ["prompt_tokens", "cached_prompt_tokens", "answer_tokens", "wasted_prompt_tokens", "wasted_answer_tokens"]
    columns += ["seconds", "n_attempts"]
    parts = [schemas.ANSWERS.empty_table().select(["stage", "owner", *columns])]
    for file in store.list(FOLDER):
        table = _load(store, file.path, file.size, ["run", "stage", "owner", *columns])
        if table is not None:
            parts.append(table.filter(pc.field("run") == run).drop_columns("run"))
    sums: list[Any] = [*((name, "sum") for name in columns), ([], "count_all")]
    table = pa.concat_tables(parts).group_by(["stage", "owner"]).aggregate(sums)
    named = ["stage", "owner", *columns, "n_answers"]
    return table.rename_columns(named).sort_by([("stage", "ascending"), ("owner", "ascending")])


def merge_segments(store: Store, more_than: int = 64, max_bytes: int = 64 << 20) -> int:
    """Merges small segments, where there are more of them than `more_than`; returns how many were merged.

    Safe while others read and write: the merged file is there before its parts go.
    """
    small = [
        file
        for file in store.list(FOLDER)
        if file.size < max_bytes // 2 and segment_entry(file.path, file.size) is not None
    ]
    if len(small) <= more_than:
        return 0
    n_merged = 0
    for group in _groups([(file.path, file.size) for file in small], max_bytes):
        tables = {path: table for path, size in group if (table := _load(store, path, size)) is not None}
        if len(tables) > 1:
            merged = write_table(store, FOLDER, pa.concat_tables(tables.values()).sort_by("key"))
            parts = [path for path in tables if path != merged.path]
            store.delete(parts)
            n_merged += len(parts)
    return n_merged


def _groups(files: list[tuple[str, int]], max_bytes: int) -> Iterator[list[tuple[str, int]]]:
    group: list[tuple[str, int]] = []
    for path, size in files:
        if group and sum(size for _, size in group) + size > max_bytes:
            yield group
            group = []
        group.append((path, size))
    yield group


def segment_entry(path: str, n_bytes: int) -> FileEntry | None:
    """The entry of a file under answers/, by its name; None for a file that is no segment."""
    match = _SEGMENT.fullmatch(path)
    return FileEntry(path, match[1], n_bytes, 0) if match else None


def _load(store: Store, path: str, n_bytes: int, columns: Sequence[str] | None = None) -> pa.Table | None:
    """Columns of the segment at `path`; None where its bytes are not what its name says, or it is gone."""
    entry = segment_entry(path, n_bytes)
    if entry is None:
        return None
    try:
        return read_table(store, entry, columns)
    except (StoreError, pa.ArrowException, OSError):
        return None


def _row(key: str, request: Request, answer: Answer, run: str) -> dict[str, Any]:
    usage, wasted = answer.usage, answer.wasted
    return {
        "key": key, "stage": request.stage, "owner": request.owner, "run": run, "text": answer.text,
        "is_cut": answer.is_cut, "prompt_tokens": usage.prompt_tokens,
        "cached_prompt_tokens": usage.cached_prompt_tokens, "answer_tokens": usage.answer_tokens,
        "wasted_prompt_tokens": wasted.prompt_tokens, "wasted_answer_tokens": wasted.answer_tokens,
        "seconds": answer.seconds, "n_attempts": answer.n_attempts, "prompt": request.prompt,
    }  # fmt: skip


def _answer(row: dict[str, Any]) -> Answer:
    usage = Usage(row["prompt_tokens"], row["cached_prompt_tokens"], row["answer_tokens"])
    wasted = Usage(row["wasted_prompt_tokens"], 0, row["wasted_answer_tokens"])
    return Answer(row["text"], usage, row["is_cut"], row["seconds"], row["n_attempts"], wasted, is_stored=True)


def _age(written: tuple[int, Answer]) -> tuple[int, str, bool]:
    """Sorts by age, and where that is equal in an order that every process finds."""
    written_at, answer = written
    return written_at, answer.text, answer.is_cut


def _once(key: str, result: Result, paid: set[str]) -> Result:
    """The result, marked as stored where the same call has it already: one of several equal prompts bears the cost."""
    if isinstance(result, Answer) and key in paid:
        return msgspec.structs.replace(result, is_stored=True)
    paid.add(key)
    return result

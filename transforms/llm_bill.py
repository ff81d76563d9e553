"""What a run paid a language model: rows of the ledger by stage and document, and their sums."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import pyarrow as pa

from models.flops import encoding_flops
from models.llm.budget import token_price_usd
from models.llm.records import Usage
from models.llm.settings import LlmBudgetSettings
from transforms.answers import run_bill
from transforms.columns import strings
from transforms.context import RunContext
from transforms.ledger import ZERO, Row
from transforms.spending import DEVICE_MS, WASTED_ANSWER, WASTED_PROMPT, spent_in
from transforms.store.manifest import FileEntry
from transforms.store.schemas import LEDGER
from transforms.store.segments import read_table

STAGE = "llm"


class LlmBill(msgspec.Struct, frozen=True):
    """`rows` of the ledger, and sums.

    `tokens` has prompt, cached and answer tokens of answers; `totals` how many answers and retries there were, wall
    seconds that requests took one by one, device seconds, wasted tokens of failed attempts, and money.
    """

    rows: tuple[Row, ...]
    tokens: Mapping[str, int]
    totals: Mapping[str, float]
    flops: float


def llm_bill(context: RunContext, runs: Iterable[str], reading: Iterable[FileEntry]) -> LlmBill:
    """The bill of this run and of the interrupted `runs` before it, whose answers it found stored.

    `reading` are the ledgers of what was read, which name a document of each content.
    """
    plan, taken = context.asking, [context.run, *runs]
    prices = context.prices
    n_parameters = plan.n_parameters if plan else 0
    parts = [run_bill(context.store, run) for run in taken] if plan or len(taken) > 1 else []
    bills = [row for part in parts for row in part.to_pylist()]
    uris = _uris(context, reading) if bills else {}
    rows = [_row(bill, uris, prices, n_parameters) for bill in bills]
    n_devices = plan.server.tensor_parallel_size if plan and plan.llm.llm_url is None else 1
    noted = _noted(spent_in(context.store, taken), prices, n_devices)
    rows += [noted] if noted["wasted_tokens"] or noted["usd"] else []
    return LlmBill(tuple(rows), _tokens(rows), _totals(bills, rows, noted), sum(row["flops"] for row in rows))


def _row(bill: Row, uris: Mapping[str, str], prices: LlmBudgetSettings, n_parameters: int) -> Row:
    """One stage of one content. Prompt tokens that were cached are among the prompt tokens and cost no FLOPs."""
    used = Usage(bill["prompt_tokens"], bill["cached_prompt_tokens"], bill["answer_tokens"])
    wasted = Usage(bill["wasted_prompt_tokens"], 0, bill["wasted_answer_tokens"])
    n_run = used.prompt_tokens - used.cached_prompt_tokens + used.answer_tokens
    return {
        **ZERO,
        "stage": bill["stage"],
        "uri": uris.get(bill["owner"], ""),
        "content_id": bill["owner"],
        "n_tokens": used.prompt_tokens,
        "n_cached_tokens": used.cached_prompt_tokens,
        "n_answer_tokens": used.answer_tokens,
        "n_retries": bill["n_attempts"] - bill["n_answers"],
        "flops": encoding_flops(n_parameters, n_run),
        "seconds": bill["seconds"],
        "usd": token_price_usd(prices, used) + token_price_usd(prices, wasted),
        "wasted_tokens": wasted.prompt_tokens + wasted.answer_tokens,
    }


def _noted(sums: Mapping[str, int], prices: LlmBudgetSettings, n_devices: int) -> Row:
    """What no answer bears: requests that failed for good, and the time of the devices."""
    wasted = Usage(sums[WASTED_PROMPT], 0, sums[WASTED_ANSWER])
    hours = sums[DEVICE_MS] / 3_600_000
    return {
        **ZERO,
        "stage": STAGE,
        "usd": token_price_usd(prices, wasted) + hours * prices.usd_per_gpu_hour,
        "seconds": sums[DEVICE_MS] / 1000 / n_devices,
        "wasted_tokens": wasted.prompt_tokens + wasted.answer_tokens,
    }


def _tokens(rows: Sequence[Row]) -> dict[str, int]:
    names = {"llm_prompt": "n_tokens", "llm_cached": "n_cached_tokens", "llm_answer": "n_answer_tokens"}
    return {name: sum(row[column] for row in rows) for name, column in names.items()}


def _totals(bills: Sequence[Row], rows: Sequence[Row], noted: Row) -> dict[str, float]:
    return {
        "answers": sum(bill["n_answers"] for bill in bills),
        "retries": sum(row["n_retries"] for row in rows),
        "wasted_tokens": sum(row["wasted_tokens"] for row in rows),
        "request_seconds": sum(bill["seconds"] for bill in bills),
        "busy_seconds": noted["seconds"],
        "usd": sum(row["usd"] for row in rows),
    }


def _uris(context: RunContext, reading: Iterable[FileEntry]) -> dict[str, str]:
    """The first document of each content that was read in this run."""
    found: dict[str, str] = {}
    for entry in reading:
        table: pa.Table = read_table(context.store, entry, ["uri", "content_id"])
        for uri, name in zip(strings(table, "uri"), strings(table, "content_id"), strict=True):
            found[name] = min(uri, found.get(name, uri))
    return found


def bill_table(bill: LlmBill) -> pa.Table:
    """The rows of a bill as a part of the ledger."""
    return pa.Table.from_pylist(list(bill.rows), LEDGER)

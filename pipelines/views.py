"""A command's answer as a person reads it. Fits 80 columns; every text from outside goes through `safe`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipelines.config import Setting, Settings, in_words
from pipelines.output import print_indented, print_pairs, print_table, safe, snippet
from pipelines.progress import format_duration
from pipelines.wording import n_of

if TYPE_CHECKING:
    from rich.console import Console

SNIPPET_CHARS = 230
_ORDER = (
    "listed", "indexed", "unchanged", "empty", "failed", "deleted", "stale", "total", "encoded", "reused", "removed",
)  # fmt: skip
_PLANNED_NAMES = {"flop": "FLOPs"}


def show_report(report: Mapping[str, Any], root: str, console: "Console") -> None:
    """The summary of a run."""
    version = report["version"]
    if report["published"]:
        console.print(f"Published version {safe(str(version))} in {safe(root)}", soft_wrap=True)
    else:
        console.print(f"Nothing had changed; version {safe(str(version))} stays current", soft_wrap=True)
    documents = report["documents"]
    parts = [f"{documents[key]:,} {key}" for key in ("indexed", "unchanged", "empty", "failed")]
    pairs = [
        ("documents", f"{documents['listed']:,} listed = {' + '.join(parts)}"),
        ("", f"{documents['deleted']:,} deleted"),
        *outcome_pairs(report["outcomes"]),
        ("units", counts_in_words(report["units"])),
        ("over limit", _over_limit(report["over_limit"])),
        ("tokens", counts_in_words(_without_unused_llm(report["tokens"]))),
        *llm_pairs(report["llm"]),
        ("FLOPs", f"{report['flops']:.3g}"),
        ("time", _times(report["seconds"])),
    ]
    if "planned" in report:
        pairs.append(("planned", safe(planned_in_words(report["planned"]))))
    print_pairs(console, pairs)
    if report.get("n_failures"):
        console.print(f"`corpusmill failures {safe(root)}` lists {_failures_in_words(report)}", soft_wrap=True)


def show_hits(hits: Sequence[Mapping[str, Any]], fan_in: float | None, console: "Console") -> None:
    """Hits, best first: score, document and span, heading path, how the text begins, and what stood for passages."""
    if not hits:
        console.print("no hits")
    for rank, hit in enumerate(hits, start=1):
        console.print(f"{rank}. {hit['score']:.4f}  {safe(hit['uri'])} [{hit['start']}:{hit['end']}]", style="bold")
        others = [uri for uri in hit["uris"] if uri != hit["uri"]]
        if others:
            console.print(f"   also in {', '.join(map(safe, others[:3]))}{_more(len(others) - 3)}")
        if hit["heading_path"]:
            console.print("   " + " > ".join(map(safe, hit["heading_path"])), style="italic")
        if matched := hit["matched"]:
            place = f"[{matched['start']}:{matched['end']}]"
            print_indented(console, f"matched {place} {snippet(matched['text'], SNIPPET_CHARS)}")
        print_indented(console, snippet(hit["text"], SNIPPET_CHARS))
    if fan_in is not None and any(hit["matched"] for hit in hits):
        console.print(f"fan-in: {fan_in:.2f} units matched for each passage; near 1, the hits are scattered")


def show_status(payload: Mapping[str, Any], root: str, console: "Console") -> None:
    """The current version and what it holds."""
    recall = payload["recall_at_10"]
    settings = payload["settings"]
    pairs = [
        ("version", payload["version"]),
        ("made", payload["created_at"] + (f", from {payload['base']}" if payload["base"] else "")),
        ("documents", counts_in_words(payload["documents"])),
        ("units", counts_in_words(payload["units"])),
        ("encoder", payload["encoder"].get("settings", {}).get("encoder", "unknown")),
        ("chunker", settings.get("chunking", {}).get("chunker", "unknown") + _rewritten(settings)),
        ("index", f"{', '.join(payload['index_kinds']) or 'none'} in {n_of(payload['n_shards'], 'shard')}"),
        ("recall@10", "not measured" if recall is None else f"{recall:.3f}"),
        ("files", f"{payload['n_files']:,}, {format_bytes(payload['n_bytes'])}"),
        (
            "store",
            f"{payload['n_stored_files']:,} files, {format_bytes(payload['n_stored_bytes'])}, "
            f"{n_of(payload['n_versions'], 'version')}",
        ),
        ("last run", _times(payload["seconds"])),
        *(("live run", run) for run in payload["live_runs"]),
        *(("cut short", run) for run in payload["interrupted_runs"]),
        ("ledger", f"{len(payload['ledger'])} files; --json names them"),
    ]
    print_pairs(console, [(name, safe(str(value))) for name, value in pairs])
    if payload["n_failures"]:
        said = f"`corpusmill failures {safe(root)}` lists {_failures_in_words(payload)}"
        console.print(f"failures   {said}", soft_wrap=True)


def _rewritten(settings: Mapping[str, Any]) -> str:
    rewrite = settings.get("rewriting", {}).get("rewrite", "none")
    return "" if rewrite == "none" else f", rewritten as {rewrite}"


def _failures_in_words(payload: Mapping[str, Any]) -> str:
    return f"the {n_of(payload['n_failures'], 'failure')}" if payload["n_failures"] > 1 else "the failure"


def show_failures(payload: Mapping[str, Any], console: "Console") -> None:
    """Each dead letter: the document, the stage, the reason and what was said."""
    for row in payload["failures"]:
        console.print(safe(row["uri"] or row["file"]), soft_wrap=True)
        detail = f"; {row['detail']}" if row["detail"] else ""
        kept = "; its last good content is still served" if row["stale"] else ""
        print_indented(console, safe(f"{row['stage']}: {row['reason'].replace('_', ' ')}{detail}{kept}"))
    n_more = payload["n_failures"] - len(payload["failures"])
    if n_more or not payload["n_failures"]:
        console.print(f"and {n_more:,} more; --show N shows N" if n_more else "nothing failed")


def show_faults(payload: Mapping[str, Any], console: "Console") -> None:
    """Each fault on a line of its own, or that there is none."""
    for fault in payload["faults"]:
        console.print(safe(f"{fault['path']}: {fault['problem']}"), soft_wrap=True)
    name = f"version {safe(payload['version'])}" if payload["version"] else "the current version"
    console.print(f"{name}: {'sound' if payload['sound'] else n_of(len(payload['faults']), 'fault')}", soft_wrap=True)


def show_removed(payload: Mapping[str, Any], console: "Console") -> None:
    """What was removed and what was kept."""
    pairs = [
        ("removed", _names(payload["removed_versions"])),
        ("kept", _names(payload["kept_versions"])),
        ("freed", f"{payload['n_removed_files']:,} files, {payload['n_removed_bytes']:,} bytes"),
        *_answer_pairs(payload),
        ("going on", _names(payload["live_runs"])),
    ]
    print_pairs(console, pairs)


def _answer_pairs(payload: Mapping[str, Any]) -> list[tuple[str, str]]:
    removed, kept = payload["n_removed_answers"], payload["n_kept_answers"]
    said = f"{removed:,} removed, {payload['n_removed_answer_bytes']:,} bytes; {kept:,} kept"
    return [("answers", said)] if removed or kept else []


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(safe, names)) or "none"


def show_versions(rows: Sequence[Mapping[str, Any]], console: "Console") -> None:
    """Versions, newest first."""
    cells = [
        (
            ("* " if row["is_current"] else "  ") + safe(row["version"]),
            safe(row["created_at"])[:19],
            f"{row['n_documents']:,}",
            f"{row['n_units']:,}",
            format_bytes(row["n_bytes"]),
        )
        for row in rows
    ]
    print_table(console, ("  version", "made", "documents", "units", "size"), cells)


def setting_row(setting: Setting, settings: Settings) -> dict[str, Any]:
    """What `corpusmill config` says of one setting."""
    return {
        "section": setting.section,
        "value": getattr(getattr(settings, setting.section), setting.name),
        "default": setting.default,
        "unit": setting.unit,
        "choices": list(setting.choices),
        "meaning": setting.description,
    }


def show_settings(rows: Mapping[str, Mapping[str, Any]], console: "Console") -> None:
    """Every setting, section by section."""
    for section in Settings.model_fields:
        console.print(f"[{section}]", style="bold")
        for name, row in rows.items():
            if row["section"] == section:
                default = "" if row["value"] == row["default"] else f" (default {in_words(row['default'])})"
                console.print(f"  {name} = {safe(in_words(row['value']) + default)}", soft_wrap=True)
                kind = f" [{' | '.join(row['choices']) or row['unit']}]" if row["choices"] or row["unit"] else ""
                print_pairs(console, [("     ", row["meaning"] + kind)])
        console.print()


def format_bytes(n_bytes: int) -> str:
    """Decimal units.

    >>> [format_bytes(n) for n in (12, 2_500, 3_200_000)]
    ['12 B', '2.5 kB', '3.2 MB']
    """
    size, units = float(n_bytes), ["B", "kB", "MB", "GB", "TB"]
    while size >= 999.95 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{n_bytes} B" if units[0] == "B" else f"{size:.1f} {units[0]}"


def planned_in_words(planned: Mapping[str, Any]) -> str:
    """The counts that were foretold of a run, beside those that it came to.

    >>> planned_in_words({"encoder_tokens": {"planned": 100, "measured": 99}, "source": "dry run"})
    '100 encoder tokens (measured 99); by dry run'
    """
    pairs = ", ".join(
        f"{_count_in_words(pair['planned'])} {_PLANNED_NAMES.get(name, name.replace('_', ' '))} "
        f"(measured {_count_in_words(pair['measured'])})"
        for name, pair in planned.items()
        if name != "source"
    )
    return f"{pairs}; by {planned['source']}"


def _count_in_words(value: float) -> str:
    return f"{value:,.0f}" if value < 1e9 else f"{value:.3g}"


def counts_in_words(counts: Mapping[str, int]) -> str:
    """Counts by name, totals first, and outcomes in the order in which a run tells them."""
    is_outcome = not counts.keys().isdisjoint(("listed", "total"))
    order = {name: place for place, name in enumerate(_ORDER)} if is_outcome else {}
    in_order = sorted(counts.items(), key=lambda item: order.get(item[0], len(order)))
    return ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in in_order) or "none"


def outcome_pairs(outcomes: Mapping[str, int]) -> list[tuple[str, str]]:
    """What was counted beside the documents themselves: failures by stage and reason, chunkers, and notes."""
    plain = {"listed", "indexed", "unchanged", "empty", "failed", "deleted", "stale"}
    groups: dict[str, dict[str, int]] = {"failures": {}, "cut by": {}, "noted": {}}
    for name, count in outcomes.items():
        if name in plain or not count:
            continue
        kind, _, rest = name.partition(":")
        group = {"failed": "failures", "unit_failed": "failures", "chunker": "cut by"}.get(kind, "noted")
        shown = rest.replace(":", ": ") if rest else name
        groups[group][("unit " if kind == "unit_failed" else "") + shown] = count
    return [(label, safe(_nested_counts_in_words(counts))) for label, counts in groups.items() if counts]


def _nested_counts_in_words(counts: Mapping[str, int]) -> str:
    """Counts by name, those of `name.reason` in brackets behind `name`.

    >>> _nested_counts_in_words({"rejected_prefixes": 3, "rejected_prefixes.empty": 2, "rejected_prefixes.echo": 1})
    '3 rejected prefixes (2 empty, 1 echo)'
    """
    parts: dict[str, dict[str, int]] = {name: {} for name in counts}
    for name, count in counts.items():
        whole, _, reason = name.partition(".")
        if reason and whole in counts:
            parts[whole][reason] = count
            del parts[name]
    said = (
        counts_in_words({name: counts[name]}) + (f" ({counts_in_words(parts[name])})" if parts[name] else "")
        for name in parts
    )
    return ", ".join(said)


def llm_pairs(llm: Mapping[str, float]) -> list[tuple[str, str]]:
    """What a language model was asked and paid, in one line; none where none was asked.

    >>> llm_pairs({"answers": 3, "retries": 1, "wasted_tokens": 0, "busy_seconds": 0.5, "usd": 0.02})
    [('LLM', '3 answers, 1 retries, 0 wasted tokens, busy 0.5 s, 0.02 USD')]
    """
    if not llm.get("answers") and not llm.get("wasted_tokens"):
        return []
    counted = ", ".join(
        f"{llm[name]:,.0f} {name.replace('_', ' ')}" for name in ("answers", "retries", "wasted_tokens")
    )
    money = f"{llm['usd']:.3g} USD" if llm["usd"] else "no price stated"
    return [("LLM", f"{counted}, busy {llm['busy_seconds']:.1f} s, {money}")]


def _over_limit(over: Mapping[str, float]) -> str:
    return f"{over['share']:.1%} of units: {over['units']:,} were split, {over['inputs']:,} were not read to their end"


def _without_unused_llm(tokens: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in tokens.items() if count or not name.startswith("llm_")}


def _times(seconds: Mapping[str, float]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {format_duration(value)}" for name, value in seconds.items()) or "none"


def _more(n: int) -> str:
    return f" and {n} more" if n > 0 else ""

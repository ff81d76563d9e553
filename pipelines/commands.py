"""What each command does. Every command takes parsed arguments and returns an `Outcome`; none prints."""

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from models.errors import SettingsError, StoreError
from pipelines.arguments import build_parser, flags_of, setting_overrides
from pipelines.config import Settings, in_words, load_settings, setting_fields, settings_schema
from pipelines.output import Outcome, print_pairs, print_table, safe, snippet
from pipelines.progress import format_duration, watch_progress

if TYPE_CHECKING:
    from rich.console import Console

    from models.settings import EncoderSettings
    from transforms.store.files import Store
    from transforms.store.manifest import Manifest

SNIPPET_CHARS = 230


def run_command(name: str, arguments: argparse.Namespace, beam_flags: list[str]) -> Outcome:
    """Run the command called `name`; `beam_flags` are for `ingest` only."""
    if name == "ingest":
        return ingest(arguments, beam_flags)
    commands: dict[str, Callable[[argparse.Namespace], Outcome]] = {
        "search": search,
        "status": status,
        "verify": verify,
        "versions": versions,
        "rollback": rollback,
        "gc": gc,
        "chunk": chunk,
        "config": config,
    }
    return commands[name](arguments)


def ingest(arguments: argparse.Namespace, beam_flags: list[str]) -> Outcome:
    """Bring an index up to date with its corpus."""
    from pipelines.beam_options import beam_arguments

    settings = _settings(arguments)
    if not settings.reading.input:
        raise SettingsError("no input: name file patterns after --input, or as input in section reading of --config")
    own_flags = flags_of(build_parser(only="ingest"), "ingest")
    beam_args = beam_arguments(beam_flags, own_flags)
    from pipelines.ingest import run_ingest

    report = run_ingest(settings, arguments.output, beam_args, watch_progress).to_json()
    return Outcome(report, partial(_show_report, report, arguments.output))


def search(arguments: argparse.Namespace) -> Outcome:
    """Answer a question from an index."""
    from pipelines.search import open_index

    if not arguments.question.strip():
        raise SettingsError("the question is empty; put it in quotes after ROOT")
    encoder = _encoder_of_version(arguments)
    index = open_index(arguments.root, arguments.version, encoder)
    hits = [_hit(hit) for hit in index.search([arguments.question], arguments.k)[0]]
    return Outcome({"hits": hits}, partial(_show_hits, hits))


def status(arguments: argparse.Namespace) -> Outcome:
    """Show the current version and what it holds."""
    manifest = _manifest(arguments.root)
    files = manifest.files()
    payload = {
        "version": manifest.version,
        "base": manifest.base,
        "created_at": manifest.created_at,
        "documents": manifest.documents,
        "units": manifest.units,
        "tokens": manifest.tokens,
        "flops": sum(manifest.flops.values()),
        "seconds": manifest.seconds,
        "outcomes": manifest.outcomes,
        "encoder": manifest.encoder,
        "recall_at_10": manifest.gates.recall_at_10,
        "shards": len(manifest.shards),
        "index_kinds": sorted({shard.index_kind for shard in manifest.shards if shard.index_kind}),
        "files": len(files),
        "bytes": sum(file.n_bytes for file in files),
        "failures": [file.path for file in manifest.failures],
        "ledger": [file.path for file in manifest.ledger],
    }
    return Outcome(payload, partial(_show_status, payload))


def config(arguments: argparse.Namespace) -> Outcome:
    """Show every setting, or the JSON Schema of a settings file."""
    if arguments.schema:
        schema = settings_schema()
        return Outcome(schema, lambda console: console.print_json(data=schema, highlight=False))
    settings = _settings(arguments)
    rows = {
        setting.name: {
            "section": setting.section,
            "value": getattr(getattr(settings, setting.section), setting.name),
            "default": setting.default,
            "unit": setting.unit,
            "choices": list(setting.choices),
            "meaning": setting.description,
        }
        for setting in setting_fields().values()
    }
    return Outcome({"settings": rows}, partial(_show_settings, rows))


def _settings(arguments: argparse.Namespace) -> Settings:
    return load_settings(arguments.config, setting_overrides(arguments))


def _show_settings(rows: Mapping[str, Mapping[str, Any]], console: "Console") -> None:
    for section in Settings.model_fields:
        console.print(f"\n[{section}]", style="bold")
        cells = [
            (name, in_words(row["value"]) + _unless_default(row), _kind(row) + row["meaning"])
            for name, row in rows.items()
            if row["section"] == section
        ]
        print_table(console, ("setting", "value", "meaning"), [tuple(map(safe, cell)) for cell in cells])


def _unless_default(row: Mapping[str, Any]) -> str:
    return "" if row["value"] == row["default"] else f" (default {in_words(row['default'])})"


def _kind(row: Mapping[str, Any]) -> str:
    kind = f"one of {', '.join(row['choices'])}" if row["choices"] else row["unit"]
    return f"[{kind}] " if kind else ""

"""What commands share: settings, stores and versions as the arguments name them."""

import argparse
from typing import TYPE_CHECKING

from models.errors import StoreError
from pipelines.arguments import build_parser, flags_of
from pipelines.config import Settings, load_settings
from pipelines.flags import setting_overrides

if TYPE_CHECKING:
    from models.settings import EncoderSettings
    from transforms.store.files import Store
    from transforms.store.manifest import Manifest


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings of file and flags together."""
    return load_settings(arguments.config, setting_overrides(arguments))


def beam_args_of(command: str, beam_flags: list[str]) -> list[str] | None:
    """Beam's flags, checked; None where there are none, and the command works in this process."""
    if not beam_flags:
        return None
    from pipelines.beam_options import beam_arguments

    return beam_arguments(beam_flags, flags_of(build_parser(only=command), command))


def store_at(root: str) -> "Store":
    """The store in the folder `root`."""
    from transforms.store.files import Store

    return Store(root)


def manifest_of(store: "Store", version: str | None = None) -> "Manifest":
    """The manifest of `version`, or the current one. `StoreError` where there is no index."""
    from transforms.store.versions import load_manifest

    manifest = load_manifest(store, version)
    if manifest is None:
        raise no_index(store)
    return manifest


def no_index(store: "Store") -> StoreError:
    """What is said where there is no index."""
    return StoreError(f"no index in {store.root}; `corpusmill ingest --output` makes one")


def encoder_of_version(arguments: argparse.Namespace) -> "EncoderSettings | None":
    """The version's own encoder settings with the flags over them; None, which means just the same, without flags."""
    flags = setting_overrides(arguments)
    if not flags:
        return None
    stored = manifest_of(store_at(arguments.root), arguments.version).encoder.get("settings", {})
    return load_settings(None, stored | flags).encoder

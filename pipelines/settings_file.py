"""A settings file as plain values. TOML and YAML, with the traps of YAML (aliases, duplicate keys) shut."""

import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from models.errors import SettingsError
from models.text_files import read_text

MAX_FILE_BYTES = 256 * 1024


def read_settings_file(path: Path) -> Mapping[str, Any]:
    """The values in a .toml, .yaml or .yml file.

    Raises:
        SettingsError: in one line, for a file that is missing, too large, of another kind or not well formed.
    """
    parse = {".toml": _parse_toml, ".yaml": _parse_yaml, ".yml": _parse_yaml}.get(path.suffix.lower())
    if parse is None:
        raise SettingsError(f"{str(path)!a} must end in .toml, .yaml or .yml")
    text = read_text(path, MAX_FILE_BYTES, "that is no settings file")
    try:
        values = parse(text)
    except RecursionError as error:
        raise SettingsError(f"{str(path)!a} is nested too deeply; it must hold sections of plain values") from error
    except ValueError as error:
        raise SettingsError(f"{str(path)!a}: {' '.join(str(error).split())}") from error
    if not isinstance(values, Mapping):
        raise SettingsError(f"{str(path)!a} must hold sections, such as [chunking], with settings in them")
    return values


def check_new_file(path: Path) -> None:
    """SettingsError unless a settings file can be written there: .toml, new, in a folder that is there."""
    if path.suffix != ".toml":
        raise SettingsError(f"{str(path)!a} must end in .toml")
    if path.exists():
        raise SettingsError(f"{str(path)!a} exists; name a new file after --write")
    if not path.parent.is_dir():
        raise SettingsError(f"{str(path.parent)!a} is no folder; make it first")


def _parse_toml(text: str) -> Any:
    return tomllib.loads(text)


def _parse_yaml(text: str) -> Any:
    try:
        values = yaml.load(text, _PlainLoader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    return {} if values is None else values


class _PlainLoader(yaml.SafeLoader):
    """PyYAML's safe loader without aliases (a small file can unfold to gigabytes) and without silent duplicates."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            line = self.peek_event().start_mark.line + 1
            raise ValueError(f"line {line}: aliases are not taken; repeat the value")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = Counter(str(key.value) for key, _ in node.value)
        twice, count = keys.most_common(1)[0] if keys else ("", 0)
        if count > 1:
            raise ValueError(f"line {node.start_mark.line + 1}: {twice!a} is given twice; keep one")
        return super().construct_mapping(node, deep)

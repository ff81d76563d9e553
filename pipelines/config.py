"""One frozen settings object, read from a TOML or YAML file and from flags. Every mistake is one line.

The sections come from `transforms.settings` and `models.settings`. Names are unique across sections, so a flag needs
no section: `--window-tokens 200` sets `window_tokens` of `[chunking]`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from models.errors import SettingsError
from models.llm.settings import LlmBudgetSettings, LlmServerSettings, LlmSettings
from models.settings import EncoderSettings, Section
from pipelines.settings_file import read_settings_file
from pipelines.wording import shown, suggestion
from transforms.rewriting.settings import BoundarySettings, PicSettings, RewritingSettings
from transforms.settings import ChunkingSettings, IndexSettings, ReadingSettings, RunSettings, SemanticSettings


class Settings(Section):
    """Everything that decides what a run does."""

    reading: Annotated[ReadingSettings, Field(description="what is read")] = ReadingSettings()
    chunking: Annotated[ChunkingSettings, Field(description="how documents are cut")] = ChunkingSettings()
    semantic: Annotated[SemanticSettings, Field(description="how semantic cuts are found")] = SemanticSettings()
    pic: Annotated[PicSettings, Field(description="how cuts by nearness to a summary are found")] = PicSettings()
    boundaries: Annotated[BoundarySettings, Field(description="which documents a language model cuts")] = (
        BoundarySettings()
    )
    rewriting: Annotated[RewritingSettings, Field(description="what a language model writes for units")] = (
        RewritingSettings()
    )
    llm: Annotated[LlmSettings, Field(description="the language model and how it is asked")] = LlmSettings()
    llm_server: Annotated[LlmServerSettings, Field(description="how vLLM is started where no endpoint is given")] = (
        LlmServerSettings()
    )
    llm_budget: Annotated[LlmBudgetSettings, Field(description="prices, and what a run may spend")] = (
        LlmBudgetSettings()
    )
    encoder: Annotated[EncoderSettings, Field(description="the model that makes the vectors")] = EncoderSettings()
    index: Annotated[IndexSettings, Field(description="the index and what it must reach")] = IndexSettings()
    run: Annotated[RunSettings, Field(description="guards and limits of one run")] = RunSettings()


_UNITS = {
    "usd": "USD",
    "hours": "hours",
    "seconds": "seconds",
    "parameters": "parameters",
    "tokens": "tokens",
    "bytes": "bytes",
    "chars": "characters",
    "units": "units",
    "queries": "queries",
    "sentences": "sentences",
    "percentile": "0 to 100",
    "distance": "0 to 2",
    "deviations": "standard deviations",
    "iqrs": "inter-quartile ranges",
    "vectors": "vectors",
    "share": "share, 0 to 1",
    "recall": "share, 0 to 1",
    "gb": "GB",
    "utilization": "share, 0 to 1",
    "spread": "0 to 2",
    "requests": "requests",
    "attempts": "attempts",
    "parallel": "devices",
    "processes": "processes",
    "temperature": "0 to 2",
}


@dataclass(frozen=True)
class Setting:
    """One field of a section. `schema` is its JSON Schema, which also words what a value must be."""

    section: str
    name: str
    info: FieldInfo
    schema: Mapping[str, Any]

    @property
    def flag(self) -> str:
        """`--window-tokens` for `window_tokens`."""
        return "--" + self.name.replace("_", "-")

    @property
    def default(self) -> Any:
        """The value that holds where none is given."""
        return self.info.default

    @property
    def description(self) -> str:
        """The meaning, in one line."""
        return self.info.description or ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of a setting that has a fixed list of them."""
        return tuple(self.schema.get("enum", ()))

    @property
    def is_switch(self) -> bool:
        """True for a yes-or-no setting."""
        return self.schema.get("type") == "boolean"

    @property
    def is_list(self) -> bool:
        """True for a setting that takes several values."""
        return self.schema.get("type") == "array"

    @property
    def expectation(self) -> str:
        """What a value must be, such as `a whole number above 0, or none`."""
        branches = [_expectation(branch) for branch in self.schema.get("anyOf", [self.schema])]
        return ", or ".join(branches)

    @property
    def unit(self) -> str:
        """The unit of a number, read off its name; empty for texts, choices and switches."""
        if self.metavar != "N":
            return ""
        return next((unit for part, unit in _UNITS.items() if part in self.name.split("_")), "number")

    @property
    def metavar(self) -> str:
        """The word that stands for the value in help texts."""
        numeric = any(branch.get("type") in ("integer", "number") for branch in self.schema.get("anyOf", [self.schema]))
        return "N" if numeric else "NAME" if self.choices else "TEXT"

    @property
    def facts(self) -> str:
        """Choices or unit, and the default, such as `tokens; default 32`."""
        kind = f"one of {', '.join(self.choices)}" if self.choices else self.unit
        default = f"default {in_words(self.default)}"
        return f"{kind}; {default}" if kind else default

    def parse(self, text: str | list[str] | bool) -> Any:
        """A flag's text as the setting's type; the text itself where that fails, for validation to name it."""
        if text == "none" and self.default is None:
            return None
        try:
            return _adapter(self.section, self.name).validate_python(text, strict=False)
        except ValidationError:
            return text


@cache
def setting_fields() -> Mapping[str, Setting]:
    """Every setting by name, in the order of the sections."""
    definitions = settings_schema()["$defs"]
    found: dict[str, Setting] = {}
    for section, section_info in Settings.model_fields.items():
        model = section_info.annotation
        assert isinstance(model, type) and issubclass(model, Section)
        properties = definitions[model.__name__]["properties"]
        found |= {name: Setting(section, name, info, properties[name]) for name, info in model.model_fields.items()}
    return found


@cache
def settings_schema() -> dict[str, Any]:
    """The JSON Schema of a settings file."""
    return Settings.model_json_schema() | {"$schema": "https://json-schema.org/draft/2020-12/schema"}


def load_settings(file: str | Path | None = None, overrides: Mapping[str, Any] | None = None) -> Settings:
    """Settings from `file` (.toml, .yaml or .yml), with `overrides` (setting name to a flag's text) laid over them.

    Raises:
        SettingsError: in one line, with the setting, its value and what would be right.
    """
    values = _checked_sections(read_settings_file(Path(file))) if file is not None else {}
    for name, text in (overrides or {}).items():
        setting = _known_setting(name)
        values.setdefault(setting.section, {})[name] = setting.parse(text)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise SettingsError(_one_line(error.errors()[0])) from error


def in_words(value: Any) -> str:
    """A setting's value as a person writes it.

    >>> [in_words(value) for value in (None, True, ("a", "b"), "", 0.2)]
    ['none', 'yes', 'a b', 'empty', '0.2']
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        value = " ".join(value)
    return "none" if value is None else "empty" if value == "" else str(value)


def _checked_sections(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """A file's sections with known names only, and lists as the tuples that settings hold."""
    checked: dict[str, dict[str, Any]] = {}
    for section, content in values.items():
        if section not in Settings.model_fields:
            raise SettingsError(_unknown_section(section))
        if not isinstance(content, Mapping):
            raise SettingsError(f"{section} = {shown(content)} must be a section with settings in it")
        checked[section] = {(name := _name_in(section, key)): _from_file(name, content[key]) for key in content}
    return checked


def _name_in(section: str, key: object) -> str:
    own = [name for name, setting in setting_fields().items() if setting.section == section]
    if isinstance(key, str) and key in own:
        return key
    other = setting_fields().get(str(key))
    where = f"; {other.name} belongs in section {other.section}" if other else suggestion(str(key), own)
    raise SettingsError(f"unknown setting {shown(key)} in section {section}{where or _see_list()}")


def _unknown_section(section: object) -> str:
    setting = setting_fields().get(str(section))
    if setting:
        return f"{setting.name} stands outside any section; it belongs in section {setting.section}"
    hint = suggestion(str(section), Settings.model_fields) or f"; the sections are {', '.join(Settings.model_fields)}"
    return f"unknown section {shown(section)}{hint}"


def _known_setting(name: str) -> Setting:
    if name not in setting_fields():
        raise SettingsError(f"unknown setting {shown(name)}{suggestion(name, setting_fields()) or _see_list()}")
    return setting_fields()[name]


def _see_list() -> str:
    return "; `corpusmill config` lists the settings"


def _from_file(name: str, value: Any) -> Any:
    """A file's value as a section holds it: lists are tuples, and the text `none` (TOML has no null) is None."""
    if value == "none" and setting_fields()[name].default is None:
        return None
    return tuple(value) if isinstance(value, list) else value


@cache
def _adapter(section: str, name: str) -> TypeAdapter[Any]:
    info = setting_fields()[name].info
    annotation: Any = info.annotation
    for constraint in info.metadata:
        annotation = Annotated[annotation, constraint]
    return TypeAdapter(annotation)


def _one_line(error: ErrorDetails) -> str:
    """A validation error in this program's words. A section's own check (two settings at odds) words itself."""
    if error["type"] == "value_error":
        return str(error.get("ctx", {}).get("error", error["msg"]))
    setting = setting_fields()[str(error["loc"][1])]
    value = error["input"]
    quotes = f'; write it in quotes: "{value}"' if error["type"] == "string_type" and isinstance(value, int) else ""
    close = suggestion(str(value), setting.choices)
    return f"{setting.name} = {shown(value)} must be {setting.expectation}{close}{quotes} ({setting.description})"


def _expectation(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(schema["enum"])
    words = {
        "integer": "a whole number",
        "number": "a number",
        "boolean": "true or false",
        "null": "none",
        "array": "a list of texts",
        "string": "a text",
    }
    return "of the form described here" if "pattern" in schema else words[schema["type"]] + _bounds(schema)


def _bounds(schema: Mapping[str, Any]) -> str:
    parts = [
        f"{word} {schema[key]:g}"
        for key, word in (("exclusiveMinimum", "above"), ("minimum", "from"), ("maximum", "up to"))
        if key in schema
    ]
    return " " + " ".join(parts) if parts else ""

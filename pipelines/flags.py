"""Flags that several commands share: their values, one flag for every setting, and the settings given by flags."""

import argparse
import re
from collections.abc import Sequence
from typing import Any

BEAM_FLAGS = "Any other flag is handed to Apache Beam, such as --runner or --direct_num_workers."
CUTTING_SECTIONS = ("reading", "chunking", "semantic", "pic", "boundaries", "llm", "llm_server", "llm_budget")
"""The sections that decide what the units of a document are, and what finding them takes."""

_SETTING_PREFIX = "setting:"
_HOURS = {"s": 1 / 3600, "m": 1 / 60, "h": 1.0, "d": 24.0, "w": 168.0}


def is_setting(destination: str) -> bool:
    """Whether an argument, by its destination, is a setting's flag."""
    return destination.startswith(_SETTING_PREFIX)


def setting_overrides(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings given as flags, by name, as text."""
    given = vars(arguments).items()
    return {name.removeprefix(_SETTING_PREFIX): text for name, text in given if is_setting(name)}


def add_setting_flags(parser: argparse.ArgumentParser, *sections: str, without: Sequence[str] = ()) -> None:
    """One flag for every setting of `sections` but those named in `without`, worded by the settings' own schema."""
    from pipelines.config import Settings, setting_fields

    for section in sections:
        group = parser.add_argument_group(f"settings [{section}]", Settings.model_fields[section].description)
        for setting in setting_fields().values():
            if setting.section != section or setting.name in without:
                continue
            text = f"{setting.description} ({setting.facts})".replace("%", "%%")
            options: dict[str, Any] = {"metavar": setting.metavar}
            if setting.is_switch:
                options = {"action": argparse.BooleanOptionalAction}
            elif setting.is_list:
                options |= {"nargs": "+", "action": "extend"}
            group.add_argument(
                setting.flag, dest=_SETTING_PREFIX + setting.name, default=argparse.SUPPRESS, help=text, **options
            )


def hours(text: str) -> float:
    """A duration such as 30m, 24h or 7d, in hours.

    >>> hours("30m"), hours("7d")
    (0.5, 168.0)
    """
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)([smhdw])", text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!a} must be a number with a unit, such as 30m, 24h or 7d")
    return float(match[1]) * _HOURS[match[2]]


def positive(text: str) -> int:
    """A whole number above 0."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!a} must be a whole number above 0 and below 10^9")
    return int(text)


def natural(text: str) -> int:
    """A whole number from 0."""
    return 0 if re.fullmatch(r"0{1,9}", text) else positive(text)


def count(text: str) -> int:
    """A whole number above 0, up to 10^12, in digits (1000000), with underscores (1_000_000) or as a power (1e6).

    >>> count("2_000"), count("1e9")
    (2000, 1000000000)
    """
    plain = text.replace("_", "")
    power = re.fullmatch(r"([1-9]\d{0,3})e(\d{1,2})", plain)
    number = int(power[1]) * 10 ** int(power[2]) if power else int(plain) if re.fullmatch(r"\d{1,13}", plain) else 0
    if not 0 < number <= 10**12:
        raise argparse.ArgumentTypeError(f"{text!a} must be a whole number above 0, up to 1e12")
    return number


def share(text: str) -> float:
    """A share such as 0.05 or 5%, from 0 to 1.

    >>> share("5%"), share("0.05")
    (0.05, 0.05)
    """
    match = re.fullmatch(r"(\d{1,3}(?:\.\d{1,9})?)(%?)", text.strip())
    value = float(match[1]) / (100 if match[2] else 1) if match else -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!a} must be a share, from 0 to 1 or 0% to 100%")
    return value


def add_root(parser: argparse.ArgumentParser) -> None:
    """The folder of an index."""
    parser.add_argument("root", metavar="ROOT", help="folder of the index")


def add_config(parser: argparse.ArgumentParser) -> None:
    """A settings file."""
    parser.add_argument("--config", metavar="FILE", help="settings file, .toml or .yaml; flags go over it")


def add_prices(parser: argparse.ArgumentParser) -> None:
    """What a plan takes on trust."""
    parser.add_argument(
        "--prices", metavar="FILE", help="TOML file of prices, speeds and assumptions (docs/plan.md lists them)"
    )
    parser.add_argument(
        "--turnover", type=share, metavar="SHARE", help="share of the documents that a week changes (default 5%%)"
    )


def add_cuts(parser: argparse.ArgumentParser) -> None:
    """What is retrieved for a question, and how it is counted."""
    parser.add_argument("--k", type=positive, default=5, metavar="N", help="units retrieved (a number, default 5)")
    parser.add_argument(
        "--budget-tokens", type=positive, default=1000, metavar="N", help="tokens retrieved (a number, default 1000)"
    )
    parser.add_argument(
        "--count-with",
        default="encoder",
        metavar="NAME",
        help="whose tokens these are: 'encoder', or an LLM's as 'tiktoken:cl100k_base' (default encoder)",
    )
    parser.add_argument(
        "--max-lost-share",
        type=share,
        default=0.1,
        metavar="N",
        help="share of the questions that may be left out because a reference is lost (0 to 1, default 0.1)",
    )
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="of the bootstrap (a number, default 0)")

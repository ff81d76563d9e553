"""Flags that would change nothing: a setting of a chunker that was not chosen is a mistake, and is said so.

Only flags are looked at. A settings file may hold the settings of several chunkers, of which one is chosen.
"""

from collections.abc import Callable, Iterable, Mapping

from models.errors import SettingsError
from pipelines.config import Settings, setting_fields

Test = Callable[[Settings], bool]


def check_flags_are_used(settings: Settings, names: Iterable[str]) -> None:
    """`SettingsError` for the first of `names`, settings given as flags, that the chosen settings leave unread."""
    for name in names:
        setting = setting_fields()[name]
        remedy = next((remedy for is_used, remedy in _rules(setting.section, name) if not is_used(settings)), None)
        if remedy is not None:
            raise SettingsError(f"{setting.flag} changes nothing here; {remedy}, or leave it out")


def _rules(section: str, name: str) -> Iterable[tuple[Test, str]]:
    return [rule for rule in (_SECTIONS.get(section), _NAMES.get(name)) if rule is not None]


def _asks(settings: Settings) -> bool:
    return settings.chunking.chunker in ("pic", "llm") or settings.rewriting.rewrite != "none"


def _cuts_by(*chunkers: str) -> Test:
    return lambda settings: settings.chunking.chunker in chunkers


def _rewrites(*kinds: str) -> Test:
    return lambda settings: settings.rewriting.rewrite in kinds


def _threshold(kind: str) -> tuple[Test, str]:
    remedy = f"it goes with --chunker semantic and --threshold {kind}"
    return lambda settings: _semantic(settings) and settings.semantic.threshold == kind, remedy


def _semantic(settings: Settings) -> bool:
    return settings.chunking.chunker == "semantic"


_ASKING = (_asks, "it goes with --chunker pic or llm, or with --rewrite")
_SECTIONS: Mapping[str, tuple[Test, str]] = {
    "pic": (_cuts_by("pic"), "it goes with --chunker pic"),
    "boundaries": (_cuts_by("llm"), "it goes with --chunker llm"),
    "llm": _ASKING,
    "llm_server": _ASKING,
    "llm_budget": _ASKING,
}
_DETECTION = (_cuts_by("semantic", "pic"), "it goes with --chunker semantic or pic")
_CUTS = (_semantic, "it goes with --chunker semantic")
_CUT_NAMES = (
    "detection_windows", "neighbour_sentences", "compare_windows", "threshold", "min_distance", "min_run_sentences",
)  # fmt: skip
_NAMES: Mapping[str, tuple[Test, str]] = {
    "detection_encoder": _DETECTION,
    "detection_revision": _DETECTION,
    **dict.fromkeys(_CUT_NAMES, _CUTS),
    "threshold_percentile": _threshold("percentile"),
    "threshold_distance": _threshold("absolute"),
    "threshold_deviations": _threshold("deviation"),
    "threshold_iqrs": _threshold("iqr"),
    "gradient_percentile": _threshold("gradient"),
    "max_rewritten_units": (_rewrites("propositions", "context"), "it goes with --rewrite propositions or context"),
    "shown_chars": (_rewrites("propositions", "context"), "it goes with --rewrite propositions or context"),
    "max_prefix_tokens": (_rewrites("context"), "it goes with --rewrite context"),
    "max_propositions_tokens": (_rewrites("propositions"), "it goes with --rewrite propositions"),
    "busiest_share": (lambda settings: settings.boundaries.traffic is not None, "it goes with --traffic"),
    "pic_other_document": (lambda settings: settings.pic.pic_anchor == "other", "it goes with --pic-anchor other"),
    "hashing_dimension": (lambda settings: settings.encoder.encoder == "hashing", "it goes with --encoder hashing"),
}

"""The error tree. Every error a person can meet is one line that names the value and the remedy."""


class CorpusmillError(Exception):
    """Root of every error raised on purpose. The command line prints its message and no traceback."""

    exit_code = 1


class SettingsError(CorpusmillError):
    """A setting or a command that cannot work, found before anything starts (exit code 2)."""

    exit_code = 2


class MissingExtraError(SettingsError):
    """An optional dependency is not installed."""


class ModelError(CorpusmillError):
    """A model that cannot be loaded or used as asked."""


class ExtractionError(CorpusmillError):
    """One document (or a whole file) that cannot be turned into text. `reason` is a stable, short key."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class StoreError(CorpusmillError):
    """The store cannot be read or written as asked."""


class DamagedFileError(StoreError):
    """A stored file whose bytes are not those its manifest promises."""


class ConflictError(StoreError):
    """Another run published first."""


class RefusedError(CorpusmillError):
    """A run that stopped itself: a guard tripped, a gate failed or too much went wrong."""

"""One helper for optional dependencies, so that every message about them reads the same."""

import importlib
from types import ModuleType

from models.errors import MissingExtraError


def require(module: str, extra: str) -> ModuleType:
    """The imported `module`, or `MissingExtraError` with the command that installs it.

    >>> require("json", "none").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtraError(f"{module} is not installed; run: pip install 'corpusmill[{extra}]'") from error

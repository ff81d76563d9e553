"""Counts prompts with the model's own tokenizer, before they are sent."""

from collections.abc import Callable, Sequence
from pathlib import Path

import tokenizers

from models.errors import ModelError, SettingsError
from models.llm.settings import LlmSettings
from models.tiktoken_tokenizer import load_tiktoken

CountTokens = Callable[[str], int]

TEMPLATE_TOKENS = 8
"""What a chat template puts around one message: generous, since it only guards."""

# What a template may say of its own, such as a date or how to behave.
_UNSEEN_TOKENS = 256
_BYTES_PER_TOKEN = 4


def surely_fits(texts: Sequence[str], max_answer_tokens: int, context_tokens: int) -> bool:
    """Whether a prompt fits whatever its tokenizer is: no token of ASCII is shorter than a byte. Other texts never do.

    So an endpoint need not be asked to count most prompts, at a request for each.

    >>> surely_fits(["word " * 100], 100, 1000), surely_fits(["word " * 100], 100, 500), surely_fits(["é"], 1, 9999)
    (True, False, False)
    """
    around = _UNSEEN_TOKENS + TEMPLATE_TOKENS * (len(texts) + 1)
    return sum(map(len, texts)) + around + max_answer_tokens <= context_tokens and all(map(str.isascii, texts))


def estimated_tokens(texts: Sequence[str]) -> int:
    """About the tokens of a prompt in a language with ASCII letters."""
    return sum(map(len, texts)) // _BYTES_PER_TOKEN + TEMPLATE_TOKENS * len(texts)


def load_counter(settings: LlmSettings, model: Path | None = None) -> CountTokens | None:
    """What counts the tokens of a text; none where the endpoint is to be asked.

    :param model: folder of the model that vLLM loads, whose tokenizer 'auto' takes.
    :raises SettingsError: `llm_tokenizer` names nothing that counts.
    :raises ModelError: a tokenizer cannot be read.
    """
    name = settings.llm_tokenizer
    if name.startswith("tiktoken:"):
        tokenizer = load_tiktoken(name.removeprefix("tiktoken:"))
        return lambda text: int(tokenizer.count([text])[0])
    if name == "auto":
        own = model / "tokenizer.json" if model is not None and model.is_dir() else None
        return _load_file(own) if own is not None and own.exists() else None
    path = Path(name).expanduser()
    path = path / "tokenizer.json" if path.is_dir() else path
    if not path.is_file():
        raise SettingsError(
            f"llm_tokenizer = {name!r} is no folder with a tokenizer.json, no such file and no tiktoken:NAME"
        )
    return _load_file(path)


def _load_file(path: Path) -> CountTokens:
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise ModelError(
            f"{path} is no tokenizer: {' '.join(str(error).split())[:200]}; take the model's files again"
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False))

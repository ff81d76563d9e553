"""tiktoken's encodings as tokenizers, to count windows and budgets as an LLM's bill counts them.

Offsets come from the code points that begin in each token, so they cost next to nothing beside the encoding itself.
"""

import functools
import hashlib
import re
from collections.abc import Iterator, Sequence

import numpy as np
import regex
import tiktoken
from numpy.typing import NDArray

from models.errors import ModelError, SettingsError
from models.tokenizer import Tokens, empty_tokens

VERSION = 1  # raise it when offsets or word starts change

# The largest input that a budget is asked about; no encoding states a limit of its own.
NO_LIMIT_TOKENS = 1 << 30
# Every encoding begins a token at a space between two other characters, so that a text may be read in parts there.
_PART_END = re.compile(r"(?<=\S) (?=\S)")
_PART_CHARS = 65_536
_SURROGATE = re.compile("[\ud800-\udfff]")
# Han and Hiragana words have no space between them: a cut at any of their characters is as good as between words.
_IN_WORD = regex.compile(r"[[\p{L}\p{M}\p{N}_]--[\p{Han}\p{Hiragana}]]", regex.VERSION1)


class TiktokenTokenizer:
    """One encoding of tiktoken; text that looks like a special token is read as text.

    A token of some bytes of a code point spans all of it, so several tokens may have one place. `word_starts` are the
    tokens that go on no word of letters and digits. A run of over 65,536 characters without a single space between two
    others is read in parts, since the encoding's own pattern fails on one of a million.
    """

    overhead_tokens = 0
    max_word_letters = None
    is_word_local = False

    def __init__(self, encoding: tiktoken.Encoding, max_input_tokens: int = NO_LIMIT_TOKENS) -> None:
        self.max_input_tokens = max_input_tokens
        self._encoding = encoding
        tokens = _token_bytes(encoding)
        self.identity = _hash_of(encoding, tokens)
        self._steps = np.array([*map(_steps, tokens)], np.int16).view(np.int32).ravel()
        self._starts_word = ~np.fromiter(map(_begins_in_word, tokens), np.bool_, len(tokens))
        self._ends_word = ~np.fromiter(map(_ends_in_word, tokens), np.bool_, len(tokens))

    def tokenize(self, text: str) -> Tokens:
        """Tokens of `text`; a token with white space before its first letter begins at the letter."""
        if not text:
            return empty_tokens()
        numbers = self._encode(text) if len(text) <= _PART_CHARS else self._encode_in_parts(text)
        # On a short text each array operation costs more than its arithmetic, and the table must stay in the cache:
        # both steps of a token are looked up as one number, and summed as one.
        places = self._steps.take(numbers).view(np.int16).cumsum(dtype=np.int64)
        return Tokens(places[::2].copy(), places[1::2].copy(), functools.partial(self._find_word_starts, numbers))

    def offsets(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and ends in code points, int64 (n,). Both never fall; tokens inside one code point repeat its span."""
        tokens = self.tokenize(text)
        return tokens.starts, tokens.ends

    def count(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """Tokens of each text, int32 (n,)."""
        return np.array([len(self._encode_in_parts(text)) if text else 0 for text in texts], np.int32)

    def _find_word_starts(self, numbers: NDArray[np.uint32]) -> NDArray[np.bool_]:
        word_starts = self._starts_word.take(numbers)
        word_starts[1:] |= self._ends_word.take(numbers[:-1])
        word_starts[:1] = True
        return word_starts

    def _encode_in_parts(self, text: str) -> NDArray[np.uint32]:
        return np.concatenate([self._encode(text[start:end]) for start, end in _parts(text)])

    def _encode(self, text: str) -> NDArray[np.uint32]:
        try:
            return self._encoding.encode_to_numpy(text, disallowed_special=())  # type: ignore[no-any-return]
        except UnicodeEncodeError:
            return self._encode(_SURROGATE.sub("\ufffd", text))


@functools.lru_cache(maxsize=4)
def load_tiktoken(name: str) -> TiktokenTokenizer:
    """The encoding `name`, such as 'cl100k_base'; a copy that an installed package carries goes before a download.

    Raises SettingsError for a name that tiktoken does not know, ModelError when its vocabulary is out of reach.
    """
    known = tiktoken.list_encoding_names()
    if name not in known:
        raise SettingsError(f"tiktoken has no encoding {name!r}; take one of {', '.join(sorted(known))}")
    offline = f"{name}_offline"
    try:
        return TiktokenTokenizer(tiktoken.get_encoding(offline if offline in known else name))
    except (OSError, ValueError) as error:
        first_line = str(error).strip().split("\n")[0]
        raise ModelError(
            f"the vocabulary of {name!r} cannot be read: {first_line}; set TIKTOKEN_CACHE_DIR to a folder that holds it"
        ) from error


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Yields spans that tile `text`, each up to twice `_PART_CHARS`."""
    start = 0
    while start < len(text):
        limit = start + 2 * _PART_CHARS
        found = _PART_END.search(text, start + _PART_CHARS, limit)
        end = found.start() if found else min(limit, len(text))
        yield start, end
        start = end


def _token_bytes(encoding: tiktoken.Encoding) -> list[bytes]:
    """The bytes of each token by its number; numbers that stand for none have no bytes."""
    tokens = []
    for number in range(encoding.n_vocab):
        try:
            tokens.append(encoding.decode_single_token_bytes(number))
        except KeyError:
            tokens.append(b"")
    return tokens


def _hash_of(encoding: tiktoken.Encoding, tokens: list[bytes]) -> str:
    digest = hashlib.sha256(f"{VERSION}\n{encoding._pat_str}\n".encode())
    digest.update(b"\n".join(token.hex().encode() for token in tokens))
    return digest.hexdigest()


def _steps(token: bytes) -> tuple[int, int]:
    """Code points from the end of the token before to this one's start, and from there to its end.

    A token starts after its white space; where its first byte goes on a code point, one before the last one's end.
    """
    inked = token[_leading_blank_bytes(token) :]
    n_back = _n_begun(inked) + (not _n_begun(inked[:1]))
    return _n_begun(token) - n_back, n_back


def _n_begun(utf8: bytes) -> int:
    """How many code points begin in `utf8`: bytes but those that go on one."""
    return sum(byte & 0xC0 != 0x80 for byte in utf8)


def _leading_blank_bytes(token: bytes) -> int:
    """Bytes of white space in front of what is none; 0 for a token of nothing but white space."""
    text = token.decode("utf-8", "replace")
    rest = text.lstrip()
    return len(text[: len(text) - len(rest)].encode()) if rest else 0


def _begins_in_word(token: bytes) -> bool:
    """Whether the token goes on a word that the one before ends in; bytes inside a code point always do."""
    first = token[:4].decode("utf-8", "ignore")[:1] if token[:1] < b"\x80" or token[:1] > b"\xbf" else "_"
    return _IN_WORD.match(first) is not None


def _ends_in_word(token: bytes) -> bool:
    """Whether a word may go on after the token; it does where the token ends inside a code point."""
    last = token.decode("utf-8", "replace")[-1:]
    return last == "\ufffd" or _IN_WORD.match(last) is not None

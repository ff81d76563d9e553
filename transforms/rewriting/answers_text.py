"""What a free-text answer is worth: trimmed to whole sentences, and seen through where it only repeats the prompt."""

import re
from collections import Counter
from collections.abc import Callable, Sequence

from models.llm.records import Answer, Message

_SENTENCE_END = re.compile(r"[.!?…。！？｡।॥؟۔][\"'”’»)\]」』）】》]*(?=\s|\Z|[^\x00-\x7f])")
_WORDS = re.compile(r"\w+")
_MIN_REPEATED_WORDS = 6
# Controls of terminals and of the direction of writing, and what has no width: they change how a text looks, not what
# it says. Joiners stay: scripts need them.
_UNPRINTABLE = re.compile(
    r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0e-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_TAGS = re.compile(r"</?(?:text|passage)>")
_JSON_HEAD = re.compile(r'\{|\[\s*[\[{"\d\]-]')


def prose_of(answer: Answer, max_chars: int, counts: Counter[str]) -> str:
    """An answer's text on one line, up to its last whole sentence where it was cut or is longer.

    Counts: `unprintable_marks`.
    """
    is_cut = answer.is_cut or len(answer.text) > max_chars
    text = whole_sentences(answer.text[:max_chars]) if is_cut else answer.text
    counts["unprintable_marks"] += n_unprintable(text)
    return one_line(text)


def is_prose(text: str) -> bool:
    """Whether a text is none of the JSON or code that other questions ask for.

    >>> is_prose("About a mill."), is_prose('{"cut_after": [2]}'), is_prose("[1, 2]"), is_prose("[sic] it turns.")
    (True, False, False, True)
    """
    return "```" not in text and _JSON_HEAD.match(text) is None


def n_unprintable(text: str) -> int:
    """How many marks of `text` are taken out, or stand for what could not be read."""
    return len(_UNPRINTABLE.findall(text)) + text.count("\ufffd")


def whole_sentences(text: str) -> str:
    """`text` up to the end of its last whole sentence; all of it where none ends.

    >>> whole_sentences("The fee is 4.20 euros. It rises to")
    'The fee is 4.20 euros.'
    """
    last = 0
    for match in _SENTENCE_END.finditer(text):
        last = match.end()
    return text[:last] if last else text


def one_line(text: str) -> str:
    """`text` without line breaks, runs of white space, unprintable marks, and tags or quotes around all of it."""
    line = " ".join(_TAGS.sub(" ", _UNPRINTABLE.sub("", text)).split())
    return line[1:-1].strip() if len(line) > 1 and line[0] == line[-1] == '"' else line


def repeats_prompt(answer: str, turns: Sequence[Message]) -> bool:
    """Whether an answer only says again what it was told: an instruction, or the answer of an example.

    A text may be quoted by its summary, so the last turn is only compared as a whole.
    """
    words = _words(answer)
    told = [turn.content for turn in turns[:-1] if turn.role != "user"]
    sentences = [part for content in told for part in re.split(r"(?<=[.:!?])\s+", content)]
    is_told = any(len(said) >= _MIN_REPEATED_WORDS and _holds(words, said) for said in map(_words, sentences))
    return is_told or (bool(words) and words == _words(one_line(turns[-1].content)))


def fitting_sentences(text: str, max_tokens: int, count_tokens: Callable[[str], int]) -> str:
    """As many whole sentences from the front as fit; empty where not even the first does."""
    while text and count_tokens(text) > max_tokens:
        shorter = whole_sentences(text[:-1].rstrip(".!?…。！？ "))
        text = shorter if len(shorter) < len(text) and whole_sentences(shorter) == shorter and _ends(shorter) else ""
    return text


def _ends(text: str) -> bool:
    return bool(text) and text.rstrip("\"'”’»)]」』）】》")[-1:] in ".!?…。！？｡।॥؟۔"


def _holds(words: list[str], part: list[str]) -> bool:
    return f" {' '.join(part)} " in f" {' '.join(words)} "


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())

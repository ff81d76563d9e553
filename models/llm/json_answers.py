"""Reads the JSON that a model wrote, repairing what can be repaired without guessing, and counting each repair."""

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

IN_PROSE, UNESCAPED, CUT, PUNCTUATION, WRONG_TYPE = (
    "json_in_prose", "json_unescaped_quotes", "json_cut", "json_punctuation", "json_wrong_type",
)  # fmt: skip

_MAX_STARTS = 16
_MAX_DEPTH = 16
_START = re.compile(r"[\[{]")
_FENCE_HEAD = re.compile(r"```\w*+")
_NUMBER = re.compile(r"[^\d-]{0,16}(-?[0-9]{1,9})\D{0,2}")
_BLANK = re.compile(r"\s*+")
_COMMENT = re.compile(r"(?://[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)\s*+")
_MARK = re.compile(r'["\\]')
_SCALAR = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
_AFTER_COMMA = re.compile(r'\s*+(?:["\[{\]}]|/[/*]|-?\d|true\b|false\b|null\b|\Z)')
# One code unit of UTF-16, or a pair of surrogates.
_PAIR = r"[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_CODES = re.compile(rf"{_PAIR}|[0-9a-fA-F]{{4}}")
# An escape, and in `lone` half a pair of surrogates, which no text can hold.
_ESCAPE = re.compile(
    rf"\\(?:u(?:{_PAIR}|(?P<lone>[dD][89abAB][0-9a-fA-F]{{2}}|[dD][c-fC-F][0-9a-fA-F]{{2}}))|.)", re.DOTALL
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class Parsed(NamedTuple):
    """A JSON value, None where there is none to be had, and the kinds of repair that it took."""

    value: Any
    repairs: tuple[str, ...] = ()


class _Unreadable(Exception):
    """No value begins here, or it does not end."""


class _TooDeep(Exception):
    """Nested deeper than any answer we ask for."""


def parse_json(text: str, is_wanted: Callable[[Any], bool] = lambda value: isinstance(value, dict | list)) -> Parsed:
    """The first object or list in `text` that `is_wanted`, whole if there is one, else repaired.

    >>> parse_json('Sure: {"cut_after": [2, 5]}. Anything else?')
    Parsed(value={'cut_after': [2, 5]}, repairs=('json_in_prose',))
    >>> parse_json('["the "mill" turns", "it ru').value
    ['the "mill" turns']
    """
    text = _ESCAPE.sub(lambda match: r"\ufffd" if match["lone"] else match[0], text.strip())
    stripped = _without_fence(text)
    starts = [match.start() for _, match in zip(range(_MAX_STARTS), _START.finditer(stripped), strict=False)]
    # What begins with JSON and is damaged is repaired as a whole, before any sound part of it is looked for.
    order = [(_strictly, 0), (_tolerantly, 0)] if starts[:1] == [0] else []
    order += [(_strictly, start) for start in starts] + [(_tolerantly, start) for start in starts]
    for read, start in order:
        found = read(stripped, start)
        if found.value is not None and is_wanted(found.value):
            prose = {IN_PROSE} if start or stripped != text else set()
            return Parsed(found.value, tuple(sorted({*found.repairs, *prose})))
    return Parsed(None)


def _without_fence(text: str) -> str:
    head = _FENCE_HEAD.match(text)
    return text[head.end() if head else 0 :].removesuffix("```").strip()


def listed(value: Any, key: str) -> list[Any] | None:
    """The list under `key` of an object, or the value itself where it is a list; None where there is no list.

    >>> listed({"cut_after": [1]}, "cut_after"), listed([1], "cut_after"), listed({"other": 1}, "cut_after")
    ([1], [1], None)
    """
    found = value.get(key) if isinstance(value, dict) else value
    return found if isinstance(found, list) else None


def whole_numbers(values: list[Any], counts: Counter[str]) -> list[int]:
    """The whole numbers among `values`; those written as text or as fractions of nothing are counted, others dropped.

    >>> counts = Counter()
    >>> whole_numbers([1, "2", 3.0, 4.5, None, True], counts), dict(counts)
    ([1, 2, 3], {'json_wrong_type': 5})
    """
    numbers = []
    for value in values:
        counts[WRONG_TYPE] += type(value) is not int
        number = _whole(value)
        if number is not None:
            numbers.append(number)
    return numbers


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip())
        return int(match[1]) if match else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e9 else None
    return value if isinstance(value, int) else None


def _strictly(text: str, start: int) -> Parsed:
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        return Parsed(None)
    return Parsed(value, (IN_PROSE,) if text[end:].strip() else ())


def _tolerantly(text: str, start: int) -> Parsed:
    reader = _Reader(text, start)
    try:
        return Parsed(reader.value(0), tuple(reader.repairs))
    except (_Unreadable, _TooDeep):
        return Parsed(None)


class _Reader:
    """Reads one value where every mistake of a model may be. Linear in time, bounded in depth."""

    def __init__(self, text: str, start: int) -> None:
        self._text, self._at = text, start
        self.repairs: set[str] = set()

    def value(self, depth: int) -> Any:
        """The value that begins here; raises _Unreadable where none does."""
        self._skip()
        mark = self._peek()
        if depth > _MAX_DEPTH:
            raise _TooDeep
        if mark == "{":
            return self._object(depth)
        if mark == "[":
            return self._list(depth)
        if mark == '"':
            return self._string()
        return self._scalar()

    def _scalar(self) -> Any:
        match = _SCALAR.match(self._text, self._at)
        if match is None:
            raise _Unreadable
        digits = match[0].partition(".")[0]
        shorter, n_zeros = _LEADING_ZEROS.subn("", digits)
        self.repairs |= {PUNCTUATION} if n_zeros else set()
        try:
            value = json.loads(shorter + match[0][len(digits) :])
        except ValueError:  # more digits than Python turns into a number
            raise _Unreadable from None
        self._at = match.end()
        return value

    def _list(self, depth: int) -> list[Any]:
        values: list[Any] = []
        self._at += 1
        while not self._closes("]", bool(values)):
            before = self._at
            try:
                values.append(self.value(depth + 1))
            except _Unreadable:
                if self._is_at_end() or self._at == before:
                    self._cut()
                    break
        return values

    def _object(self, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        self._at += 1
        while not self._closes("}", bool(values)):
            try:
                key = self.value(depth + 1)
                self._skip()
                if not isinstance(key, str) or self._peek() != ":":
                    raise _Unreadable
                self._at += 1
                values[key] = self.value(depth + 1)
            except _Unreadable:
                self._cut()
                break
        return values

    def _cut(self) -> None:
        """Leaves it at what was whole before the text ended, or before what cannot be read."""
        self.repairs.add(CUT)
        self._at = len(self._text)

    def _closes(self, mark: str, has_values: bool) -> bool:
        """Whether the list or object ends here; steps over the comma, or what stands in its place."""
        self._skip()
        n_commas = 0
        while self._peek() == ",":
            self._at += 1
            n_commas += 1
            self._skip()
        is_end = self._peek() == mark
        if n_commas != (has_values and not is_end) and self._peek():
            self.repairs.add(PUNCTUATION)
        self._at += is_end
        return is_end

    def _string(self) -> str:
        """The text up to the quote that ends it: the first one after which the JSON can go on."""
        parts: list[str] = []
        start = self._at = self._at + 1
        while match := _MARK.search(self._text, self._at):
            self._at = match.end()
            if match[0] == "\\":
                parts.append(self._text[start : match.start()] + self._escaped())
                start = self._at
            elif self._ends_string():
                return "".join([*parts, self._text[start : match.start()]])
            else:
                self.repairs.add(UNESCAPED)
        self._at = len(self._text)
        raise _Unreadable

    def _escaped(self) -> str:
        mark = self._peek()
        self._at += 1
        if mark != "u":
            return _ESCAPES.get(mark, mark)
        match = _CODES.match(self._text, self._at)
        if match is None:
            return "u"
        self._at = match.end()
        codes = bytes.fromhex(match[0].replace("\\u", ""))
        return codes.decode("utf-16-be", "replace")

    def _ends_string(self) -> bool:
        blank = _BLANK.match(self._text, self._at)
        following = self._text[blank.end() : blank.end() + 1] if blank else ""
        if following == ",":
            return blank is not None and _AFTER_COMMA.match(self._text, blank.end() + 1) is not None
        is_comment = following == "/" and blank is not None and _COMMENT.match(self._text, blank.end()) is not None
        return is_comment or following in ("", ":", "]", "}")

    def _skip(self) -> None:
        """Steps over white space, and over comments, which JSON does not have."""
        match = _BLANK.match(self._text, self._at)
        self._at = match.end() if match else self._at
        while comment := _COMMENT.match(self._text, self._at):
            self._at = comment.end()
            self.repairs.add(PUNCTUATION)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _is_at_end(self) -> bool:
        return self._at >= len(self._text)

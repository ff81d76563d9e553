"""Whether a stop ends a sentence: what stands before it, and what follows."""

import re

from transforms.sentences.abbreviations import BEFORE_NUMBERS, GERMAN_MONTHS, MIDDLE, STARTERS, TITLES

# Marks that end a sentence without white space after them: those of Unicode's Sentence_Break=STerm, less the Burmese
# and the Javanese comma, of scripts beyond U+FFFF only Chakma's and Newa's, and the Tibetan shads.
STRONG_STOPS = (
    "。！？｡．﹒︒︕︖﹖﹗।॥։؝؞؟۔܀܁܂߹࠷࠹࠽࠾။።፧፨᙮᜵᜶។៕᠃᠉᥄᥅᪨᪩᪪᪫\u1b4e\u1b4f᭚᭛᭞᭟᭽᭾\u1b7f᰻᰼᱾᱿⳹⳺⳻⸼⹓⹔\u2e60\u2e61"
    "꓿꘎꘏꛳꛷꡶꡷꣎꣏꤯꧉꩝꩞꩟꫰꫱꯫༎།\U00011141\U00011142\U00011143\U0001144b\U0001144c"
)
WEAK_STOPS = ".!?…‽‼⁇⁈⁉⸮\u037e"
# Stops in one script only: the question mark of Greek, and the full stops of Armenian and Ethiopic as they are typed.
SCRIPT_STOPS = {
    ";": re.compile(r"(?<=[\u0370-\u03ff\u1f00-\u1fff]);"),
    ":": re.compile(r"(?<=[\u0531-\u0588]):"),
    "፡": re.compile("፡፡"),
}
# Marks of direction and joiners, which take no room, and signs that are set behind a stop.
_UNSEEN = "\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
_SIGNS = "¹²³⁰⁴-⁹\u2600-\u27bf\ufe0f\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff"
_CLOSING = "\"'”’»›)\\]}」』）】》〉｣"
# What belongs to the sentence that a stop ends. Quotation marks that open in one language and close in another close
# where a space follows; French sets a space before its own; [1] is a reference; Tibetan sets a space between its shads.
CLOSERS = (
    rf"(?:[{_CLOSING}{_UNSEEN}{_SIGNS}]|[“«‘‹](?=[\s.,;:!?)\]]|\Z)|[ \u00a0\u202f][»›](?=[\s.,;:!?)\]]|\Z)"
    r"|\[\w{1,4}(?: \d{1,3})?\]| ?[།༎])*+"
)
_OPENERS = re.compile(rf"[\s\"'“‘«‹»›(\[{{„‚¿¡*_—–\-{_UNSEEN}]*+")
_QUOTES = frozenset("\"'”’»›」』“«‘‹")
_LATIN_DOTS = frozenset("．﹒")
_NUMBER_OR_LATIN = re.compile(r"\d|[A-Za-zＡ-Ｚａ-ｚ]")
WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60]")
_NEXT_WORD = re.compile(r"[^\W_][\w'’]*+")
_MAX_WORD_CHARS = 24
# Marks of vowels are no word characters to `re`, so a word is what is no punctuation.
_LAST_WORD = re.compile(r"[^\s,;:!?()\[\]{}\"'“”‘’«»„/]{1,23}\Z")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]\Z")
_ENUMERATOR = re.compile(r"(?:\A|\n)[^\S\n]*(?:\(?\d{1,3}|[ivxlc]{1,5}|[a-zA-Z])\Z")
_GERMAN_ARTICLE = re.compile(r"\b(?:[Dd](?:er|ie|as|em|en|es)|[Ii]m|[Zz]u[mr]|[Vv]om|[Bb]eim|[Jj]ede[mnrs]?)\s\d+\Z")
# Japanese goes on after a closing bracket with a particle of quotation, any script with a comma.
_GOES_ON_AFTER_QUOTE = frozenset("とっ、，,の")


def ends_sentence(text: str, start: int, end: int, follows: int, *, is_casual: bool = False) -> bool:
    """Whether the run of stops and closing marks [start, end) ends one; `follows` is where white space after it ends.

    `is_casual` says that the sentence itself began in lower case, so that the next one may, too.
    """
    if follows >= len(text):
        return True
    mark = text[start]
    if mark in SCRIPT_STOPS and not SCRIPT_STOPS[mark].match(text, start):
        return False
    if mark in STRONG_STOPS or (follows == end and _is_among_wide(text, start, end)):
        if mark in _LATIN_DOTS and _NUMBER_OR_LATIN.match(text[start - 1 : start]):
            return False
        return not (text[end - 1] in _QUOTES and text[follows] in _GOES_ON_AFTER_QUOTE)
    return follows > end and _ends_before_space(text, start, end, follows, is_casual)


def _is_among_wide(text: str, start: int, end: int) -> bool:
    """Whether a Latin stop stands in Chinese, Japanese or Korean that sets no space behind it."""
    is_among = WIDE.match(text[start - 1 : start]) is not None and WIDE.match(text, end) is not None
    return is_among and not _is_ellipsis(text, start, end)


def _ends_before_space(text: str, start: int, end: int, follows: int, is_casual: bool) -> bool:
    opened = _OPENERS.match(text, follows)
    first = opened.end() if opened else follows
    if first >= len(text):
        return True
    if text[first] in ",;:،、" or (_begins_low(text, first) and not (is_casual and first == follows)):
        return False
    if _is_ellipsis(text, start, end) and text[first].isalpha() and not text[first].isupper():
        return False
    if text[start] != "." or text[start + 1] in WEAK_STOPS or text[end - 1] in _QUOTES:
        return True
    return not _is_abbreviated(text, start, first)


def _is_ellipsis(text: str, start: int, end: int) -> bool:
    return text[start] == "…" or text[start:end].startswith("...")


def _begins_low(text: str, first: int) -> bool:
    """Whether a lower-case word begins at `first`; names such as iPhone do not count."""
    return text[first].islower() and not text[first + 1 : first + 2].isupper()


def _is_abbreviated(text: str, stop: int, first: int) -> bool:
    """Whether the full stop at `stop` belongs to an abbreviation, initial, ordinal or enumerator before `first`."""
    before = text[max(0, stop - _MAX_WORD_CHARS) : stop]
    if _ENUMERATOR.search(before):
        return True
    found = _LAST_WORD.search(before)
    if found is None:
        return False
    word, following = found[0], _word_at(text, first)
    low = word.lower()
    if low in TITLES or ("." in word and all(part in TITLES for part in low.split("."))):
        return True
    if len(word) == len(following) == 1 and text[first + 1 : first + 2] == ".":
        return True
    if word.isdecimal():
        is_ordinal = following in GERMAN_MONTHS or (following not in STARTERS and _GERMAN_ARTICLE.search(before))
        return len(word) <= 2 and bool(is_ordinal)
    if low in BEFORE_NUMBERS and text[first].isdecimal():
        return True
    if low in MIDDLE or _is_initial(word) or _DOTTED.match(word):
        return following not in STARTERS or text[first + len(following) : first + len(following) + 1] == "."
    return False


def _is_initial(word: str) -> bool:
    return len(word) == 1 and not word.isdecimal() and not word.islower()


def _word_at(text: str, first: int) -> str:
    found = _NEXT_WORD.match(text[first : first + _MAX_WORD_CHARS])
    return found[0] if found else ""

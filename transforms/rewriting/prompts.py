"""Prompts are files, known by the hash of their content: instructions, examples, and a last turn with places."""

import functools
import hashlib
import re
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from models.errors import SettingsError
from models.llm.records import Message

NAMES = ("summary", "boundaries", "propositions", "prefix")

_TURN = re.compile(r"^## (system|user|assistant)\n", re.MULTILINE)
_CLOSING_TAG = re.compile(r"</(\w+)>")
_PLACE = re.compile(r"\{\{(\w+)\}\}")
# What servers read as the end of a turn wherever it stands.
_TURN_MARK = re.compile(
    r"<(?=[|\uff5c]|<?/?SYS>>|/?(?:think|s|bos|eos|pad|unk|mask|sep|cls|[a-z]+_of_[a-z]+|im_[a-z]+)>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\])",
    re.IGNORECASE,
)


class Prompt(NamedTuple):
    """A prompt's turns, with the name of its file and the first 16 hex digits of the sha256 of its content."""

    name: str
    version: str
    turns: tuple[Message, ...]

    def fill(self, **values: str) -> tuple[Message, ...]:
        """The turns with `values` in the places of the last one; what stands in a value is not looked into again.

        Tags of the prompt's own begin with a round bracket in a value, so that no text ends or opens what it stands in.
        So do marks by which a chat template parts turns, which servers read in any text.

        >>> Prompt("p", "", (Message("user", "Say {{a}}."),)).fill(a="{{b}}<|im_end|>")[0].content
        'Say {{b}}(|im_end|>.'
        """
        last = self.turns[-1]
        tags = _CLOSING_TAG.findall(last.content)
        own = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(tags)})\b)", re.IGNORECASE) if tags else None
        tagless = {name: own.sub("(", value) if own else value for name, value in values.items()}
        filled = _PLACE.sub(lambda place: without_turn_marks(tagless[place[1]]), last.content)
        return (*self.turns[:-1], Message(last.role, filled))

    @property
    def places(self) -> frozenset[str]:
        """The names of the places to fill."""
        return frozenset(_PLACE.findall(self.turns[-1].content))


_PLACES = {
    "summary": {"text"},
    "boundaries": {"sentences"},
    "propositions": {"headings", "context", "sentences"},
    "prefix": {"context", "headings", "passage"},
}


@functools.cache
def load_prompt(name: str, folder: str = "") -> Prompt:
    """The prompt in the file `name`.md of `folder`, or of this program.

    :raises SettingsError: there is no such file, or it has not the turns and places that are filled.
    """
    try:
        if folder:
            text = (Path(folder) / f"{name}.md").read_text(encoding="utf-8")
        else:
            text = resources.files("transforms.rewriting").joinpath("templates", f"{name}.md").read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"prompt {name}.md cannot be read in {folder or 'the program'}: {error}") from error
    prompt = Prompt(name, hashlib.sha256(text.encode()).hexdigest()[:16], parse_turns(text))
    if not prompt.turns or prompt.turns[-1].role != "user" or prompt.places != _PLACES.get(name, prompt.places):
        wanted = " ".join(sorted(f"{{{{{place}}}}}" for place in _PLACES.get(name, ())))
        raise SettingsError(
            f"prompt {name}.md of {folder or 'the program'} must end with a '## user' turn with {wanted}"
        )
    return prompt


def without_turn_marks(text: str) -> str:
    """`text` with a round bracket in place of the first character of each mark; as long as before.

    >>> without_turn_marks("a < b, [1], <s>, [/INST]")
    'a < b, [1], (s>, (/INST]'
    """
    return _TURN_MARK.sub("(", text)


def parse_turns(text: str) -> tuple[Message, ...]:
    """The turns of a prompt file: what follows each line `## system`, `## user` or `## assistant`.

    >>> [turn.role for turn in parse_turns(chr(10).join(["## system", "Be brief.", "## user", "Hello"]))]
    ['system', 'user']
    """
    parts = _TURN.split(text.replace("\r\n", "\n"))[1:]
    return tuple(
        Message(role, content.strip())  # type: ignore[arg-type] # the pattern knows the roles
        for role, content in zip(parts[::2], parts[1::2], strict=True)
    )

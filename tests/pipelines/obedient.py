"""A language model that answers whatever the mill asks in the form that was asked for, and the same to the same."""

import json
import zlib

from models.fake_llm import Prompt


def answers(prompt: Prompt) -> str:
    """Cuts after every third numbered sentence, each sentence said again as a fact, or a line about the text."""
    lines = [line.partition("] ")[2] for line in prompt.text.splitlines() if line.startswith("[")]
    form = json.dumps(prompt.body.get("response_format", ""))
    if "cut_after" in form:
        return json.dumps({"cut_after": list(range(3, len(lines), 3))})
    if "propositions" in form:
        return json.dumps({"propositions": [{"text": text, "sentences": [i]} for i, text in enumerate(lines, 1)]})
    return f"This is about {SUBJECTS[zlib.crc32(prompt.text.encode()) % len(SUBJECTS)]}."


SUBJECTS = ("cats", "banks", "mills", "bridges")


def essay(name: str, n_sentences: int = 9) -> str:
    """Three sentences to a paragraph, each paragraph about the next subject, and no sentence like another one."""
    return "".join(
        f"The {name} {SUBJECTS[number // 3 % len(SUBJECTS)]} were counted in year {10 + number}."
        + ("\n\n" if number % 3 == 2 else " ")
        for number in range(n_sentences)
    )

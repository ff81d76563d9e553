"""A stand-in for a language model, to try what asks one: `python -m models.obedient_llm` serves it on this machine.

It says again what it was shown, in the form that was asked for. So its cuts, facts and summaries are worth nothing,
and everything around them (settings, bills, kept answers, search) can be seen at no cost.
"""

import argparse
import json
import re
import signal
import sys
from collections.abc import Sequence

from models.fake_llm import FakeEndpoint, Prompt

CUT_EVERY_SENTENCES = 5
_SAID_WORDS = 12
_NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_MATERIAL = re.compile(r"<(\w+)>\s*(.*?)\s*</\1>", re.DOTALL)


def obedient(prompt: Prompt) -> str:
    """Cuts after every fifth numbered sentence, each sentence again as a fact, or how the shown text begins."""
    form = json.dumps([prompt.body.get(name) for name in ("response_format", "structured_outputs")])
    sentences = _NUMBERED.findall(prompt.text)
    if "cut_after" in form:
        numbers = [int(number) for number, _ in sentences]
        return json.dumps({"cut_after": numbers[CUT_EVERY_SENTENCES - 1 : -1 : CUT_EVERY_SENTENCES]})
    if "propositions" in form:
        facts = [{"text": text, "sentences": [int(number)]} for number, text in sentences]
        return json.dumps({"propositions": facts}, ensure_ascii=False)
    shown = _MATERIAL.findall(prompt.text)
    words = (shown[-1][1] if shown else prompt.text.removeprefix("Document:").split("\n")[0]).split()
    return " ".join(words[:_SAID_WORDS]).rstrip(" .,;:") + "."


def main(words: Sequence[str] | None = None) -> None:
    """Serve until a signal; print the flags with which `corpusmill` asks this endpoint."""
    parser = argparse.ArgumentParser(prog="python -m models.obedient_llm", description="Serve a stand-in for a model.")
    parser.add_argument(
        "--port", type=int, default=8123, help="port on this machine (0 takes a free one; default 8123)"
    )
    with FakeEndpoint(obedient, port=parser.parse_args(words).port) as endpoint:
        sys.stdout.write(f"--llm-url {endpoint.url} --llm-revision obedient\n")
        sys.stdout.flush()
        signal.sigwait({signal.SIGINT, signal.SIGTERM})


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    main()

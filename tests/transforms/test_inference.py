"""Beam's RunInference comes without torch, and with all that it has otherwise."""

import subprocess
import sys

SCRIPT = """
import sys
from transforms.inference import ModelHandler, RunInference, base
print(sorted({"torch", "scipy", "transformers"} & sys.modules.keys()), base.resource is not None)
print("apache_beam.ml.inference.model_manager" in sys.modules)
import apache_beam.ml.inference.model_manager as manager
print(manager.ModelManager.__name__)
"""


def test_torch_is_imported_when_it_is_used_and_not_before(checkout):
    command = [sys.executable, "-c", SCRIPT]
    out = subprocess.run(command, cwd=checkout, stdout=subprocess.PIPE, text=True, timeout=120, check=True).stdout
    assert out.splitlines() == ["[] True", "False", "ModelManager"]

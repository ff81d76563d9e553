"""Accelerators and memory are asked for where a model runs, and nowhere else."""

import json
import struct

import apache_beam as beam
import pytest

from models.fake_llm import FakeEndpoint
from pipelines.config import load_settings
from pipelines.graph import build
from pipelines.run_context import make_context
from transforms.store.files import Store

HINTS = {
    "encoder_accelerator": "type:nvidia-l4;count:1", "encoder_min_ram_gb": "8",
    "llm_accelerator": "type:nvidia-h100;count:2", "llm_min_ram_gb": "64",
}  # fmt: skip


@pytest.fixture
def model(tmp_path):
    """A folder that looks like a model as far as nobody loads it."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"max_position_embeddings": 128}')
    header = json.dumps({"lm.weight": {"dtype": "F16", "shape": [3, 5], "data_offsets": [0, 30]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(30))
    return str(folder)


def hinted(tmp_path, **chosen):
    """The hints of a run's graph, by the name of the transform that does the work."""
    settings = load_settings(None, {"encoder": "hashing", **chosen})
    context = make_context(settings, Store(str(tmp_path / "index")), None, "", [])
    pipeline = beam.Pipeline(runner="FnApiRunner")
    build(pipeline, context, [], [], [], [])
    proto = pipeline.to_runner_api()
    found = {}
    for transform in proto.components.transforms.values():
        environment = proto.components.environments.get(transform.environment_id)
        hints = sorted(environment.resource_hints.values()) if environment is not None else []
        if hints:
            found[transform.unique_name] = hints
    return found


def test_hints_are_on_the_stages_with_a_model_alone(tmp_path, model):
    found = hinted(tmp_path, chunker="llm", llm_model=model, **HINTS)
    assert {name.split("/")[0] for name in found} == {"CutUnits", "EncodeUnits"}
    cutting = {tuple(hints) for name, hints in found.items() if name.startswith("CutUnits")}
    encoding = {tuple(hints) for name, hints in found.items() if name.startswith("EncodeUnits")}
    assert len(cutting) == len(encoding) == 1 and not cutting & encoding
    assert any(b"h100" in hint for hint in cutting.pop()) and any(b"l4" in hint for hint in encoding.pop())
    assert all("Encode" in name for name in found if name.startswith("EncodeUnits/"))


def test_an_endpoint_needs_nothing_of_the_workers(tmp_path):
    with FakeEndpoint() as fake:
        chosen = {"chunker": "pic", "llm_url": fake.url, "llm_revision": "1", **HINTS}
        assert {name.split("/")[0] for name in hinted(tmp_path, **chosen)} == {"EncodeUnits"}
    assert hinted(tmp_path) == {}

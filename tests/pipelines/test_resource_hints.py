"""Accelerators and memory are asked for where a model runs, and nowhere else."""

import json
import struct
import sys
import types

import apache_beam as beam
import apache_beam.runners.dataflow.internal
import pytest
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions

from models.fake_llm import FakeEndpoint
from pipelines.config import load_settings
from pipelines.graph import build
from pipelines.run_context import make_context
from transforms.store.files import Store

ACCELERATOR, RAM = "beam:resources:accelerator:v1", "beam:resources:min_ram_bytes:v1"
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


def graph(tmp_path, options, **chosen):
    """A run's graph over an empty corpus."""
    settings = load_settings(None, {"encoder": "hashing", **chosen})
    context = make_context(settings, Store(str(tmp_path / "index")), None, "", [])
    pipeline = beam.Pipeline(options=PipelineOptions(options))
    build(pipeline, context, [], [], [], [])
    return pipeline


def hinted(tmp_path, **chosen):
    """The hints of a run's graph, by the name of the transform that does the work."""
    return hints_of(graph(tmp_path, ["--runner=FnApiRunner"], **chosen).to_runner_api())


def hints_of(proto):
    found = {}
    for transform in proto.components.transforms.values():
        environment = proto.components.environments.get(transform.environment_id)
        hints = sorted(environment.resource_hints.values()) if environment is not None else []
        if hints:
            found[transform.unique_name] = hints
    return found


@pytest.fixture
def dataflow(monkeypatch):
    """The graph that Beam's Dataflow runner would hand to the service. Its client needs Google's libraries."""
    client = types.ModuleType("apiclient")
    client.get_container_image_from_options = lambda options: "an-image"
    client.Job = lambda options, proto: proto
    monkeypatch.setitem(sys.modules, "apache_beam.runners.dataflow.internal.apiclient", client)
    monkeypatch.setattr(apache_beam.runners.dataflow.internal, "apiclient", client, raising=False)
    # It would look the bucket up on the network.
    monkeypatch.setattr(GoogleCloudOptions, "_warn_if_soft_delete_policy_enabled", lambda *_: None)
    options = ["--runner=DataflowRunner", "--project=some-project", "--region=europe-west4", "--dry_run=True"]
    options += ["--temp_location=gs://some-bucket/temp", "--staging_location=gs://some-bucket/staging"]
    return lambda tmp_path, **chosen: graph(tmp_path, options, **chosen).run().job


def test_a_dry_run_on_dataflow_asks_for_machines_with_a_model_alone(tmp_path, model, dataflow):
    proto = dataflow(tmp_path, chunker="llm", llm_model=model, **HINTS)
    workers = {
        name: {transform.environment_id for transform in executed(proto) if transform.unique_name.startswith(name)}
        for name in ("CutUnits/Cut/", "EncodeUnits/Encode/")
    }
    cutting, encoding = (hints_in(proto, ids) for ids in workers.values())
    assert cutting == {(ACCELERATOR, b"type:nvidia-h100;count:2"), (RAM, b"64000000000")}
    assert encoding == {(ACCELERATOR, b"type:nvidia-l4;count:1"), (RAM, b"8000000000")}
    others = [t for t in executed(proto) if not t.unique_name.startswith(tuple(workers))]
    assert len(others) > 30 and hints_in(proto, {transform.environment_id for transform in others}) == set()


def executed(proto):
    """The transforms that workers run: those without parts."""
    return [t for t in proto.components.transforms.values() if not t.subtransforms and t.environment_id]


def hints_in(proto, environment_ids):
    """What the environments ask for, in all."""
    environments = [proto.components.environments[name] for name in environment_ids]
    return {hint for environment in environments for hint in environment.resource_hints.items()}


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

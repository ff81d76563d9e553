import pytest

from models.device import choose_placement, cpu_has_bfloat16
from models.errors import SettingsError
from models.settings import EncoderSettings

torch = pytest.importorskip("torch")


@pytest.fixture
def machine(monkeypatch):
    """`machine(n_gpus, gpu_generation, cpu)` pretends to be one."""

    def pretend(n_gpus=0, gpu_generation=9, **cpu):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: n_gpus > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: n_gpus)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (gpu_generation, 0))
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: cpu)

    return pretend


def test_auto_takes_what_the_hardware_has(machine):
    machine()
    assert choose_placement(EncoderSettings()) == ("cpu", "float32")
    machine(amx_bf16=True)
    assert choose_placement(EncoderSettings()) == ("cpu", "bfloat16")
    machine(n_gpus=1)
    assert choose_placement(EncoderSettings()) == ("cuda", "bfloat16")
    machine(n_gpus=1, gpu_generation=7)
    assert choose_placement(EncoderSettings()) == ("cuda", "float32")


def test_what_is_asked_for_is_taken(machine):
    machine(n_gpus=2)
    assert choose_placement(EncoderSettings(device="cuda:1", dtype="float16")) == ("cuda:1", "float16")
    assert choose_placement(EncoderSettings(device="cpu", dtype="float32")) == ("cpu", "float32")


def test_a_device_that_is_not_there_is_refused(machine):
    machine(n_gpus=2)
    with pytest.raises(SettingsError, match="cuda:2"):
        choose_placement(EncoderSettings(device="cuda:2"))


@pytest.mark.parametrize("device", ["gpu", "cuda:", "CPU", "cuda:0\n", ""])
@pytest.mark.parametrize("encoder", ["minilm", "hashing"])
def test_a_device_that_none_is_called_is_refused_whatever_the_encoder(encoder, device):
    with pytest.raises(ValueError, match="device"):
        EncoderSettings(encoder=encoder, device=device)


def test_a_cpu_needs_the_instructions():
    assert cpu_has_bfloat16({"avx512_bf16": True})
    assert not cpu_has_bfloat16({"avx512_f": True})

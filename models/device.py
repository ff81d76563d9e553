"""Which device and arithmetic an encoder runs on: by what the hardware can do, and recorded."""

from typing import Any, NamedTuple

from models.errors import SettingsError
from models.extras import require
from models.settings import EncoderSettings


class Placement(NamedTuple):
    """Where and in which arithmetic a model runs: torch's names, like 'cuda:0' and 'bfloat16'."""

    device: str
    dtype: str


def choose_placement(settings: EncoderSettings) -> Placement:
    """The asked device and dtype, each 'auto' replaced: the GPU if there is one, bfloat16 where the hardware has it.

    Raises SettingsError for a device that is not there, MissingExtraError without torch.
    """
    torch = require("torch", "cpu")
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    device = ("cuda" if n_gpus else "cpu") if settings.device == "auto" else settings.device
    if device != "cpu" and int(device.partition(":")[2] or 0) >= n_gpus:
        raise SettingsError(f"device = {settings.device!r}, but torch sees {n_gpus} GPUs; use auto or cpu")
    if settings.dtype != "auto":
        return Placement(device, settings.dtype)
    has_bfloat16 = _cpu_has_bfloat16(torch) if device == "cpu" else _gpu_has_bfloat16(torch, device)
    return Placement(device, "bfloat16" if has_bfloat16 else "float32")


def cpu_has_bfloat16(capabilities: dict[str, Any]) -> bool:
    """Whether a CPU multiplies bfloat16 in hardware; without, torch emulates it and float32 is faster.

    >>> cpu_has_bfloat16({"avx2": True, "avx512_bf16": False, "amx_bf16": False})
    False
    """
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def _cpu_has_bfloat16(torch: Any) -> bool:
    # Older torch does not say; float32 is right everywhere.
    return hasattr(torch.cpu, "get_capabilities") and cpu_has_bfloat16(torch.cpu.get_capabilities())


def _gpu_has_bfloat16(torch: Any, device: str) -> bool:
    # From compute capability 8.0 (Ampere) on.
    return bool(torch.cuda.get_device_capability(device)[0] >= 8)

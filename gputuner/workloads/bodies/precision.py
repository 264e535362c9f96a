# pyright: standard
"""The four precisions: storage type, TF32 switches, autocast."""

import contextlib
import warnings
from typing import Any

import torch

from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError

STORAGE: dict[str, torch.dtype] = {
    "fp32": torch.float32,
    "tf32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
}
HALF = (torch.float16, torch.bfloat16)
TF32_OF = ("matmul", "conv", "rnn")
"""What has a TF32 switch of its own in torch ≥ 2.9: cuBLAS's products, cuDNN's convolutions and recurrent layers."""
INHERITED = (
    ("generic", "all"), ("cuda", "all"), ("mkldnn", "all"), ("mkldnn", "conv"), ("mkldnn", "rnn"),
)  # fmt: skip
"""Settings of torch ≥ 2.9 which reach, where they are set, what the older interface has switched off."""


def check(device: Device, precision: str) -> None:
    """Refuse what the device cannot do.

    Raises:
        UnsupportedError: unknown precision, or TF32 on a chip without it.
    """
    if precision not in STORAGE:
        raise UnsupportedError(f"unknown precision: {precision}")
    if precision == "tf32" and not device.tf32_native:
        raise UnsupportedError("this chip has no TF32 arithmetic")


def switch_tf32(allowed: bool) -> None:
    """Let cuBLAS and cuDNN (convolutions and recurrent layers) use TF32 for float32, or forbid it.

    In every torch by the older of its two interfaces: after the newer one (``fp32_precision``, torch 2.9) the readers
    of the older raise, and Inductor, Lightning and ``torch.backends.cudnn.flags`` read those. What somebody set by the
    newer one is taken back.
    """
    setter = getattr(torch._C, "_set_fp32_precision_setter", None)
    if setter is not None:
        for backend, operation in INHERITED:
            setter(backend, operation, "none")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch 2.9 calls the older interface deprecated
        torch.set_float32_matmul_precision("high" if allowed else "highest")
        torch.backends.cudnn.allow_tf32 = allowed


def tf32_allowed() -> "dict[str, bool]":
    """Whether each of ``TF32_OF`` may use TF32, whichever interface has set it; no reader here raises or warns."""
    getter = getattr(torch._C, "_get_fp32_precision_getter", None)
    if getter is not None:
        return {operation: getter("cuda", operation) == "tf32" for operation in TF32_OF}
    cudnn = bool(torch._C._get_cudnn_allow_tf32())
    return {"matmul": bool(torch._C._get_cublas_allow_tf32()), "conv": cudnn, "rnn": cudnn}


def emulated(device: Device, precision: str) -> bool:
    """Whether the chip has no BF16 arithmetic and the libraries convert."""
    return precision == "bf16" and not device.bf16_native


def autocast(device: Device, precision: str) -> "contextlib.AbstractContextManager[Any]":
    """The context of a forward pass in ``precision``."""
    if precision in ("fp16", "bf16"):
        return torch.autocast(device_type=device.name, dtype=STORAGE[precision])
    return contextlib.nullcontext()

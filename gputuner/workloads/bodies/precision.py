# pyright: standard
"""The four precisions: storage type, TF32 switches, autocast."""

import contextlib
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
    """Let cuBLAS and cuDNN use TF32 for float32, or forbid it.

    torch 2.9 deprecated ``allow_tf32`` for ``fp32_precision``; mixing the two raises there.
    """
    if hasattr(torch.backends.cuda.matmul, "fp32_precision"):
        word = "tf32" if allowed else "ieee"
        torch.backends.cuda.matmul.fp32_precision = word
        torch.backends.cudnn.conv.fp32_precision = word  # pyright: ignore[reportAttributeAccessIssue]
    else:
        torch.backends.cuda.matmul.allow_tf32 = allowed
        torch.backends.cudnn.allow_tf32 = allowed


def emulated(device: Device, precision: str) -> bool:
    """Whether the chip has no BF16 arithmetic and the libraries convert."""
    return precision == "bf16" and not device.bf16_native


def autocast(device: Device, precision: str) -> "contextlib.AbstractContextManager[Any]":
    """The context of a forward pass in ``precision``."""
    if precision in ("fp16", "bf16"):
        return torch.autocast(device_type=device.name, dtype=STORAGE[precision])
    return contextlib.nullcontext()

# pyright: standard
"""How a training is set: number formats, compiler, optimizer, threads, ranks. Read only, without a warning."""

from __future__ import annotations

import os
import sys

from . import card as cards

RANKS = {"RANK": "rank", "LOCAL_RANK": "local_rank", "WORLD_SIZE": "world_size"}


def hello(torch) -> dict[str, object]:
    """Who this process is. Of the program only the file's name, of its arguments nothing."""
    program = sys.argv[0] if sys.argv else ""
    told: dict[str, object] = {
        "k": "hello",
        "pid": os.getpid(),
        "ppid": os.getppid(),
        "program": os.path.basename(program),
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "torch": str(torch.__version__),
    }
    for variable, name in RANKS.items():
        value = os.environ.get(variable, "")
        if value.isdigit():
            told[name] = int(value)
    return told


def of_torch(torch, card: cards.Card) -> dict[str, object]:
    """Settings that are torch's own."""
    told: dict[str, object] = {
        "threads": torch.get_num_threads(),
        "tf32_matmul": _tf32(torch, "matmul"),
        "tf32_cudnn": _tf32(torch, "conv"),
        "graphs": cards.compiled(),
        "deterministic": bool(torch.are_deterministic_algorithms_enabled()),
    }
    return {**told, **card.facts()}


def _tf32(torch, operation: str) -> bool | None:
    """Whether FP32 products of this kind are computed in TF32.

    The getter of torch ≥ 2.9 is asked where it is: there the older one warns, or fails where both were mixed.
    """
    getter = getattr(torch._C, "_get_fp32_precision_getter", None)
    if getter is not None:
        return getter("cuda", operation) == "tf32"
    older = getattr(torch._C, "_get_cublas_allow_tf32" if operation == "matmul" else "_get_cudnn_allow_tf32", None)
    return bool(older()) if older is not None else None


def of_optimizer(torch, optimizer) -> dict[str, object]:
    """Settings of the optimizer and size of what it trains; only plain parameters are read."""
    plain = (torch.nn.Parameter, torch.Tensor)
    inside = object.__getattribute__(optimizer, "__dict__")
    groups = inside.get("param_groups")
    told: dict[str, object] = {"optimizer": type(optimizer).__name__}
    if type(groups) is not list or not groups or type(groups[0]) is not dict:
        return told
    for name in ("fused", "foreach", "capturable"):
        value = groups[0].get(name)
        if value is None or isinstance(value, bool):
            told[name] = value
    count, formats = 0, {}
    for group in groups:
        params = group.get("params") if type(group) is dict else None
        for param in params if type(params) is list else ():
            if type(param) in plain:
                count += param.numel()
                formats[str(param.dtype)] = formats.get(str(param.dtype), 0) + param.numel()
    told["parameters"] = count
    if formats:
        told["dtype"] = max(formats, key=lambda name: formats[name]).replace("torch.", "")
    return told


def of_loader(loader) -> dict[str, object]:
    """Settings of a DataLoader, from its own attributes."""
    inside = object.__getattribute__(loader, "__dict__")
    start = inside.get("_DataLoader__multiprocessing_context")
    told: dict[str, object] = {
        "workers": inside.get("num_workers"),
        "batch": inside.get("batch_size"),
        "prefetch": inside.get("prefetch_factor"),
        "pin": inside.get("pin_memory"),
        "persistent": inside.get("persistent_workers"),
        "start": getattr(start, "_name", None),
    }
    return {name: value for name, value in told.items() if value is None or isinstance(value, (bool, int, str))}

"""What ``/proc/cpuinfo`` says of the processor; without torch, so that a dry run can ask too."""

from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
NATIVE_BF16 = {"avx512_bf16", "amx_bf16", "avx_ne_convert", "bf16"}
"""Flags that mean BF16 arithmetic or conversion in hardware (x86, then Arm)."""


def fields(path: Path = CPUINFO) -> "dict[str, str]":
    """``name: value`` lines of the first block of a file; empty where there is no such file."""
    try:
        block = path.read_text(errors="replace").split("\n\n", 1)[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in block.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def bf16_native(facts: "dict[str, str]") -> bool:
    """Whether the processor with these fields computes in BF16."""
    flags = set((facts.get("flags") or facts.get("Features") or "").split())
    return bool(flags & NATIVE_BF16)

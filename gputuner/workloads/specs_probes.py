"""Typed, checked specs of probes of a card's memory: latency over footprints, read rate of each region."""

from dataclasses import dataclass
from typing import ClassVar

from gputuner.model.errors import UsageError
from gputuner.model.readings import Scalar

LINE_BYTES = 128
"""A line of L1 and L2 on every chip since Fermi."""
MOST_BYTES = 1 << 39
"""Nodes are numbered in 32 bits."""
LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES = 256 << 20, 1 << 30
USUAL_BLOCKS = 128
LEAST_KEEP_BYTES = 512 << 20
KEEP_SHARE = 1 / 64


def _in_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        text = f"{name} must lie between {low} and {high}, not {value}"
        raise UsageError("value_out_of_range", text, name=name, value=value, low=low, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaseSpec:
    """A pointer chase over footprints up to ``largest_bytes``."""

    workload: ClassVar[str] = "chase"
    largest_bytes: int
    stride_bytes: int = LINE_BYTES

    def __post_init__(self) -> None:
        """Refuse what cannot be chased."""
        _in_range("stride_bytes", self.stride_bytes, 8, 4096)
        _in_range("largest_bytes", self.largest_bytes, 4096, MOST_BYTES)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {"largest_bytes": self.largest_bytes, "stride_bytes": self.stride_bytes}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsSpec:
    """All that is free but ``keep_bytes``, in blocks of ``block_bytes``."""

    workload: ClassVar[str] = "regions"
    block_bytes: int
    keep_bytes: int

    def __post_init__(self) -> None:
        """Refuse blocks that a cache could hold, and to take the last of the memory."""
        _in_range("block_bytes", self.block_bytes, LEAST_BLOCK_BYTES, MOST_BYTES)
        _in_range("keep_bytes", self.keep_bytes, LEAST_KEEP_BYTES, MOST_BYTES)

    @classmethod
    def of(cls, total_bytes: int) -> "RegionsSpec":
        """For a card of ``total_bytes``: about 128 blocks, and a margin of 1/64, at least 512 MiB."""
        block = LEAST_BLOCK_BYTES
        while block * 2 * USUAL_BLOCKS <= total_bytes and block < MOST_BLOCK_BYTES:
            block *= 2
        return cls(block_bytes=block, keep_bytes=max(LEAST_KEEP_BYTES, int(total_bytes * KEEP_SHARE)))

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {"block_bytes": self.block_bytes, "keep_bytes": self.keep_bytes}

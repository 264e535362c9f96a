"""Typed, checked specs of streams through memory."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from gputuner.model.errors import UsageError
from gputuner.model.readings import Scalar

Operation = Literal["read", "write", "copy", "scale", "triad"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)
ARRAYS: dict[Operation, int] = {"read": 1, "write": 1, "copy": 2, "scale": 2, "triad": 3}
"""Arrays that an operation touches, each once."""
LEAST_BYTES, MOST_BYTES = 4096, 1 << 40
BEYOND_CACHE = 4
"""A footprint of so many last caches counts as DRAM (methods §1)."""
IN_FLIGHT_BYTES = 2048 * 16
"""Of an SM at most: 2048 threads with a load of 16 bytes each."""
WITHIN_CACHE = 0.5
"""Up to this share of the last cache a footprint counts as cached."""
DRAM_LEAST_BYTES = 1 << 30


def _check(operation: str, bytes_: int) -> None:
    if operation not in OPERATIONS:
        raise UsageError("operation_unknown", f"unknown operation: {operation}", operation=operation)
    if not LEAST_BYTES <= bytes_ <= MOST_BYTES:
        text = f"bytes must lie between {LEAST_BYTES} and {MOST_BYTES}, not {bytes_}"
        raise UsageError("value_out_of_range", text, name="bytes", value=bytes_, low=LEAST_BYTES, high=MOST_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSpec:
    """One operation over arrays of ``bytes`` bytes each."""

    workload: ClassVar[str] = "stream"
    operation: Operation
    bytes: int

    def __post_init__(self) -> None:
        """Refuse what no memory holds."""
        _check(self.operation, self.bytes)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {"operation": self.operation, "bytes": self.bytes}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSweepSpec:
    """The same over footprints (all arrays together) that grow up to ``largest_bytes``."""

    workload: ClassVar[str] = "stream_sweep"
    operation: Operation
    largest_bytes: int

    def __post_init__(self) -> None:
        """Refuse what no memory holds."""
        _check(self.operation, self.largest_bytes)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire."""
        return {"operation": self.operation, "largest_bytes": self.largest_bytes}


def dram_footprint(cache_bytes: int, free_bytes: int, most_bytes: int, caches: int = BEYOND_CACHE) -> int:
    """Footprint of all arrays for a figure of DRAM: beyond ``caches`` last caches, in half of what is free."""
    wanted = min(most_bytes, max(caches * cache_bytes, DRAM_LEAST_BYTES))
    return max(16 * LEAST_BYTES, min(wanted, free_bytes // 2) // LEAST_BYTES * LEAST_BYTES)


def level(footprint_bytes: float, cache_bytes: int, sm_count: int | None = None) -> str:
    """``l2`` (the last cache), ``dram``, or ``between`` (on no level), by footprint.

    ``sm_count``: of a GPU; a footprint of which each SM's share is less than it has in flight at once is on no level:
    requests of several warps for one line meet under way, and the rate is more than the L2 sends.
    """
    if footprint_bytes <= WITHIN_CACHE * cache_bytes:
        return "between" if sm_count and footprint_bytes < sm_count * IN_FLIGHT_BYTES else "l2"
    return "dram" if footprint_bytes >= BEYOND_CACHE * cache_bytes else "between"

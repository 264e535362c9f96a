"""Streams through the memory of a simulated card: its last cache, then DRAM."""

from collections.abc import Mapping, Sequence

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_load import Load
from gputuner.model.readings import Scalar
from gputuner.workloads.simulated_costs.cost import Cost, Setting, UnsupportedOnChipError

ARRAYS = {"read": 1, "write": 1, "copy": 2, "scale": 2, "triad": 3}
EFFICIENCY = {"read": 1.01, "write": 1.0, "copy": 1.0, "scale": 0.995, "triad": 1.0}
"""Beside the card's copy (published streams of one card differ little)."""
CACHE_OVER_DRAM = 3.2
"""Bandwidth of the last cache over that of DRAM (published sweeps: 2.5 to 5)."""
SMALLEST_BYTES = 256 << 10


def stream(card: SimulatedCard, params: Mapping[str, Scalar]) -> Cost:
    """One pass over arrays of ``bytes`` bytes each."""
    operation = _operation(params)
    return _pass(card, operation, int(params["bytes"]) * ARRAYS[operation])


def stream_sweep(card: SimulatedCard, params: Mapping[str, Scalar]) -> Sequence[Setting]:
    """Footprints from 256 KiB for each array to ``largest_bytes`` in all, two to an octave."""
    operation = _operation(params)
    footprints: list[int] = []
    step = 0
    while (array := int(SMALLEST_BYTES * 2 ** (step / 2)) // 4096 * 4096) * ARRAYS[operation] <= int(
        params["largest_bytes"]
    ):
        footprints.append(array * ARRAYS[operation])
        step += 1
    return [
        Setting(params={"operation": operation, "bytes": size}, cost=_pass(card, operation, size))
        for size in footprints
    ]


def _operation(params: Mapping[str, Scalar]) -> str:
    operation = str(params["operation"])
    if operation not in ARRAYS:
        raise UnsupportedOnChipError(f"unknown operation: {operation}")
    return operation


def _pass(card: SimulatedCard, operation: str, footprint: int) -> Cost:
    """What does not fit into the cache comes from DRAM; from twice the cache on nothing is found there."""
    cache = card.facts.l2_mib * 2**20
    missed = min(1.0, max(0.0, (footprint - 0.8 * cache) / (1.2 * cache)))
    top_hz = card.model.clock_max_mhz * 1e6
    cached_s = footprint / (CACHE_OVER_DRAM * card.physics.bandwidth)
    return Cost(
        load=Load(
            compute_cycles=cached_s * top_hz,
            dram_bytes=max(1.0, missed * footprint / EFFICIENCY[operation]),
            fixed_s=2.5e-6,
            host_s=5e-6,
            activity=0.28,
            tensor=False,
        ),
        work={"bytes": float(footprint)},
        allocated_bytes=footprint,
        reserved_bytes=footprint,
        noise=0.003,
        relative_error=0.0,
        notes={"kernel": "simulated", "inputs": "normal", "footprint_over_cache": round(footprint / cache, 3)},
    )

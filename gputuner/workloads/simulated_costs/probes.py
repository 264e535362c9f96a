"""Latency of a simulated card's memory by footprint, and the read rate of its regions."""

from collections.abc import Mapping, Sequence

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_load import Load
from gputuner.model.readings import Scalar
from gputuner.workloads.kernels.chase import footprints
from gputuner.workloads.simulated_costs.cost import Cost, Setting

MEASURED = {
    "GV100": (22.0, 156.0, None, 315.0),
    "GA100": (26.0, 151.0, 302.0, 405.0),
    "GH100": (19.0, 151.0, 263.0, 372.0),
    "AD102": (15.0, 111.0, None, 254.0),
}
"""Chip → ns of L1, L2 (near), far L2 and DRAM (published pointer chases)."""
BY_ARCHITECTURE = {
    "pascal": (46.0, 140.0, None, 300.0),
    "turing": (21.0, 125.0, None, 290.0),
    "ampere": (20.0, 125.0, None, 270.0),
    "ada": (15.0, 111.0, None, 254.0),
    "blackwell": (15.0, 135.0, None, 330.0),
}
"""Roughly, for the chips beside."""
USUAL = (20.0, 140.0, None, 300.0)
L1_BYTES = {"GH100": 220 << 10, "GA100": 180 << 10}
USUAL_L1_BYTES = 110 << 10
MIXED = 1.2
"""From a capacity to so many times of it the latency goes over to the next level's."""


def chase(card: SimulatedCard, params: Mapping[str, Scalar]) -> Sequence[Setting]:
    """The footprints of the real chase."""
    l2 = int(card.facts.l2_mib * 2**20)
    return [
        Setting(
            params={"bytes": size, "stride_bytes": int(params["stride_bytes"])},
            cost=_access(_latency_s(card, size, l2), min(size, int(params["largest_bytes"]))),
        )
        for size in footprints(int(params["largest_bytes"]), l2)
    ]


def _latency_s(card: SimulatedCard, size: int, l2: int) -> float:
    chip = card.facts.chip
    l1_ns, near_ns, far_ns, dram_ns = MEASURED.get(chip) or BY_ARCHITECTURE.get(
        card.facts.architecture.lower().partition(" ")[0], USUAL
    )
    steps = [(l1_ns, L1_BYTES.get(chip, USUAL_L1_BYTES))]
    steps += [(near_ns, l2 * 0.95)] if far_ns is None else [(near_ns, l2 * 0.45), (far_ns, l2 * 0.97)]
    latencies = [latency for latency, _ in steps[1:]] + [dram_ns]
    for (latency, capacity), after in zip(steps, latencies, strict=True):
        if size <= capacity * MIXED:
            over = min(1.0, max(0.0, (size / capacity - 1.0) / (MIXED - 1.0)))
            return (latency + (after - latency) * over) * 1e-9
    return dram_ns * 1e-9


def _access(latency_s: float, footprint: int) -> Cost:
    return Cost(
        load=Load(compute_cycles=0.0, dram_bytes=0.0, fixed_s=latency_s, host_s=0.0, activity=0.02, tensor=False),
        work={"calls": 1.0},
        allocated_bytes=footprint,
        reserved_bytes=footprint,
        noise=0.002,
        relative_error=0.0,
        notes={"kernel": "simulated"},
    )


def regions(card: SimulatedCard, params: Mapping[str, Scalar]) -> Sequence[Setting]:
    """Blocks of all free memory but the margin, all of one speed."""
    block, keep = int(params["block_bytes"]), int(params["keep_bytes"])
    count = max(1, (card.free_bytes - keep) // block)
    top_hz = card.model.clock_max_mhz * 1e6
    cost = Cost(
        load=Load(
            compute_cycles=0.3 * block / card.physics.bandwidth * top_hz,
            dram_bytes=float(block),
            fixed_s=2.5e-6,
            host_s=5e-6,
            activity=0.28,
            tensor=False,
        ),
        work={"bytes": float(block)},
        allocated_bytes=count * block,
        reserved_bytes=count * block,
        noise=0.003,
        relative_error=0.0,
        notes={"kernel": "simulated"},
    )
    return [Setting(params={"offset_bytes": number * block, "bytes": block}, cost=cost) for number in range(count)]

"""Copies on a simulated card."""

from collections.abc import Mapping

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_load import Load
from gputuner.model.readings import Scalar
from gputuner.workloads.simulated_costs.cost import Cost


def copy(card: SimulatedCard, params: Mapping[str, Scalar]) -> Cost:
    """One copy of a buffer on the card."""
    size = int(params["bytes"])
    moved = 2.0 * size
    top_hz = card.model.clock_max_mhz * 1e6
    cache = card.facts.l2_mib * 2**20
    return Cost(
        load=Load(
            compute_cycles=0.6 * moved / card.physics.bandwidth * top_hz,
            dram_bytes=moved,
            fixed_s=4e-6,
            host_s=8e-6,
            activity=0.28,
            tensor=False,
        ),
        work={"bytes": moved},
        allocated_bytes=2 * size,
        reserved_bytes=2 * size,
        noise=0.003,
        relative_error=0.0,
        notes={"kernel": "simulated", "buffer_over_cache": round(size / cache, 2)},
    )

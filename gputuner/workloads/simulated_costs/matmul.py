"""Dense products on a simulated card."""

from collections.abc import Mapping

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_load import Load
from gputuner.model.readings import Scalar
from gputuner.workloads.simulated_costs.chip import (
    STORAGE_BYTES,
    emulated,
    flop_per_cycle,
    on_tensor_pipes,
    plain_efficiency,
    precision_of,
)
from gputuner.workloads.simulated_costs.cost import Cost

_ERRORS = {"fp32": 2.1e-7, "tf32": 2.9e-4, "fp16": 2.1e-4, "bf16": 1.7e-3}
"""Relative Frobenius error of a product by rounding of inputs and result."""


def matmul(card: SimulatedCard, params: Mapping[str, Scalar]) -> Cost:
    """One product of two n × n matrices."""
    facts = card.facts
    precision, n = precision_of(facts, params), int(params["n"])
    tensor = on_tensor_pipes(facts, precision)
    best = card.model.matmul_efficiency if tensor else plain_efficiency(facts)
    half_size = 900.0 * (facts.sm_count / 132) ** 0.5
    efficiency = best * min(1.0, (1 + (half_size / 8192) ** 2) / (1 + (half_size / n) ** 2))
    size = STORAGE_BYTES[precision]
    flop = 2.0 * n**3
    tile = 175.0 * facts.l2_mib**0.5
    held = 3 * n * n * size + 32 * 2**20
    return Cost(
        load=Load(
            compute_cycles=flop / (flop_per_cycle(facts, precision) * efficiency),
            dram_bytes=flop * size / tile + 3.0 * n * n * size,
            fixed_s=4e-6,
            host_s=8e-6,
            activity=1.0 if precision in {"fp16", "bf16"} and tensor else 0.95 if tensor else 0.62,
            tensor=tensor,
        ),
        work={"flop": flop},
        allocated_bytes=held,
        reserved_bytes=held,
        noise=0.003,
        relative_error=_ERRORS[precision],
        notes={"emulated": emulated(facts, precision), "kernel": "simulated"},
    )

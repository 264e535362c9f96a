"""Pressure probes on a simulated card, and what makes a training a neighbour there.

Trainings that their host limits wait for the card four times a step, and keep it from other processes in a part of
their gaps, as fifteen recorded pairs on an H200 say (``devices/simulated_sharing.py``; how near the shipped trainings
come is in docs/contention-modes.md). Their kernels are short and many.
"""

from collections.abc import Mapping
from dataclasses import replace

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_load import CACHE_OVER_DRAM, Load
from gputuner.devices.simulated_sharing import CORES
from gputuner.model.readings import Scalar
from gputuner.workloads.simulated_costs.chip import PROCESSOR_CHIP
from gputuner.workloads.simulated_costs.cost import Cost, UnsupportedOnChipError
from gputuner.workloads.simulated_costs.links import link_rate

PASS_S = {"slices": 5e-5, "sm": 5e-5, "tensor": 4e-5, "dram": 4e-5, "l2": 3e-5, "pcie": 4e-4, "host": 1e-4}
"""Seconds of one pass."""
BLOCK_S = {"slices": 1.2e-5, "sm": 1.2e-5, "tensor": 1.2e-5, "dram": 1.5e-5, "l2": 8e-6}
ON_PROCESSOR = ("dram", "host")
TRAININGS = ("resnet50", "bert", "edsr", "gpt", "lstm", "llm")
WAITS, GRIP = 4.0, 0.22
BETWEEN_TRIALS = 0.003
"""Relative standard deviation of a rate from one trial to the next, as on quiet real cards."""
LAUNCH_S = 1e-5
"""The host launches one kernel of a training in this time."""
TRAINING_BLOCK_S = 1e-5
SATURATED = 0.9
CACHED_SHARE, KEPT_SHARE = 0.4, 0.3
"""Traffic of a training that its last cache serves, over that of its memory, and what it keeps there of the cache."""
HOST_CORES = 1.5


def pressure(card: SimulatedCard, params: Mapping[str, Scalar]) -> Cost:
    """One burst of a probe and its pause."""
    probe, dial, burst_s = str(params["probe"]), float(params["dial"]), float(params["burst_s"])
    processor = card.facts.chip == PROCESSOR_CHIP
    if probe not in PASS_S or (processor and probe not in ON_PROCESSOR):
        raise UnsupportedOnChipError(f"no probe {probe!r}")
    passes = int(params.get("passes", 0)) or max(1, round(burst_s / PASS_S[probe]))
    return Cost(
        load=_load(card, probe, dial, passes * PASS_S[probe]),
        work={"passes": float(passes)},
        allocated_bytes=4 * int(card.facts.l2_mib * 2**20) if probe == "dram" else 64 << 20,
        reserved_bytes=4 * int(card.facts.l2_mib * 2**20) if probe == "dram" else 64 << 20,
        noise=0.004,
        scatter=BETWEEN_TRIALS,
        notes={"kernel": "simulated", "passes": passes, "burst_s": burst_s, "dial": dial},
    )


def _load(card: SimulatedCard, probe: str, dial: float, seconds: float) -> Load:
    """A burst that takes ``seconds`` alone at the top clock."""
    top_hz, bandwidth = card.model.clock_max_mhz * 1e6, card.physics.bandwidth
    if probe == "host":
        return Load(
            compute_cycles=0.0, dram_bytes=0.0, fixed_s=1e-6, host_s=seconds, host_cores=2.0 * dial * CORES,
            activity=0.0, tensor=False,
        )  # fmt: skip
    if probe == "pcie":
        link_s = seconds * link_rate(card) / max(link_rate(card), 1.0)
        return Load(
            compute_cycles=0.0, dram_bytes=0.0, fixed_s=1e-6, link_s=link_s, host_cores=0.2, activity=0.0, tensor=False
        )
    cycles = {"dram": 0.25, "l2": 0.3}.get(probe, 1.0) * seconds * top_hz
    load = Load(
        compute_cycles=cycles,
        dram_bytes={"dram": 1.0, "tensor": 0.05}.get(probe, 0.0) * seconds * bandwidth,
        activity={"tensor": 1.0, "dram": 0.28, "l2": 0.3}.get(probe, 0.62),
        tensor=probe == "tensor",
        kernels=seconds / PASS_S[probe],
        block_s=BLOCK_S[probe],
        fill=0.7 if probe in ("dram", "l2") else 1.0,
        l2_bytes=seconds * CACHE_OVER_DRAM * bandwidth if probe == "l2" else 0.0,
        l2_resident_bytes=0.5 * card.facts.l2_mib * 2**20 if probe == "l2" else 0.0,
        host_cores=0.5,
    )
    return load if dial >= 1.0 else replace(load, host_s=seconds / dial, waits=1.0, serial=True)


def as_neighbour(card: SimulatedCard, workload: str, cost: Cost) -> Cost:
    """``cost`` with what a training is to others on its card; another workload's as it is."""
    if workload not in TRAININGS:
        return cost
    load, cache = cost.load, card.facts.l2_mib * 2**20
    bound = load.host_s > 0.0 and card.iteration_s(load) > card.iteration_s(replace(load, host_s=0.0)) / SATURATED
    served = CACHED_SHARE * load.dram_bytes
    return replace(
        cost,
        scatter=BETWEEN_TRIALS,
        load=replace(
            load,
            waits=WAITS if bound else 0.0,
            grip=GRIP,
            kernels=load.host_s / LAUNCH_S,
            block_s=TRAINING_BLOCK_S,
            fill=0.7 if bound else 1.0,
            l2_bytes=served,
            l2_resident_bytes=min(KEPT_SHARE * cache, served),
            host_cores=HOST_CORES,
        ),
    )

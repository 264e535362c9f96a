"""The costs of all workloads by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.model.readings import Scalar
from gputuner.workloads.bodies.switches import ACCUMULATE
from gputuner.workloads.simulated_costs.copy import copy
from gputuner.workloads.simulated_costs.cost import Cost, Setting, UnsupportedOnChipError
from gputuner.workloads.simulated_costs.decode import decode
from gputuner.workloads.simulated_costs.links import allreduce, peer_transfer, transfer
from gputuner.workloads.simulated_costs.loading import loading
from gputuner.workloads.simulated_costs.matmul import matmul, matmul_bursts, matmul_search, matmul_sparse
from gputuner.workloads.simulated_costs.memory import stream, stream_sweep
from gputuner.workloads.simulated_costs.numerics import numerics
from gputuner.workloads.simulated_costs.operations import attention, conv, launch
from gputuner.workloads.simulated_costs.pressure import as_neighbour, pressure
from gputuner.workloads.simulated_costs.probes import chase, regions
from gputuner.workloads.simulated_costs.resnet50 import resnet50
from gputuner.workloads.simulated_costs.training import bert, edsr, gpt, llm, lstm
from gputuner.workloads.simulated_costs.vram import burn, vram

COSTS: dict[str, Callable[[SimulatedCard, Mapping[str, Scalar]], Cost]] = {
    "matmul": matmul,
    "matmul_sparse": matmul_sparse,
    "copy": copy,
    "stream": stream,
    "resnet50": resnet50,
    "bert": bert,
    "edsr": edsr,
    "gpt": gpt,
    "lstm": lstm,
    "llm": llm,
    "pressure": pressure,
}
SURVEYS: dict[str, Callable[[SimulatedCard, Mapping[str, Scalar]], Sequence[Setting]]] = {
    "matmul_search": matmul_search,
    "matmul_bursts": matmul_bursts,
    "stream_sweep": stream_sweep,
    "chase": chase,
    "regions": regions,
    "vram": vram,
    "burn": burn,
    "decode": decode,
    "attention": attention,
    "conv": conv,
    "transfer": transfer,
    "peer_transfer": peer_transfer,
    "allreduce": allreduce,
    "launch": launch,
    "loading": loading,
    "numerics": numerics,
}
"""Workloads that go through many settings in one trial."""


def settings_of(card: SimulatedCard, workload: str, params: Mapping[str, Scalar]) -> tuple[Setting, ...]:
    """What a trial measures on a card: one setting, or those of a survey in order.

    Raises:
        UnsupportedOnChipError: unknown workload or precision, or arithmetic that the chip lacks.
    """
    if workload in SURVEYS:
        return tuple(SURVEYS[workload](card, params))
    if workload not in COSTS:
        raise UnsupportedOnChipError(f"a simulated worker has no workload {workload!r}")
    cost = COSTS[workload](card, {name: value for name, value in params.items() if name != ACCUMULATE})
    cost = as_neighbour(card, workload, cost)
    return (Setting(params=dict(params), cost=_accumulated(cost, int(params.get(ACCUMULATE, 1)))),)


def _accumulated(cost: Cost, count: int) -> Cost:
    """A training step over ``count`` batches: as many times everything, in the memory of one.

    The optimizer's step is a small part of a step and no part of its own in these models, so it counts each time.
    """
    if count == 1:
        return cost
    load = cost.load
    return replace(
        cost,
        load=replace(
            load,
            compute_cycles=count * load.compute_cycles,
            dram_bytes=count * load.dram_bytes,
            fixed_s=count * load.fixed_s,
            gap_s=count * load.gap_s,
            host_s=count * load.host_s,
        ),
        work={name: count * amount for name, amount in cost.work.items()},
        notes={**cost.notes, ACCUMULATE: count},
    )


def is_survey(workload: str) -> bool:
    """Whether a trial of it answers with parts."""
    return workload in SURVEYS

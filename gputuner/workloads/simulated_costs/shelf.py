"""The costs of all workloads by name."""

from collections.abc import Callable, Mapping, Sequence

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.model.readings import Scalar
from gputuner.workloads.simulated_costs.copy import copy
from gputuner.workloads.simulated_costs.cost import Cost, Setting, UnsupportedOnChipError
from gputuner.workloads.simulated_costs.decode import decode
from gputuner.workloads.simulated_costs.links import allreduce, loader, peer_transfer, transfer
from gputuner.workloads.simulated_costs.loading import loading
from gputuner.workloads.simulated_costs.matmul import matmul, matmul_search, matmul_sparse
from gputuner.workloads.simulated_costs.memory import stream, stream_sweep
from gputuner.workloads.simulated_costs.numerics import numerics
from gputuner.workloads.simulated_costs.operations import attention, conv, launch
from gputuner.workloads.simulated_costs.probes import chase, regions
from gputuner.workloads.simulated_costs.resnet50 import resnet50
from gputuner.workloads.simulated_costs.training import bert, edsr, gpt, llm, lstm

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
}
SURVEYS: dict[str, Callable[[SimulatedCard, Mapping[str, Scalar]], Sequence[Setting]]] = {
    "matmul_search": matmul_search,
    "stream_sweep": stream_sweep,
    "chase": chase,
    "regions": regions,
    "decode": decode,
    "attention": attention,
    "conv": conv,
    "transfer": transfer,
    "peer_transfer": peer_transfer,
    "allreduce": allreduce,
    "launch": launch,
    "loader": loader,
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
    return (Setting(params=dict(params), cost=COSTS[workload](card, params)),)


def is_survey(workload: str) -> bool:
    """Whether a trial of it answers with parts."""
    return workload in SURVEYS

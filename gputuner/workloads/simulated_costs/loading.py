"""Loading for a simulated card: its own training by the card's model, fed by a stand-in for a host.

The host has 16 cores and takes 3.6 ms for a photograph. Copies from pageable memory wait on the card's link, those from
pinned memory hide behind the step.
"""

from collections.abc import Mapping
from dataclasses import replace

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_load import Load
from gputuner.model.readings import Scalar
from gputuner.workloads.simulated_costs.cost import Cost, Setting, UnsupportedOnChipError
from gputuner.workloads.simulated_costs.links import PAGEABLE_RATE, PAGEABLE_SHARE, link_rate
from gputuner.workloads.simulated_costs.resnet50 import resnet50

SAMPLE_S, HANDOVER_S = 3.6e-3, 60e-6
"""To decode and prepare one sample, and to take it over from a loader process."""
CORES = 16
FORK_S = 0.02
"""Until one more process of the stand-in has begun."""
EPOCH = 1_281_167
"""Samples of an epoch: as many as ImageNet has."""


def loading(card: SimulatedCard, params: Mapping[str, Scalar]) -> tuple[Setting, ...]:
    """The demand, or one setting alone and with the training."""
    if params.get("decode"):
        raise UnsupportedOnChipError("decoding on the card is not modelled")
    batch = int(params["batch"])
    step = resnet50(card, params)
    if params["part"] == "demand":
        return (Setting(params={"part": "demand"}, cost=replace(step, notes={**step.notes, **_facts(params, batch)})),)
    made_s = batch * _sample_s(params)
    copied_s = 0.0 if params["pin"] else _copy_s(card, params, batch)
    alone = Load(compute_cycles=0.0, dram_bytes=_bytes(params, batch), fixed_s=1e-6, host_s=made_s + copied_s,
                 activity=0.1, tensor=False)  # fmt: skip
    fed = replace(step.load, host_s=max(step.load.host_s, made_s) + copied_s, fixed_s=step.load.fixed_s + copied_s)
    begun_s = batch * SAMPLE_S
    workers = int(params["workers"])
    notes: dict[str, Scalar] = {"start_s": round(begun_s + FORK_S * workers, 4)}
    border_s = begun_s + (0.0 if params["persistent"] else FORK_S * workers)
    further: dict[str, Scalar] = {"restart_s": round(border_s, 4)} if workers else {}
    with_training = _setting("fed", step, fed, {**further, "loss_finite": True}, batch)
    return (_setting("alone", step, alone, notes, batch), with_training) if params["alone"] else (with_training,)


def _setting(phase: str, step: Cost, load: Load, notes: dict[str, Scalar], batch: int) -> Setting:
    cost = replace(step, load=load, notes={"kernel": "simulated", **notes}, work={"samples": float(batch)})
    return Setting(params={"part": "supply", "phase": phase}, cost=cost)


def _facts(params: Mapping[str, Scalar], batch: int) -> dict[str, Scalar]:
    return {
        "source": "photographs",
        "decode": "torchvision",
        "cores": CORES,
        "loader_batch_bytes": int(_bytes(params, batch)),
        "epoch_batches": -(-EPOCH // batch),
        "usual_workers": 0,
        "usual_prefetch": 2,
        "usual_pin": False,
        "usual_persistent": False,
    }


def _bytes(params: Mapping[str, Scalar], batch: int) -> float:
    return batch * (3.0 * int(params.get("image", 224)) ** 2 * 4 + 8)


def _sample_s(params: Mapping[str, Scalar]) -> float:
    """Seconds between two samples: made by as many processes, or in the training's own."""
    workers = min(int(params["workers"]), CORES)
    return max(SAMPLE_S / workers, HANDOVER_S) if workers else SAMPLE_S + HANDOVER_S


def _copy_s(card: SimulatedCard, params: Mapping[str, Scalar], batch: int) -> float:
    return _bytes(params, batch) / min(PAGEABLE_RATE, PAGEABLE_SHARE * link_rate(card))

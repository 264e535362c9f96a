"""The numerical check on a simulated card: the time and memory of the training asked for, the losses of a stand-in."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.model.readings import Scalar
from gputuner.workloads.simulated_costs.cost import Setting, UnsupportedOnChipError
from gputuner.workloads.simulated_costs.resnet50 import resnet50
from gputuner.workloads.simulated_costs.training import bert, edsr, gpt, llm, lstm
from gputuner.workloads.simulated_numerics import StandIn, Step

TRAININGS = {"resnet50": resnet50, "bert": bert, "edsr": edsr, "gpt": gpt, "lstm": lstm, "llm": llm}
Notes = dict[str, Scalar]
STAND_IN = {"stand_in": True}
"""Note of what was not trained itself."""


def numerics(card: SimulatedCard, params: Mapping[str, Scalar]) -> Sequence[Setting]:
    """The steps of one run, and after them its largest activations."""
    name = str(params["training"])
    if name not in TRAININGS:
        raise UnsupportedOnChipError(f"a simulated worker cannot train {name!r}")
    cost = TRAININGS[name](card, params)
    work = {"samples": float(params["batch"])}
    draw, twin = int(params["draw"]), int(params.get("twin", 0))
    run = StandIn(precision=str(params["precision"]), draw=draw, batches=int(params["batches"]), twin=twin)
    steps = run.run(int(params["steps"]))
    told: list[tuple[Notes, Notes]] = [(_where("step", place), _notes(step)) for place, step in enumerate(steps)]
    told += [(_where("activation", place), peak) for place, peak in _peaks(run)]
    return [
        Setting(params=where, cost=replace(cost, work=work, notes={**STAND_IN, **notes}), once=True)
        for where, notes in told
    ]


def _where(kind: str, place: Scalar) -> Notes:
    return {kind: place}


def _notes(step: Step) -> dict[str, Scalar]:
    notes: dict[str, Scalar] = {"loss": step.loss}
    if step.grad_norm is not None:
        notes["grad_norm"] = step.grad_norm
    if step.scale is not None:
        notes |= {"scale": step.scale, "skipped": step.skipped}
    return notes


def _peaks(run: StandIn) -> list[tuple[str, dict[str, Scalar]]]:
    half = run.precision in ("fp16", "bf16")
    return [
        (place, {"largest": peak, "finite": True, "half": half, "order": order})
        for order, (place, peak) in enumerate(run.peaks.items())
    ]

"""The shipped trainings on a simulated H200 share it about as on the recorded one (docs/contention-modes.md).

Recorded: BF16, contiguous layout. Pairs from ``pairs-h200.json``; several of a kind from a recording of one to four
EDSR or ResNet-50 of 16.
"""

import json
from math import log
from pathlib import Path

import numpy as np
import pytest

from gputuner.devices.simulated import SimulatedCards, SimulatedClock
from gputuner.devices.simulated_load import Load, busy_s, iteration_s
from gputuner.devices.simulated_sharing import shares
from gputuner.workloads.simulated_costs.shelf import settings_of

RECORDED = json.loads((Path(__file__).parents[1] / "data/analysis/pairs-h200.json").read_text())
SEVERAL = {("edsr@16", 2): 1.15, ("edsr@16", 3): 1.67, ("edsr@16", 4): 2.23,
           ("resnet50@16", 2): 1.02, ("resnet50@16", 3): 1.49, ("resnet50@16", 4): 1.98}  # fmt: skip
PARAMS = {
    "edsr": {"precision": "bf16", "channels_last": True, "variant": "baseline", "patch": 48},
    "resnet50": {"precision": "bf16", "channels_last": False},
    "bert": {"precision": "bf16", "sequence": 384},
}
CARD = SimulatedCards(["h200-sxm"], SimulatedClock(), seed=1).models[0]
HZ, BANDWIDTH = CARD.model.clock_max_mhz * 1e6, CARD.physics.bandwidth


def load(job: str) -> Load:
    workload, _, batch = job.partition("@")
    return settings_of(CARD, workload, {**PARAMS[workload], "batch": int(batch)})[0].cost.load


def slowdowns(*jobs: str) -> list[float]:
    loads = {f"{place}": load(job) for place, job in enumerate(jobs)}
    beside = shares(loads, HZ, BANDWIDTH)
    return [1.0 / (iteration_s(one, HZ, BANDWIDTH) * beside[name].iterations_per_s) for name, one in loads.items()]


def pairs() -> list[tuple[str, str, float, float]]:
    """Job, partner, slowdown as simulated and as recorded; a training that is none of ours is left out."""
    told = [(a, b, *seen[:2]) for a, b, *seen in RECORDED["pairs"] if "mlp@64" not in (a, b)]
    found = []
    for first, second, *seen in told:
        both = slowdowns(first, second)
        found += [(first, second, both[0], seen[0]), (second, first, both[1], seen[1])]
    return found


@pytest.mark.parametrize(("job", "near"), [("edsr@16", 0.02), ("resnet50@96", 0.05), ("resnet50@16", 0.1)])
def test_the_card_is_busy_for_them_as_long_as_recorded(job, near):
    alone, busy = RECORDED["solo"][job]
    demand = load(job)
    assert busy_s(demand, HZ, BANDWIDTH)[0] / iteration_s(demand, HZ, BANDWIDTH) == pytest.approx(
        busy / alone, abs=near
    )


def test_ten_pairs():
    off = [abs(log(told / seen)) for _, _, told, seen in pairs()]
    assert len(off) == 20
    assert np.median(off) < 0.10
    assert np.quantile(off, 0.9) < 0.30


def test_one_that_saturates_loses_beside_a_launch_bound_one():
    told = {(job, partner): slow for job, partner, slow, _ in pairs()}
    assert told["resnet50@96", "edsr@16"] == pytest.approx(1.78, rel=0.12)
    assert told["bert@16", "edsr@16"] == pytest.approx(1.59, rel=0.12)


@pytest.mark.parametrize(("job", "count"), SEVERAL)
def test_several_of_a_kind(job, count):
    assert slowdowns(*[job] * count)[0] == pytest.approx(SEVERAL[job, count], rel=0.13)

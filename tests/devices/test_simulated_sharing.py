"""How simulated loads share a card, against what was recorded on an H200 and against theory."""

import json
from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.devices.simulated_load import Load, iteration_s
from gputuner.devices.simulated_sharing import Sharing, shares

HZ, BANDWIDTH, CACHE = 1e9, 1e12, 50e6
RECORDED = json.loads((Path(__file__).parents[1] / "data/analysis/pairs-h200.json").read_text())
MPS = Sharing(mode="mps", cache_bytes=CACHE)


def job(alone_s: float, busy_s: float) -> Load:
    """A training as its solo run was recorded: launch-bound where the card is idle for a tenth of a step or more."""
    bound = busy_s < 0.9 * alone_s
    return Load(
        compute_cycles=busy_s * HZ,
        dram_bytes=0.0,
        host_s=alone_s if bound else 0.5 * alone_s,
        waits=4.0 if bound else 0.0,
        grip=0.22,
    )


def slowdowns(loads: dict[str, Load], how: Sharing | None = None) -> dict[str, float]:
    alone = {name: shares({name: load}, HZ, BANDWIDTH, how)[name].iterations_per_s for name, load in loads.items()}
    beside = shares(loads, HZ, BANDWIDTH, how)
    return {name: alone[name] / beside[name].iterations_per_s for name in loads}


def test_time_slices_do_what_fifteen_pairs_on_an_h200_did():
    jobs = {name: job(*times) for name, times in RECORDED["solo"].items()}
    off: list[float] = []
    for first, second, *seen in RECORDED["pairs"]:
        told = slowdowns({"a": jobs[first], "b": jobs[second]})
        off += [abs(log(told[name] / measured)) for name, measured in zip("ab", seen[:2], strict=True)]
    assert np.median(off) < 0.12
    assert np.quantile(off, 0.9) < 0.3


def test_three_launch_bound_trainings_begin_to_slow():
    resnet = job(*RECORDED["solo"]["resnet50@16"])
    assert slowdowns(dict.fromkeys("ab", resnet))["a"] < 1.25
    assert slowdowns(dict.fromkeys("abc", resnet))["a"] == pytest.approx(1.48, rel=0.15)


def test_in_time_slices_the_resource_does_not_matter():
    pipes, memory = Load(compute_cycles=1e7, dram_bytes=0.0), Load(compute_cycles=1e4, dram_bytes=1e10)
    assert slowdowns({"a": pipes, "b": memory}) == pytest.approx({"a": 2.0, "b": 2.0}, rel=1e-3)
    side_by_side = slowdowns({"a": pipes, "b": memory}, MPS)
    assert max(side_by_side.values()) < 1.05
    assert slowdowns({"a": memory, "b": memory}, MPS)["a"] == pytest.approx(2.0, rel=0.02)


def test_what_is_driven_out_of_the_cache_comes_from_memory():
    swept = Load(compute_cycles=1e3, dram_bytes=0.0, l2_bytes=1e10, l2_resident_bytes=0.9 * CACHE)
    small = Load(compute_cycles=1e3, dram_bytes=0.0, l2_bytes=1e8, l2_resident_bytes=0.05 * CACHE, host_s=0.01)
    assert slowdowns({"a": swept, "b": small}, MPS)["a"] < 1.05
    assert slowdowns({"a": swept, "b": swept}, MPS)["a"] > 2.0


def test_thread_shares_keep_jobs_apart_and_priorities_protect():
    load = Load(compute_cycles=1e7, dram_bytes=0.0)
    halves = Sharing(mode="mps", cache_bytes=CACHE, thread_shares={"a": 0.5, "b": 0.5})
    assert slowdowns({"a": load, "b": load}, halves)["a"] == pytest.approx(2.0, rel=0.02)
    first = Sharing(mode="streams", cache_bytes=CACHE, priorities={"a": -1, "b": 0})
    told = slowdowns({"a": load, "b": load}, first)
    assert told["a"] < 1.4 < told["b"]


demands = st.lists(
    st.tuples(st.floats(1e3, 1e8), st.floats(0, 1e10), st.floats(0, 0.1), st.floats(0, 5)), min_size=2, max_size=4
)


@given(demands, st.sampled_from(["processes", "mps", "streams"]))
def test_nobody_gains_and_the_card_is_not_used_twice(asked, mode):
    loads = {
        str(i): Load(compute_cycles=c, dram_bytes=d, host_s=h, waits=w, grip=0.2)
        for i, (c, d, h, w) in enumerate(asked)
    }
    found = shares(loads, HZ, BANDWIDTH, Sharing(mode=mode, cache_bytes=CACHE))
    for name, load in loads.items():
        assert found[name].iterations_per_s <= 1 / iteration_s(load, HZ, BANDWIDTH) * (1 + 1e-9)
    if mode == "processes":
        assert sum(share.busy for share in found.values()) <= 1 + 1e-6


@given(st.floats(0.05, 1.0), st.floats(0.05, 1.0))
def test_a_busier_neighbour_never_hurts_less(low, high):
    low, high = sorted((low, high))
    victim = Load(compute_cycles=8e6, dram_bytes=0.0, host_s=0.012, waits=2.0, grip=0.2)
    seen = [
        slowdowns({"a": victim, "b": Load(compute_cycles=duty * 1e7, dram_bytes=0.0, host_s=0.01)})["a"]
        for duty in (low, high)
    ]
    assert seen[0] <= seen[1] * exp(1e-6)

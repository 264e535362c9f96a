"""The pointer chase: a single cycle through all nodes, enough nodes, and a curve as the memory has it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputuner.workloads.bodies.failures import WrongResultError
from gputuner.workloads.bodies.survey import Pace
from gputuner.workloads.kernels.chase import BEYOND_CACHE, LAP_NODES, LEAST_NODES, Chase, footprints, track
from tests.workloads.kernels.fake_runtime import CACHE_BYTES, FakeRuntime, fake_device

LINE = 128
PACE = Pace(measure_s=0.1, left_s=lambda: 0.0, stopped=lambda: False)


@given(st.integers(2, 4000), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_every_line_of_a_small_footprint_is_a_node_once(lines, seed):
    made = track(lines * LINE, LINE, 50 << 20, np.random.default_rng(seed))
    assert sorted(made.order.tolist()) == list(range(lines))
    assert not made.cold
    assert made.steps >= lines


def test_what_the_cache_holds_is_gone_through_at_least_once():
    cache = 40 << 20
    made = track(cache, LINE, cache, np.random.default_rng(0))
    assert made.steps >= len(made.order) == cache // LINE


@pytest.mark.parametrize("mib", [6, 40, 60])
def test_the_chase_is_as_long_on_both_sides_of_the_caches_size(mib):
    """Else the curve has a jump of the method's own there (an H200: 254 ns at 60 MiB, 213 ns at 64)."""
    cache = mib << 20
    made = [track(size, LINE, cache, np.random.default_rng(0)) for size in (cache, cache + LINE, 2 * cache)]
    assert len({each.steps for each in made}) == 1
    assert not any(each.cold for each in made)
    assert track(cache // 2, LINE, cache, np.random.default_rng(0)).steps <= made[0].steps


def test_a_large_footprint_has_nodes_all_over_it_and_none_twice():
    cache, footprint = 1 << 20, 4 << 30
    made = track(footprint, LINE, cache, np.random.default_rng(0))
    assert made.cold
    assert len(made.order) == max(LEAST_NODES, BEYOND_CACHE * cache // LINE)
    assert len(np.unique(made.order)) == len(made.order)
    assert made.order.min() < footprint // LINE // 1000
    assert made.order.max() > footprint // LINE * 0.999
    jumps = np.abs(np.diff(made.order.astype(np.int64)))
    # two random places of a stretch lie a third of it apart
    assert jumps.mean() == pytest.approx(footprint // LINE / 3, rel=0.02)


def test_the_nodes_visited_exceed_the_cache_many_times():
    cache = 60 << 20
    made = track(8 << 30, LINE, cache, np.random.default_rng(0))
    assert len(made.order) * LINE >= BEYOND_CACHE * cache
    assert Chase._most(made) * made.steps < len(made.order)


def test_footprints_are_close_around_the_cache():
    sizes = footprints(1 << 30, 40 << 20)
    assert sizes[0] == 4096
    assert sizes[-1] == 1 << 30
    assert sizes == sorted(set(sizes))
    assert {(k * 5) << 20 for k in range(3, 11)} <= set(sizes)


def test_the_curve_is_that_of_the_memory():
    chase = Chase(fake_device(), largest_bytes=4 << 20, stride_bytes=LINE, seed=0)
    parts = list(chase.parts(PACE))
    seen = {int(p.params["bytes"]): p for p in parts}
    assert seen[4096].iteration_s == pytest.approx([20e-9] * len(seen[4096].iteration_s), rel=1e-4)
    assert seen[512 << 10].iteration_s[0] == pytest.approx(150e-9, rel=1e-4)
    assert seen[4 << 20].iteration_s[0] == pytest.approx(400e-9, rel=1e-4)
    assert seen[4096].notes["cycles"] == pytest.approx(30.0)
    assert all(p.work == {"calls": 1.0} and len(p.iteration_s) >= 24 for p in parts)
    assert seen[CACHE_BYTES].notes["nodes"] == CACHE_BYTES // LINE


def test_few_nodes_are_followed_all_round_before_the_clock_starts():
    runtime = FakeRuntime()
    chase = Chase(fake_device(runtime), largest_bytes=4 << 20, stride_bytes=LINE, seed=0)
    list(chase.parts(PACE))
    laps = {a[2]: a[3] for kernel, _, a in runtime.launched if kernel == "chase"}
    assert laps[32] == 32
    assert laps[LAP_NODES] == LAP_NODES
    assert laps[(4 << 20) // LINE] == 0


def test_a_chase_that_ends_elsewhere_is_no_figure(monkeypatch):
    runtime = FakeRuntime()
    chase = Chase(fake_device(runtime), largest_bytes=1 << 16, stride_bytes=LINE, seed=0)
    whole = FakeRuntime._chase

    def astray(self, *arguments):
        whole(self, *arguments)
        self.view(arguments[-1], 3, np.uint64)[0] += 0 if arguments[2] * LINE < 1 << 15 else LINE

    monkeypatch.setattr(FakeRuntime, "_chase", astray)
    with pytest.raises(WrongResultError, match="steps"):
        list(chase.parts(PACE))

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.devices.simulated_load import Load, iteration_s
from gputuner.devices.simulated_sharing import shares

HZ, BANDWIDTH = 1e9, 1e12


def test_an_iteration_takes_the_longer_of_pipes_and_memory():
    compute = Load(compute_cycles=1e7, dram_bytes=1e8)
    memory = Load(compute_cycles=1e5, dram_bytes=1e10)
    assert iteration_s(compute, HZ, BANDWIDTH) == pytest.approx(0.010, rel=1e-6)
    assert iteration_s(memory, HZ, BANDWIDTH) == pytest.approx(0.010, rel=1e-6)
    assert iteration_s(compute, 2 * HZ, BANDWIDTH) == pytest.approx(0.005, rel=1e-6)


def test_the_host_sets_a_floor():
    load = Load(compute_cycles=1e6, dram_bytes=0, host_s=0.01)
    assert iteration_s(load, HZ, BANDWIDTH) == pytest.approx(0.01, rel=1e-6)
    alone = shares({"a": load}, HZ, BANDWIDTH)["a"]
    assert alone.busy == pytest.approx(0.1, rel=1e-6)


def test_small_kernels_do_not_overlap_pipes_and_memory():
    load = Load(compute_cycles=4e6, dram_bytes=6e9, fixed_s=0.001, overlapped=False)
    assert iteration_s(load, HZ, BANDWIDTH) == pytest.approx(0.011, rel=1e-6)


def test_two_launch_bound_loads_do_not_slow_each_other():
    half = Load(compute_cycles=4e6, dram_bytes=0, host_s=0.010)
    alone = shares({"a": half}, HZ, BANDWIDTH)["a"].iterations_per_s
    both = shares({"a": half, "b": half}, HZ, BANDWIDTH)
    assert both["a"].iterations_per_s == pytest.approx(alone)
    # three at 40 % each want 120 % of the card
    three = shares(dict.fromkeys("abc", half), HZ, BANDWIDTH)
    assert three["a"].iterations_per_s == pytest.approx(alone / 1.2, rel=0.001)


def test_two_saturated_loads_halve_and_a_light_one_keeps_its_rate():
    full = Load(compute_cycles=1e7, dram_bytes=0)
    light = Load(compute_cycles=1e6, dram_bytes=0, host_s=0.01)
    both = shares({"a": full, "b": full}, HZ, BANDWIDTH)
    assert both["a"].iterations_per_s == pytest.approx(50)
    mixed = shares({"full": full, "light": light}, HZ, BANDWIDTH)
    assert mixed["light"].iterations_per_s == pytest.approx(100, rel=1e-6)
    assert mixed["full"].iterations_per_s == pytest.approx(90, rel=1e-6)


@given(st.lists(st.tuples(st.floats(1e3, 1e8), st.floats(0, 1e10), st.floats(0, 0.1)), min_size=1, max_size=5))
def test_a_card_is_never_busier_than_always(demands):
    loads = {str(i): Load(compute_cycles=c, dram_bytes=d, host_s=h) for i, (c, d, h) in enumerate(demands)}
    found = shares(loads, HZ, BANDWIDTH)
    assert sum(s.busy for s in found.values()) <= 1 + 1e-9
    for name, load in loads.items():
        assert found[name].iterations_per_s <= 1 / iteration_s(load, HZ, BANDWIDTH) * (1 + 1e-9)

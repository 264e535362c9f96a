"""Which figures of a run speak for it."""

from dataclasses import replace

from gputuner.analysis.headlines import headlines
from gputuner.model.points import Flag, Point


def point(name, metric, value, unit="B/s", **params):
    return Point(id=f"{name}-{value}", card="c", metric=metric, workload=name, params=params, value=value, unit=unit)


def test_a_sweep_speaks_only_for_levels_that_nothing_else_measured():
    sweep = [
        point("memory-read", "stream_bandwidth", 4e12, level="l2", bytes=1 << 20, phase="sweep"),
        point("memory-read", "stream_bandwidth", 5e12, level="l2", bytes=1 << 22, phase="sweep"),
        point("memory-read", "stream_bandwidth", 9.9e11, level="dram", bytes=1 << 28, phase="sweep"),
    ]
    steady = point("memory-read", "stream_bandwidth", 9.3e11, level="dram", bytes=1 << 30, phase="steady")
    assert [p.value for p in headlines(sweep)] == [5e12, 9.9e11], "until the steady figure comes"
    assert [p.value for p in headlines([*sweep, steady])] == [5e12, 9.3e11]


def test_what_cannot_be_right_speaks_for_nothing():
    right = point("gemm-bf16", "matmul_rate", 1.6e14, "FLOP/s", precision="bf16", m=4096)
    wrong = replace(right, id="wrong", value=2.2e14, flags=(Flag.IMPLAUSIBLE,))
    assert headlines([wrong, right]) == [right]
    assert headlines([wrong]) == []


def test_what_lies_between_two_levels_speaks_for_none():
    sweep = [
        point("latency", "access_latency", v, "s", level=level, bytes=n, phase="sweep")
        for v, level, n in ((2e-8, "l1", 4096), (9e-8, "between", 131072), (1.5e-7, "l2", 1 << 20))
    ]
    steady = [point("latency", "access_latency", 2e-8, "s", level="l1", bytes=4096, phase="steady")]
    assert [p.params["level"] for p in headlines([*sweep, *steady])] == ["l2", "l1"]
    assert len(headlines(sweep)) == 3


def test_the_best_shape_of_each_phase_and_no_search():
    points = [
        point("gemm-bf16", "matmul_rate", 1.7e14, "FLOP/s", precision="bf16", m=4096, phase="search"),
        point("gemm-bf16", "matmul_rate", 1.5e14, "FLOP/s", precision="bf16", m=4096, phase="sustained"),
        point("gemm-bf16", "matmul_rate", 1.6e14, "FLOP/s", precision="bf16", m=4096, phase="burst"),
    ]
    assert [p.params["phase"] for p in headlines(points)] == ["sustained", "burst"]
    assert [p.params["phase"] for p in headlines(points[:1])] == ["search"]


def test_of_times_the_shortest_and_of_regions_the_worst_too():
    times = [point("launch", "launch_time", v, "s") for v in (5e-6, 4e-6)]
    assert [p.value for p in headlines(times)] == [4e-6]
    regions = [point("regions", "region_bandwidth", v, offset_bytes=i) for i, v in enumerate((9e11, 5e11, 9.2e11))]
    assert [p.value for p in headlines(regions)] == [9.2e11, 5e11]


def test_the_four_times_of_a_launch_stand_beside_each_other():
    """Host time, row, card alone and round trip are four answers: the shortest does not stand for the others."""
    times = {"enqueue": 3.4e-6, "back_to_back": 3.4e-6, "device": 1.5e-6, "round_trip": 9.0e-6}
    points = [point("launch", "launch_time", t, "s", mode=mode, kernels=100) for mode, t in times.items()]
    assert [p.params["mode"] for p in headlines(points)] == list(times)


def test_repeats_of_a_null_check_do_not_stand_for_their_benchmark():
    """The best of five would flatter."""
    once = point("gemm-bf16", "matmul_rate", 1.6e14, "FLOP/s", precision="bf16")
    again = [point("gemm-bf16", "matmul_rate", 1.7e14, "FLOP/s", precision="bf16", null=i) for i in (1, 2, 3, 4)]
    assert headlines([once, *again]) == [once]

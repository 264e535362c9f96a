"""The latency benchmark: a curve, its levels, and where it can run."""

import pytest

from gputuner.experiments.benchmarks.benchmark import Machine
from gputuner.experiments.benchmarks.latency import BENCHMARKS_LATENCY, _point
from gputuner.experiments.course import Course
from gputuner.model.cards import CPU_CARD, CardInfo
from gputuner.model.points import Flag
from gputuner.model.steps import Part


@pytest.fixture(scope="module")
def points(lab_points):
    return lab_points("rtx-4090-48g", "latency")


def of_level(points, level, phase="steady"):
    return [p for p in points if p.params["phase"] == phase and p.params["level"] == level]


def test_levels_are_those_of_the_chip(points):
    # published for AD102: 15, 111 and 254 ns
    found = {p.params["level"]: p.value for p in points if p.params["phase"] == "steady"}
    assert list(found) == ["l1", "l2", "dram"]
    assert found == {
        "l1": pytest.approx(15e-9, rel=0.02),
        "l2": pytest.approx(111e-9, rel=0.02),
        "dram": pytest.approx(254e-9, rel=0.02),
    }


def test_a_divided_l2_has_two_levels(lab_points):
    points = lab_points("h200-sxm", "latency")
    found = {p.params["level"]: p.value for p in points if p.params["phase"] == "steady"}
    assert list(found) == ["l1", "l2_near", "l2_far", "dram"]
    assert found["l2_far"] == pytest.approx(263e-9, rel=0.02)


def test_value_times_accesses_is_the_seconds_counted(points):
    for point in points:
        assert point.unit == "s"
        assert point.extra["calls"] == 1.0
        assert point.extra["seconds"] == pytest.approx(point.value)
        assert point.extra["correct"] is True


def test_each_footprint_of_the_sweep_is_told_with_its_level(points):
    sweep = [p for p in points if p.params["phase"] == "sweep"]
    footprints = [int(p.params["bytes"]) for p in sweep]
    assert footprints == sorted(footprints)
    assert footprints[0] == 4096
    assert footprints[-1] > 4 * 72 * 2**20
    assert {p.params["level"] for p in sweep} == {"l1", "l2", "dram", "between"}
    for level in ("l1", "l2", "dram"):
        steady = of_level(points, level)[0]
        assert any(p.params["bytes"] == steady.params["bytes"] for p in of_level(points, level, "sweep"))


def flags_of(lab, level, latencies):
    part = Part(params={"bytes": 40 << 20}, iteration_s=latencies, t0_ns=0, t1_ns=10**8, work={"calls": 1.0})
    course = Course(lab.context_of(lab.h200()), 0.0)
    return _point(course, part, None, {"bytes": 40 << 20, "phase": "sweep", "level": level}, {}).flags


def test_between_two_levels_scatter_is_no_fault_as_long_as_the_median_is_known(lab):
    # windows over a divided cache: IQR 5 %, in 300 of them the median within 1 %
    mixed = tuple(1e-7 * (1.0 + 0.05 * ((7 * i) % 11) / 5) for i in range(300))
    assert Flag.SPREAD not in flags_of(lab, "between", mixed)
    assert Flag.SPREAD in flags_of(lab, "l2", mixed)
    two_sided = tuple(1e-7 * (1.0 if (7 * i) % 11 < 6 else 1.4) for i in range(22))
    assert Flag.SPREAD in flags_of(lab, "between", two_sided)  # the median may be either
    assert Flag.SPREAD in flags_of(lab, "between", mixed[:12])  # too few to tell


def test_it_needs_a_gpu_and_our_kernels():
    (benchmark,) = BENCHMARKS_LATENCY
    card = CardInfo(uuid="GPU-1", index=0, name="card", memory_total_bytes=1 << 34)
    processor = CardInfo(uuid=CPU_CARD, index=0, name="processor", memory_total_bytes=1 << 34)
    assert benchmark.unavailable(Machine(card=card, kernels=True)) is None
    assert benchmark.unavailable(Machine(card=card)).params == {"extra": "kernels"}
    assert benchmark.unavailable(Machine(card=processor, kernels=True)).code == "gpu_only"

"""The memory benchmarks: footprints, levels, and bytes that add up."""

import pytest

from gputuner.experiments.bench import Bench
from gputuner.experiments.benchmarks.memory import BENCHMARKS_MEMORY
from gputuner.workloads.simulated_costs.memory import ARRAYS as SIMULATED_ARRAYS
from gputuner.workloads.specs_stream import ARRAYS, OPERATIONS


@pytest.fixture(scope="module")
def points(lab_points):
    return lab_points("rtx-4090-48g", "memory")


def test_names_are_those_of_the_suite():
    assert [b.name for b in BENCHMARKS_MEMORY] == [f"memory-{operation}" for operation in OPERATIONS]
    assert Bench(names=("memory",)).benchmarks() == BENCHMARKS_MEMORY


def test_the_figure_of_dram_is_of_at_least_four_caches(points):
    steady = [p for p in points if p.params["phase"] == "steady"]
    assert [p.params["operation"] for p in steady] == list(OPERATIONS)
    assert all(p.params["level"] == "dram" and p.params["bytes"] >= 4 * 72 * 2**20 for p in steady)
    # published copies of the card: 912 to 922 GB/s
    assert all(0.85e12 <= p.value <= 1.008e12 for p in steady)


def test_a_sweep_shows_the_cache_and_dram(points):
    sweep = [p for p in points if p.params["phase"] == "sweep" and p.params["operation"] == "copy"]
    by_level = {level: max(p.value for p in sweep if p.params["level"] == level) for level in ("l2", "dram")}
    assert by_level["l2"] > 2 * by_level["dram"]


def test_value_times_seconds_is_the_bytes_counted(points):
    for point in points:
        assert point.extra["bytes"] == point.params["bytes"]
        assert point.value * point.extra["seconds"] == pytest.approx(point.extra["bytes"])


def test_the_simulation_counts_as_the_worker_does():
    assert SIMULATED_ARRAYS == ARRAYS

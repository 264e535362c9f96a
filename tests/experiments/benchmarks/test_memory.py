"""The memory benchmarks: footprints, levels, and bytes that add up."""

from dataclasses import replace

import pytest

from gputuner.experiments.bench import Bench
from gputuner.experiments.benchmarks.memory import BENCHMARKS_MEMORY, CPU_MOST_BYTES, beyond_the_bus, cache_bytes
from gputuner.experiments.benchmarks.own_kernels import with_kernels
from gputuner.experiments.course import Course
from gputuner.experiments.protocol import PlanContext
from gputuner.model.cards import CPU_CARD, CardInfo
from gputuner.model.fingerprint import Fingerprint, HostFingerprint
from gputuner.model.steps import Done, UserCodeFailed, Work
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


@pytest.mark.parametrize(
    ("reason", "runtimes"), [("extra_missing", ["kernels", "torch"]), ("wrong_result", ["kernels"])]
)
def test_a_card_is_asked_through_our_kernels_and_torch_is_the_fallback(reason, runtimes):
    context = PlanContext(
        card=CardInfo(uuid="GPU-1", index=0, name="card", memory_total_bytes=24 << 30),
        torch=None, fingerprint=Fingerprint(host=HostFingerprint(readings={})), processes=None, budget_s=600.0,
        free_bytes=20 << 30, kernels=True,
    )  # fmt: skip
    work = Work(label="bench_stream", workload="stream", params={}, measure_s=1.0, budget_s=2.0)
    failure = UserCodeFailed(message="", traceback="", reason=reason)
    answers = {"kernels": failure, "torch": Done()}
    got, asked = [], []

    def plan():
        got.append((yield from with_kernels(Course(context, 0.0), work, 1.0)))

    steps = plan()
    answer = None
    while not got:
        step = next(steps, None) if answer is None else sent(steps, answer)
        asked += [step.runtime] if isinstance(step, Work) else []
        answer = answers[step.runtime] if isinstance(step, Work) else Done()
    assert asked == runtimes
    assert got == [answers[runtimes[-1]]]


@pytest.mark.parametrize(
    ("tera", "mib", "impossible"),
    [
        (8.9, 181, True),  # 121 of 181 MiB at least cross the bus: 5.9 TB/s
        (7.0, 181, False),  # 4.7 TB/s, if the L2 kept all it can
        (8.9, 120, False),  # two L2 or less: not known what they kept
        (5.3, 1920, True),  # 5.13 TB/s over the bus
        (4.7, 1920, False),
    ],
)
def test_a_rate_that_bus_and_cache_cannot_give_is_told_as_such(tera, mib, impossible):
    assert beyond_the_bus(tera * 1e12, mib * 2**20, 60 << 20, 4.8e12) is impossible
    assert not beyond_the_bus(tera * 1e12, mib * 2**20, 60 << 20, None)


def test_a_shared_cache_of_a_server_counts_as_far_as_its_cores_can_hold_on_to_it():
    processor = PlanContext(
        card=CardInfo(uuid=CPU_CARD, index=0, name="processor"), torch=None,
        fingerprint=Fingerprint(host=HostFingerprint(readings={})), processes=None, budget_s=60.0, free_bytes=None,
        worker={"cache_bytes": 480 << 20},
    )  # fmt: skip
    assert cache_bytes(Course(processor, 0.0)) == CPU_MOST_BYTES // 4
    card = replace(processor, card=CardInfo(uuid="GPU-1", index=0, name="card"))
    assert cache_bytes(Course(card, 0.0)) == 480 << 20


def sent(steps, answer):
    try:
        return steps.send(answer)
    except StopIteration:
        return None


def test_the_simulation_counts_as_the_worker_does():
    assert SIMULATED_ARRAYS == ARRAYS

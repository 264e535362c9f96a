"""The regions benchmark: every part of the memory, its share of the median, and slower areas told."""

from dataclasses import replace

import pytest

from gputuner.experiments.benchmarks.benchmark import Effort
from gputuner.experiments.benchmarks.regions import regions
from gputuner.experiments.course import Course
from gputuner.experiments.protocol import PlanContext
from gputuner.model.cards import CardInfo
from gputuner.model.fingerprint import Fingerprint, HostFingerprint
from gputuner.model.points import Conditions
from gputuner.model.readings import Reading
from gputuner.model.steps import Done, Part, Report, Trial, UserCodeFailed, Warn, Work

GIB = 1 << 30


@pytest.fixture(scope="module")
def points(lab_points):
    return lab_points("rtx-4090-48g", "regions")


def test_nearly_all_of_the_memory_is_read(points):
    offsets = [int(p.params["offset_bytes"]) for p in points]
    size = int(points[0].params["bytes"])
    assert offsets == [n * size for n in range(len(points))]
    assert 0.9 * 48 * GIB < len(points) * size < 48 * GIB - 512 * 2**20


def test_value_times_seconds_is_the_bytes_counted(points):
    for point in points:
        assert point.value * point.extra["seconds"] == pytest.approx(point.extra["bytes"])
        assert point.extra["bytes"] == point.params["bytes"]
        assert point.extra["fraction_of_median"] == pytest.approx(1.0, abs=0.02)


@pytest.fixture
def kernel_context():
    return PlanContext(
        card=CardInfo(uuid="GPU-1", index=0, name="card", memory_total_bytes=24 * GIB),
        torch=None,
        fingerprint=Fingerprint(host=HostFingerprint(readings={})),
        processes=None,
        budget_s=600.0,
        free_bytes=20 * GIB,
        kernels=True,
    )


def played(context, *results):
    """Drive the benchmark with these outcomes of its works; the works it asked for, and the rest of its steps."""
    course = Course(context, 0.0)
    steps = regions(course, Effort())
    works, others, answers = [], [], iter(results)
    answer = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration:
            return works, others
        answer = Done()
        if isinstance(step, Work):
            works.append(step)
            answer = next(answers)
        else:
            others.append(step)


def survey(slow=()):
    parts = tuple(
        Part(
            params={"offset_bytes": n * GIB, "bytes": GIB}, iteration_s=(1e-3 * (1.25 if n in slow else 1.0),) * 5,
            t0_ns=0, t1_ns=10**9, work={"bytes": float(GIB)}, relative_error=0.0, notes={"kernel": "nvrtc"},
        )
        for n in range(16)
    )  # fmt: skip
    trial = Trial(iteration_s=(), t0_ns=0, t1_ns=10**9, parts=parts, notes={"coverage": 0.95})
    conditions = Conditions(duration_s=1.0, samples=0)
    return Done(trials=(trial,), conditions=conditions, part_conditions=(conditions,) * 16)


def test_a_slower_half_is_told(kernel_context):
    works, others = played(kernel_context, survey(slow=range(8, 16)[2:]))
    assert [w.runtime for w in works] == ["kernels"]
    (report,) = [s for s in others if isinstance(s, Report)]
    assert report.points[12].extra["fraction_of_median"] == pytest.approx(0.8)
    assert report.points[0].extra["coverage"] == 0.95
    (warning,) = [s for s in others if isinstance(s, Warn)]
    assert warning.code == "regions_slow_area"
    assert warning.params == {"offset": 10 * GIB, "bytes": 6 * GIB, "fraction": pytest.approx(0.8)}


@pytest.mark.parametrize(("name", "value"), [("os", "Windows 10.0.22631"), ("wsl", True)])
def test_on_windows_a_slow_block_may_lie_in_system_memory(kernel_context, name, value):
    host = HostFingerprint(readings={name: Reading(value=value)})
    context = replace(kernel_context, fingerprint=replace(kernel_context.fingerprint, host=host))
    _, others = played(context, survey(slow=range(4)))
    assert [s.code for s in others if isinstance(s, Warn)] == ["regions_slow_area_windows"]


def test_without_kernels_torch_reads(kernel_context):
    missing = UserCodeFailed(message="no cuda-core", traceback="", reason="extra_missing")
    works, others = played(kernel_context, missing, survey())
    assert [w.runtime for w in works] == ["kernels", "torch"]
    assert [s.code for s in others if isinstance(s, Warn)] == ["kernels_unavailable"]
    assert len([s for s in others if isinstance(s, Report)]) == 1


def test_shared_cells_fail_the_benchmark(kernel_context):
    wrong = UserCodeFailed(message="the block at offset 0", traceback="", reason="wrong_result")
    works, others = played(kernel_context, wrong)
    assert len(works) == 1
    assert [(s.code, s.params["reason"]) for s in others] == [("benchmark_failed", "wrong_result")]

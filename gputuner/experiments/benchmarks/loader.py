"""Data loader: samples/s over processes and switches, and for how long a training of a stated rate would starve.

JPEG files of 500 × 375 are decoded, cut, scaled to 224, mirrored and normalised; by torchvision on the processor where
it is installed, else by Pillow; where neither is, the same without decoding (``stand_in``). The number of processes
grows to the cores that affinity and quota leave, as far as host memory and shared memory allow; then prefetching,
pinning and processes that start anew are tried at the fastest number, and decoding on the card by torchvision or DALI.

``starvation_fraction``: share of the time for which a consumer waits that is busy for batch / ``consumer_rate`` with
each batch. Its rate is that of ResNet-50 measured in the same run, else a guess from the chip's peak.
"""

import sys

from gputuner.experiments.benchmarks.benchmark import Benchmark, Effort, Machine, Steps, Unavailable
from gputuner.experiments.benchmarks.recording import rate
from gputuner.experiments.benchmarks.surveyed import Measured, surveyed
from gputuner.experiments.benchmarks.training import half
from gputuner.experiments.benchmarks.training_measure import USUAL_SHARE
from gputuner.experiments.course import Course
from gputuner.model.steps import Work
from gputuner.workloads.bodies.training_shapes import resnet50_flop
from gputuner.workloads.specs_links import LoaderSpec

MEASURE_S, FULL_MEASURE_S, CPU_S = 28.0, 120.0, 10.0
FULL_WORKERS, CPU_WORKERS = 64, 2
CPU_BATCH, CPU_CONSUMER = 8, 100.0
UNKNOWN_CONSUMER = 1000.0
"""Samples/s where neither a training was measured nor a peak is known."""


def needs_fork(_: Machine) -> Unavailable | None:
    """Loader processes are forked; Windows cannot, and a spawned one would not find this package."""
    return Unavailable(code="needs_fork") if sys.platform == "win32" else None


def consumer_rate(course: Course) -> float:
    """What a training of ResNet-50 takes, in samples/s."""
    if course.context.card.is_cpu:
        return CPU_CONSUMER
    trained = [
        point.value
        for point in course.points
        if point.metric == "train_throughput"
        and point.extra.get("benchmark") == "resnet50"
        and point.params.get("loader", "synthetic") == "synthetic"
    ]
    peak = course.context.published.get(f"peak_{half(course)}")
    guess = USUAL_SHARE * peak / resnet50_flop(224) if peak else UNKNOWN_CONSUMER
    return float(round(max(trained, default=guess)))


def loader(course: Course, effort: Effort) -> Steps:
    """All numbers of processes and switches in one trial."""
    rate_wanted = consumer_rate(course)
    if course.context.card.is_cpu:
        spec, usual_s = LoaderSpec(consumer_rate=rate_wanted, batch=CPU_BATCH, most_workers=CPU_WORKERS), CPU_S
    elif effort.full:
        spec, usual_s = LoaderSpec(consumer_rate=rate_wanted, most_workers=FULL_WORKERS), FULL_MEASURE_S
    else:
        spec, usual_s = LoaderSpec(consumer_rate=rate_wanted), MEASURE_S
    measure_s = effort.seconds(usual_s, 4.0)
    work = Work(
        label="bench_loader",
        workload=spec.workload,
        params=spec.params(),
        measure_s=measure_s,
        budget_s=3 * measure_s + 60.0,
    )
    found = yield from surveyed(course, "loader", work)
    for part, conditions in found:
        yield from course.tell(
            rate(course, "loader", "loader_rate", "samples/s", "samples", part, conditions, dict(part.params))
        )
    yield from _pinned_to_one_core(course, found)


def _pinned_to_one_core(course: Course, found: tuple[Measured, ...]) -> Steps:
    """Tell where the worker may use one core of many: then it is not the loader that does not scale."""
    cores = next((part.notes["cores"] for part, _ in found if "cores" in part.notes), None)
    host = course.context.fingerprint.host.readings.get("cores_logical")
    there = host.value if host else None
    if cores == 1 and isinstance(there, int | float) and there > 1:
        yield from course.warn("loader_one_core", cores=1, host_cores=int(there))


BENCHMARKS_LOADER: tuple[Benchmark, ...] = (
    Benchmark(
        name="loader", group="loader", unit="samples/s", default_s=34.0, full_s=130.0, cpu_s=14.0, run=loader,
        unavailable=needs_fork,
    ),
)  # fmt: skip

"""VRAM by region: the read bandwidth of every part of the memory.

Method: nearly all free memory is taken in blocks of 256 MiB to 1 GiB (a margin stays free) and written; then all blocks
are read in random order, round after round (``workloads/kernels/regions.py``; without the extra ``kernels`` by torch's
sum). Every block must hold what was written there, so that cells which two blocks share fail the benchmark. Areas
slower than the median by more than 3 % and six deviations are told: memory behind another bus width (a clamshell half,
a lone chip) shows as one, but on Windows so does a block that was moved to system memory. Counted are the bytes read.
Offsets follow the order in which the driver gave the blocks out.
Peers: memtest_vulkan (one rate for all), none by region.
"""

import statistics
from dataclasses import replace

from gputuner.analysis.region_rates import slow_areas
from gputuner.experiments.benchmarks.benchmark import Benchmark, Effort, Steps, gpu_only
from gputuner.experiments.benchmarks.failed import failed
from gputuner.experiments.benchmarks.own_kernels import with_kernels
from gputuner.experiments.benchmarks.recording import rate
from gputuner.experiments.course import Course
from gputuner.model.points import Point
from gputuner.model.steps import Done, Work
from gputuner.workloads.specs_probes import RegionsSpec

NAME, METRIC = "regions", "region_bandwidth"
MEASURE_S = 6.0
SETUP_S = 4.0
USUAL_TOTAL_BYTES = 8 << 30
TOLD = ("kernel", "blocks", "covered_bytes", "coverage")
"""Of the whole survey, told with every region."""


def regions(course: Course, effort: Effort) -> Steps:
    """Each region, then what is slower."""
    total = course.context.card.memory_total_bytes or USUAL_TOTAL_BYTES
    spec = RegionsSpec.of(total)
    seconds = effort.seconds(MEASURE_S, 1.0) * (4.0 if effort.full else 1.0)
    work = Work(
        label="bench_regions",
        workload=spec.workload,
        params=spec.params(),
        measure_s=seconds,
        budget_s=4 * seconds + 60.0,
    )
    result = yield from with_kernels(course, work, seconds + SETUP_S)
    if not isinstance(result, Done) or not result.trials or not result.trials[0].parts:
        yield from failed(course, NAME, result)
        return
    trial = result.trials[0]
    whole = {name: trial.notes[name] for name in TOLD if name in trial.notes}
    points = [
        rate(course, NAME, METRIC, "B/s", "bytes", part, conditions, dict(part.params), extra=whole)
        for part, conditions in zip(trial.parts, result.part_conditions, strict=True)
    ]
    yield from course.tell(*_compared(points))
    for area in slow_areas([(int(p.params["offset_bytes"]), p.value) for p in points], int(points[0].params["bytes"])):
        code = "regions_slow_area_windows" if _pages_out(course) else "regions_slow_area"
        yield from course.warn(code, offset=area.offset_bytes, bytes=area.bytes, fraction=area.fraction)


def _pages_out(course: Course) -> bool:
    """Whether the system may move blocks to system memory: Windows does, also beneath WSL."""
    host = course.context.fingerprint.host.readings
    wsl, system = host.get("wsl"), host.get("os")
    return (wsl is not None and wsl.value is True) or (system is not None and str(system.value).startswith("Windows"))


def _compared(points: list[Point]) -> list[Point]:
    """The points, each with its share of the median rate."""
    median = statistics.median(point.value for point in points)
    return [replace(point, extra={**point.extra, "fraction_of_median": point.value / median}) for point in points]


BENCHMARKS_REGIONS: tuple[Benchmark, ...] = (
    Benchmark(
        name=NAME,
        group="regions",
        unit="B/s",
        default_s=MEASURE_S + SETUP_S,
        full_s=4 * MEASURE_S + SETUP_S,
        cpu_s=0.0,
        run=regions,
        unavailable=gpu_only,
    ),
)

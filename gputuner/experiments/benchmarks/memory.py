"""Memory bandwidth: read, write, copy, scale and triad, over sizes and in DRAM.

Method: a sweep of footprints from 256 KiB on, two to an octave, shows the last cache's level; from four caches on the
cache is flushed between passes. Then one footprint of 32 L2 (1 GiB or more; on a processor four caches) is measured
steadily: that is the figure of DRAM. On a GPU our own kernels run (16-byte loads; unrolling, cache hint and spread
tuned in set-up), without the extra ``kernels`` torch's. Bytes are those that the operation defines (read 1 ×, write
1 ×, copy 2 ×, scale 2 ×, triad 3 × the array). Results are checked number by number.
Peers: BabelStream (arrays that may fit a large L2), nvbandwidth (three samples, no sweep), memtest's read and write.
"""

from collections.abc import Callable
from statistics import median

from gputuner.analysis.roofline import beyond_the_bus
from gputuner.experiments.benchmarks.benchmark import Benchmark, Effort, Steps
from gputuner.experiments.benchmarks.failed import failed
from gputuner.experiments.benchmarks.own_kernels import with_kernels
from gputuner.experiments.benchmarks.recording import rate
from gputuner.experiments.course import Course
from gputuner.model.points import Flag
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Part, Work
from gputuner.workloads.specs_stream import (
    ARRAYS,
    BEYOND_CACHE,
    OPERATIONS,
    Operation,
    StreamSpec,
    StreamSweepSpec,
    dram_footprint,
    level,
)

METRIC = "stream_bandwidth"
SWEEP_S, STEADY_S, WARM_UP_S, SETUP_S = 4.0, 3.0, 2.0, 1.5
"""A stream may draw as much power as the card is allowed (an H200: 700 W), and then takes a second or two to settle."""
CPU_SWEEP_S, CPU_STEADY_S, CPU_SETUP_S = 1.5, 1.0, 5.5
CPU_MOST_BYTES = 384 << 20
"""Two cores of a server cannot hold on to all of its shared cache: this is DRAM to them."""
DRAM_CACHES = 32
"""Of so many L2 what the last pass left there is at most 3 % of a footprint."""
USUAL_CACHE_BYTES = 64 << 20
USUAL_FREE_BYTES = 4 << 30


def cache_bytes(course: Course) -> int:
    """Size of the last cache in bytes (a processor's: what its cores can hold on to); a large one if it is not told."""
    said = course.context.worker.get("cache_bytes")
    if isinstance(said, int) and said > 0:
        return min(said, CPU_MOST_BYTES // BEYOND_CACHE) if course.context.card.is_cpu else said
    return int(course.context.card.number("l2_bytes") or USUAL_CACHE_BYTES)


def told_l2(course: Course) -> dict[str, Scalar]:
    """``l2_bytes`` as the card's driver tells it (NVML has no call for it); empty for a processor, or not told."""
    said = course.context.worker.get("cache_bytes")
    return {"l2_bytes": said} if isinstance(said, int) and said > 0 and not course.context.card.is_cpu else {}


def _footprint(course: Course) -> int:
    free = course.context.free_bytes or USUAL_FREE_BYTES
    if course.context.card.is_cpu:
        return dram_footprint(cache_bytes(course), free, CPU_MOST_BYTES)
    return dram_footprint(cache_bytes(course), free, 1 << 34, DRAM_CACHES)


def _memory(operation: Operation) -> Callable[[Course, Effort], Steps]:
    name = f"memory-{operation}"

    def run(course: Course, effort: Effort) -> Steps:
        yield from _sweep(course, name, operation, effort)
        yield from _steady(course, name, operation, effort)

    return run


def _sweep(course: Course, name: str, operation: Operation, effort: Effort) -> Steps:
    cpu, cache, sms = course.context.card.is_cpu, cache_bytes(course), course.context.card.sm_count
    largest = _footprint(course) if effort.full else min(_footprint(course), max(1 << 30, 2 * BEYOND_CACHE * cache))
    spec = StreamSweepSpec(operation=operation, largest_bytes=largest)
    seconds = effort.seconds(CPU_SWEEP_S if cpu else SWEEP_S) * (4.0 if effort.full else 1.0)
    work = Work(
        label="bench_stream_sweep",
        workload=spec.workload,
        params=spec.params(),
        measure_s=seconds,
        budget_s=3 * seconds + 20.0,
    )
    result = yield from with_kernels(course, work, seconds + SETUP_S)
    if not isinstance(result, Done) or not result.trials or not result.trials[0].parts:
        yield from failed(course, name, result)
        return
    measured = zip(result.trials[0].parts, result.part_conditions, strict=True)
    bus = course.context.published.get("peak_bandwidth")

    def impossible(part: Part) -> tuple[Flag, ...]:
        footprint, seconds = float(part.params["bytes"]), median(part.iteration_s)
        return (Flag.IMPLAUSIBLE,) if beyond_the_bus(part.work["bytes"] / seconds, footprint, cache, bus) else ()

    yield from course.tell(
        *(
            rate(
                course, name, METRIC, "B/s", "bytes", part, conditions,
                {**part.params, "phase": "sweep", "level": level(float(part.params["bytes"]), cache, sms)},
                flags=impossible(part), extra=told_l2(course),
            )
            for part, conditions in measured
        )
    )  # fmt: skip


def _steady(course: Course, name: str, operation: Operation, effort: Effort) -> Steps:
    cpu, footprint = course.context.card.is_cpu, _footprint(course)
    spec = StreamSpec(operation=operation, bytes=footprint // ARRAYS[operation] // 4096 * 4096)
    seconds = effort.seconds(CPU_STEADY_S if cpu else STEADY_S)
    work = Work(
        label="bench_stream",
        workload=spec.workload,
        params=spec.params(),
        measure_s=seconds,
        budget_s=4 * seconds + 10.0,
        warmup_s=None if cpu else min(WARM_UP_S, seconds),
    )
    result = yield from with_kernels(course, work, seconds + (0.0 if cpu else WARM_UP_S) + SETUP_S)
    if not isinstance(result, Done) or not result.trials or not result.trials[0].iteration_s:
        yield from failed(course, name, result)
        return
    whole = spec.bytes * ARRAYS[operation]
    told: dict[str, Scalar] = {
        "operation": operation, "bytes": whole, "phase": "steady", "level": level(whole, cache_bytes(course)),
    }  # fmt: skip
    trial, extra = result.trials[0], told_l2(course)
    yield from course.tell(rate(course, name, METRIC, "B/s", "bytes", trial, result.conditions, told, extra=extra))


BENCHMARKS_MEMORY: tuple[Benchmark, ...] = tuple(
    Benchmark(
        name=f"memory-{operation}",
        group="memory",
        unit="B/s",
        default_s=SWEEP_S + WARM_UP_S + STEADY_S + 2 * SETUP_S,
        full_s=4 * SWEEP_S + WARM_UP_S + STEADY_S + 2 * SETUP_S,
        cpu_s=CPU_SWEEP_S + CPU_STEADY_S + CPU_SETUP_S,
        cpu_full_s=4 * CPU_SWEEP_S + CPU_STEADY_S + CPU_SETUP_S,
        run=_memory(operation),
    )
    for operation in OPERATIONS
)

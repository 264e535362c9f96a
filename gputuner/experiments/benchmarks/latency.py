"""Memory latency: how long one access takes, over footprints from 4 KiB to some GiB.

Method: a single thread follows pointers through a random single cycle of lines (``workloads/kernels/chase.py``): every
node of what the L2 can hold is visited, and of larger footprints none twice, so that no access is answered by a cache
that the last round filled. Levels are plateaus of the curve (``analysis/latency_levels.py``); near and far halves of a
divided L2 are told apart, never averaged, and what lies between two levels belongs to none. Such a transition is a
mixture of two latencies by its nature: its windows scatter, which is no fault as long as their median is known (its
95 % interval no wider than the scatter that a level may have). Value: median over windows,
by the card's global timer. Counted is one access; every chase must end where its steps lead.
Peers: gpu-benches (one warp, random cycle, by eye), Citadel's papers on Volta and Turing (strides).
"""

from gputuner.analysis.headlines import BETWEEN
from gputuner.analysis.latency_levels import Level, Levels, levels
from gputuner.analysis.statistics import SPREAD_LIMIT, spread, spread_flags
from gputuner.experiments.benchmarks.benchmark import Benchmark, Effort, Steps, needs_kernels
from gputuner.experiments.benchmarks.judging import measured_against
from gputuner.experiments.benchmarks.memory import USUAL_FREE_BYTES, cache_bytes, told_l2
from gputuner.experiments.benchmarks.recording import stand_in
from gputuner.experiments.benchmarks.surveyed import Measured, surveyed
from gputuner.experiments.course import Course
from gputuner.model.points import Conditions, Flag, Point, Spread
from gputuner.model.readings import Scalar
from gputuner.model.steps import Part, Trial, Work
from gputuner.workloads.specs_probes import ChaseSpec

NAME, METRIC = "latency", "access_latency"
MEASURE_S = 18.0
LARGEST_BYTES, FULL_LARGEST_BYTES = 8 << 30, 256 << 30
FREE_SHARE = 0.8


def latency(course: Course, effort: Effort) -> Steps:
    """The curve, then its levels."""
    free = course.context.free_bytes or USUAL_FREE_BYTES
    largest = min(FULL_LARGEST_BYTES if effort.full else LARGEST_BYTES, int(FREE_SHARE * free))
    spec = ChaseSpec(largest_bytes=largest // 4096 * 4096)
    seconds = effort.seconds(MEASURE_S, 4.0) * (2.0 if effort.full else 1.0)
    work = Work(
        label="bench_chase",
        workload=spec.workload,
        params=spec.params(),
        measure_s=seconds,
        budget_s=3 * seconds + 30.0,
        runtime="kernels",
    )
    measured = yield from surveyed(course, NAME, work)
    curve = [(int(part.params["bytes"]), _median(part)) for part, _ in measured]
    found = levels(curve, cache_bytes(course))
    yield from course.tell(*(_swept(course, part, conditions, found) for part, conditions in measured))
    for level in found.levels:
        yield from course.tell(_of_level(course, level, found, measured))


def _median(part: Part) -> float:
    return spread(part.iteration_s).median


def _swept(course: Course, part: Part, conditions: Conditions | None, found: Levels) -> Point:
    params: dict[str, Scalar] = {"bytes": part.params["bytes"], "phase": "sweep"}
    return _point(course, part, conditions, {**params, "level": found.of(int(part.params["bytes"]))}, {})


def _of_level(course: Course, level: Level, found: Levels, measured: tuple[Measured, ...]) -> Point:
    """The figure of a level: of the footprint on it that is closest to its latency."""
    on_it = [m for m in measured if level.least_bytes <= int(m[0].params["bytes"]) <= level.most_bytes]
    part, conditions = min(on_it, key=lambda m: abs(_median(m[0]) - level.latency_s))
    extra: dict[str, Scalar] = {"level_from_bytes": level.least_bytes, "level_to_bytes": level.most_bytes}
    if level.name == "dram" and found.tlb_reach_bytes is not None:
        extra["tlb_reach_bytes"] = found.tlb_reach_bytes
    params: dict[str, Scalar] = {"bytes": part.params["bytes"], "phase": "steady", "level": level.name}
    return _point(course, part, conditions, params, extra)


def _median_is_known(of: Spread) -> bool:
    """Whether the interval of the median is narrow."""
    low, high = of.ci95_low, of.ci95_high
    return low is not None and high is not None and high - low <= SPREAD_LIMIT * of.median


def _point(
    course: Course, part: Part, conditions: Conditions | None, params: dict[str, Scalar], extra: dict[str, Scalar]
) -> Point:
    """Seconds per access; value × accesses = ``seconds``."""
    conditions, origin = stand_in(course, conditions)
    calls = part.work["calls"]
    times = [seconds / calls for seconds in part.iteration_s]
    repeats = spread(times)
    told: dict[str, Scalar] = {
        "benchmark": NAME, "calls": calls, "seconds": repeats.median * calls, "lowest_s": min(times), "correct": True,
    }  # fmt: skip
    flags = [*spread_flags(times, repeats)]
    if params.get("level") == BETWEEN and Flag.SPREAD in flags and _median_is_known(repeats):
        flags.remove(Flag.SPREAD)
    if conditions is None or conditions.samples == 0:
        flags.append(Flag.NO_TELEMETRY)
    point = course.make.figure(
        METRIC,
        NAME,
        repeats.median,
        "s",
        params,
        conditions=conditions,
        flags=flags,
        extra={**part.notes, **extra, **origin, **told, **told_l2(course)},
        repeats=repeats,
    )
    trial = Trial(iteration_s=part.iteration_s, t0_ns=part.t0_ns, t1_ns=part.t1_ns, work=part.work)
    against = measured_against(course.context, course.points, point, trial, "calls")
    return course.make.figure(
        METRIC, NAME, point.value, "s", params, conditions=conditions, flags=flags,
        extra={**against, **point.extra}, repeats=repeats,
    )  # fmt: skip


BENCHMARKS_LATENCY: tuple[Benchmark, ...] = (
    Benchmark(
        name=NAME,
        group="latency",
        unit="s",
        default_s=MEASURE_S + 4.0,
        full_s=2 * MEASURE_S + 10.0,
        cpu_s=0.0,
        run=latency,
        unavailable=needs_kernels,
    ),
)

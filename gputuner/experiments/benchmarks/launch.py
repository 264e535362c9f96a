"""Launches: what one costs host and card, what a CUDA graph saves, and the pace of one thread of the host.

The kernel adds 1 to one number. ``host_rate``: operations/s that Python and torch's dispatcher issue on one thread, by
the same addition on the processor. ``launch_time``: per launch, by ``mode``: ``enqueue`` (host time, card not waited
for), ``back_to_back`` (a row as it comes, by the card's events), ``device`` (the row queued behind a spin first: the
card's own cost), ``round_trip`` (launch and wait). ``graph_launch_time``: per kernel of the same row replayed as a CUDA
graph, with ``gain`` over launching. The host is the bottleneck of every kernel shorter than ``enqueue``. The sum tells
that every launch ran.
"""

from collections.abc import Generator, Mapping

from gputuner.analysis.statistics import spread, spread_flags
from gputuner.experiments.benchmarks.benchmark import Benchmark, Effort, Steps
from gputuner.experiments.benchmarks.recording import rate
from gputuner.experiments.benchmarks.surveyed import surveyed
from gputuner.experiments.course import Course
from gputuner.model.points import Conditions, Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Part, Step, StepResult, Work
from gputuner.workloads.specs_operations import LaunchSpec

MEASURE_S, CPU_S = 6.0, 1.5
DISPATCH, GRAPH, BACK_TO_BACK = "dispatch", "graph", "back_to_back"


def launch(course: Course, effort: Effort) -> Steps:
    """All modes in one trial."""
    spec = LaunchSpec()
    measure_s = effort.seconds(CPU_S if course.context.card.is_cpu else MEASURE_S, 0.6) * (3.0 if effort.full else 1.0)
    work = Work(
        label="bench_launch",
        workload=spec.workload,
        params=spec.params(),
        measure_s=measure_s,
        budget_s=2 * measure_s + 30.0,
    )
    found = yield from surveyed(course, "launch", work)
    times: dict[str, float] = {}
    for part, conditions in found:
        yield from _told(course, part, conditions, times)


def _told(
    course: Course, part: Part, conditions: Conditions | None, times: dict[str, float]
) -> Generator[Step, StepResult, None]:
    mode = str(part.params["mode"])
    params = {"threads": 1, **part.params}
    if mode == DISPATCH:
        yield from course.tell(rate(course, "launch", "host_rate", "ops/s", "calls", part, conditions, params))
        return
    point = duration(course, part, conditions, times)
    times[mode] = point.value
    yield from course.tell(point)


def duration(course: Course, part: Part, conditions: Conditions | None, earlier: Mapping[str, float]) -> Point:
    """Seconds per launch, median over the windows; value × calls = ``seconds`` of one window's row.

    ``earlier``: seconds per launch by mode, for the gain of a graph.
    """
    mode, calls = str(part.params["mode"]), part.work["calls"]
    times = [seconds / calls for seconds in part.iteration_s]
    repeats = spread(times)
    extra: dict[str, Scalar] = {
        "benchmark": "launch", "calls": calls, "seconds": repeats.median * calls, "correct": True,
    }  # fmt: skip
    if mode == GRAPH and BACK_TO_BACK in earlier:
        extra["gain"] = earlier[BACK_TO_BACK] / repeats.median
    flags = [*spread_flags(times, repeats)]
    if conditions is None or conditions.samples == 0:
        flags.append(Flag.NO_TELEMETRY)
    return course.make.figure(
        "graph_launch_time" if mode == GRAPH else "launch_time",
        "launch",
        repeats.median,
        "s",
        {"mode": mode, "kernels": int(calls)},
        conditions=conditions,
        flags=flags,
        extra=extra,
        repeats=repeats,
    )


BENCHMARKS_LAUNCH: tuple[Benchmark, ...] = (
    Benchmark(
        name="launch", group="launch", unit="s", default_s=9.0, full_s=21.0, cpu_s=4.0, cpu_full_s=7.0, run=launch
    ),
)

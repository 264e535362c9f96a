"""The card's own counters (GPM) beside what jobs lose: judge of the total pressure, never of one job (methods §6).

A job asks the same of the card for each step. So the counters should read together what they read of each job alone,
each over its slowdown (``contention_pressure.expected_activity``). Where they do, slowdowns and pressures fit together;
where they read more, jobs at once need more of the card for the same work (of the memory, say, for what they drive out
of each other's cache).
"""

from collections.abc import Generator, Sequence
from statistics import median

from gputuner.analysis.contention import common_window, inside
from gputuner.analysis.contention_pressure import expected_activity
from gputuner.analysis.contention_stored import ACTIVITY
from gputuner.experiments.contention_measure import ALONE, TOGETHER, Lab, Runnable
from gputuner.model.points import Conditions
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Mode, Step, StepResult, Together

COUNTERS = {"sm": "sm_active", "tensor": "tensor_active", "dram": "dram_active"}
MEASURE_S = 13.0
"""Two readings of the slow tier, 5 s apart, lie within for certain."""
PARTNERS = 1
SHOWN = 0.02
"""Activity below this is no pressure to judge by."""


def activity_cost(lab: Lab, jobs: int) -> float:
    """Seconds for so many trials."""
    return jobs * (lab.pace.trial_s(0.05) - lab.pace.measured_s(0.05) + MEASURE_S)


def activities(lab: Lab, pairs: Sequence[tuple[Runnable, Runnable]], mode: Mode) -> Generator[Step, StepResult, None]:
    """Each job of ``pairs`` alone, then the pairs, long enough for the counters; tells what was read and expected.

    Nothing where the card has no such counters, which the first trial tells.
    """
    alone: dict[str, tuple[float, Conditions]] = {}
    for job in {job.label: job for pair in pairs for job in pair}.values():
        seen = yield from _run(lab, (job,), mode)
        if seen is None:
            return
        alone[job.label] = seen[0][0], seen[1]
    for pair in pairs:
        seen = yield from _run(lab, pair, mode)
        if seen is not None:
            yield from _tell(lab, pair, mode, alone, seen)


def _run(
    lab: Lab, jobs: Sequence[Runnable], mode: Mode
) -> Generator[Step, StepResult, tuple[tuple[float, ...], Conditions] | None]:
    """Seconds per step of each, and what the card did; None: there are no steps, or no counters."""
    works = tuple(job.work(TOGETHER, MEASURE_S, warmup_s=lab.pace.warmup_s) for job in jobs)
    label, idle = (TOGETHER, 0) if len(jobs) > 1 else (ALONE, PARTNERS if mode != "streams" else 0)
    step = Together(label=label, works=works, mode=mode, idle=idle)
    result = yield from lab.course.attempt(step, activity_cost(lab, 1))
    if not isinstance(result, Done) or result.mode != mode or result.conditions is None:
        return None
    window = common_window(result.trials)
    steps = [inside(trial, *window) for trial in result.trials]
    if not all(steps) or result.conditions.sm_active is None:
        return None
    return tuple(median(each) for each in steps), result.conditions


def _tell(
    lab: Lab,
    pair: tuple[Runnable, Runnable],
    mode: Mode,
    alone: dict[str, tuple[float, Conditions]],
    seen: tuple[tuple[float, ...], Conditions],
) -> Generator[Step, StepResult, None]:
    slowdowns = [together / alone[job.label][0] for job, together in zip(pair, seen[0], strict=True)]
    for counter, name in COUNTERS.items():
        read = getattr(seen[1], name)
        parts = [getattr(alone[job.label][1], name) for job in pair]
        if read is None or any(part is None for part in parts) or max(parts) < SHOWN:
            continue
        expected = expected_activity(parts, slowdowns)
        params: dict[str, Scalar] = {
            "mix": "+".join(job.label for job in pair), "mode": mode, "jobs": len(pair), "counter": counter
        }  # fmt: skip
        extra: dict[str, Scalar] = {"expected": expected, "relative_error": expected / read - 1.0 if read else 0.0}
        yield from lab.course.tell(
            lab.course.make.figure(
                ACTIVITY, str(params["mix"]), read, "fraction", params, conditions=seen[1], extra=extra
            )
        )

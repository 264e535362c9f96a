"""Work for our own kernels, with torch to fall back on."""

from collections.abc import Generator
from dataclasses import replace

from gputuner.experiments.course import Attempt, Course
from gputuner.model.steps import Step, StepResult, UserCodeFailed, Work

NO_KERNELS = ("extra_missing", "unsupported")
"""Reasons that say nothing of the workload."""
TORCH = "torch"
"""What such a workload calls its kernel when torch ran it."""


def with_kernels(course: Course, work: Work, cost_s: float) -> Generator[Step, StepResult, Attempt]:
    """``work`` by our own kernels where they run, else by torch; that they do not run is told once.

    Args:
        course: the run's course.
        work: a workload that both have under one name.
        cost_s: what it is expected to take, in seconds.
    """
    fell_back = any(point.extra.get("kernel") == TORCH for point in course.points)
    if course.context.kernels and not course.context.card.is_cpu and not fell_back:
        result = yield from course.attempt(replace(work, runtime="kernels"), cost_s)
        if not isinstance(result, UserCodeFailed) or result.reason not in NO_KERNELS:
            return result
        yield from course.warn("kernels_unavailable", message=result.message)
    return (yield from course.attempt(work, cost_s))

"""Benchmarks: what the card reaches, how far from its limits, and what held it back."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gputuner.experiments.benchmarks.benchmark import Benchmark, Effort, Machine, Unavailable
from gputuner.experiments.benchmarks.catalogue import chosen
from gputuner.experiments.course import Course, RunEnds
from gputuner.experiments.protocol import PlanContext
from gputuner.model.errors import UsageError
from gputuner.model.steps import Plan

START_S = 12.0
MINUTES_LEAST, MINUTES_MOST = 0.2, 1440.0
LEAST_SHARE = 0.1
"""A budget below this share of the usual time drops benchmarks instead of shortening them further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Run benchmarks: the default suite, or those named; ``full`` every size and setting."""

    name: ClassVar[str] = "bench"
    needs_worker: ClassVar[bool] = True

    names: tuple[str, ...] = ()
    """Names or groups; empty: the default suite."""
    full: bool = False
    """Every size and setting, however long it takes."""
    minutes: float | None = None
    """Time budget, minutes; None: as long as the suite takes."""
    seed: int = 0
    """Seed of the inputs."""
    cpu: bool = False
    """The card is the host's processor (shorter sizes)."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            UsageError: an unknown name, or minutes out of range.
        """
        self.benchmarks()
        if self.minutes is not None and not MINUTES_LEAST <= self.minutes <= MINUTES_MOST:
            raise UsageError(
                "minutes_out_of_range",
                f"minutes must lie between {MINUTES_LEAST} and {MINUTES_MOST:g}",
                value=self.minutes,
                low=MINUTES_LEAST,
                high=MINUTES_MOST,
            )

    def benchmarks(self) -> tuple[Benchmark, ...]:
        """What was chosen, in order."""
        return chosen(self.names, full=self.full)

    def expected_s(self) -> float:
        """The budget, else what the chosen benchmarks should take, in seconds."""
        if self.minutes is not None:
            return self.minutes * 60.0
        return START_S + sum(b.expected_s(full=self.full, cpu=self.cpu) for b in self.benchmarks())

    def plan(self, context: PlanContext) -> Plan:
        """Each benchmark that can run here, one after the other; the others are told with the reason."""
        course = Course(context, START_S)
        machine = Machine.of(context)
        verdicts = [(b, b.unavailable(machine)) for b in self.benchmarks()]
        with contextlib.suppress(RunEnds):
            yield from self._run(course, verdicts)

    def _run(self, course: Course, verdicts: Sequence[tuple[Benchmark, Unavailable | None]]) -> Plan:
        ready = [b for b, why in verdicts if why is None]
        for benchmark, why in verdicts:
            if why is not None:
                yield from course.warn("benchmark_unavailable", benchmark=benchmark.name, reason=why.code, **why.params)
        cpu = course.context.card.is_cpu
        costs = [b.expected_s(full=self.full, cpu=cpu) for b in ready]
        wanted = sum(costs)
        share = 1.0 if self.minutes is None or not wanted else min(1.0, (course.left_s * 0.95) / wanted)
        effort = Effort(full=self.full, share=max(LEAST_SHARE, share))
        yield from course.total(len(ready), wanted * min(1.0, share))
        for benchmark, cost in zip(ready, costs, strict=True):
            if self.minutes is not None and not course.fits(cost * effort.share):
                yield from course.warn("benchmark_skipped", benchmark=benchmark.name)
                continue
            yield from benchmark.run(course, effort)

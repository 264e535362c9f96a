"""Benchmarks: what the card reaches, how far from its limits, and what held it back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import ClassVar

from gputuner.analysis.sanity import broken_rules
from gputuner.experiments.benchmarks.again import ROUNDS, Headline, Listener, headline_of, repeated
from gputuner.experiments.benchmarks.benchmark import Benchmark, Effort, Machine, Steps
from gputuner.experiments.benchmarks.catalogue import chosen
from gputuner.experiments.benchmarks.judging import judged
from gputuner.experiments.benchmarks.outcome import Outcomes, tried_again
from gputuner.experiments.course import Course, RunEnds
from gputuner.experiments.protocol import PlanContext
from gputuner.model.errors import UsageError
from gputuner.model.steps import Plan, Report, StepResult, Work

START_S = 12.0
MINUTES_LEAST, MINUTES_MOST = 0.2, 1440.0
LEAST_SHARE = 0.1
"""A budget below this share of the usual time drops benchmarks instead of shortening them further."""
KEPT_SHARE = 0.05
"""Share of a time budget that stays unused: a plan has no clock, and the run must end in time."""
AGAIN_S = 12.0
"""One repeat of a headline in a null check takes about this long, set-up and warm-up included."""
STEPS_EACH = 3.0
"""Steps of a benchmark, as far as is known before the first."""
PACE_PRIOR_S = 60.0
"""So much expected time counts as having been right: the first benchmark alone says little of the card's pace."""


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
    null: bool = False
    """Measure each benchmark's headline four times more and tell how often equal measurements look different."""

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
        return START_S + sum(self._cost_s(b, cpu=self.cpu) for b in self.benchmarks())

    def limited(self) -> bool:
        """``full`` takes as long as it takes: a wrong estimate must lose no benchmark. A budget is kept."""
        return not self.full or self.minutes is not None

    def estimate_s(self, machine: Machine) -> float:
        """As :meth:`expected_s`, of what can run on ``machine`` only."""
        if self.minutes is not None:
            return self.minutes * 60.0
        ready = [b for b in self.benchmarks() if b.unavailable(machine) is None]
        return START_S + sum(self._cost_s(b, cpu=machine.card.is_cpu) for b in ready)

    def plan(self, context: PlanContext) -> Plan:
        """Each benchmark that can run here, one after the other; the others are told with the reason.

        Raises:
            GputunerError: none gave a figure, or one worker after the other was lost.
        """
        # Without a budget the expected time is a guess, and no reason to cut a benchmark short
        course = Course(context if self.minutes is not None else replace(context, budget_s=inf), START_S)
        machine = Machine.of(context)
        ready: list[Benchmark] = []
        outcomes = Outcomes()
        for benchmark in self.benchmarks():
            why = benchmark.unavailable(machine)
            if why is None:
                ready.append(benchmark)
            else:
                outcomes.left_out(benchmark.name, why)
                yield from course.warn("benchmark_unavailable", benchmark=benchmark.name, reason=why.code, **why.params)
        try:
            yield from outcomes.heard(self._run(course, ready))
        except RunEnds:
            outcomes.cut_short()
            return
        for broken in broken_rules(course.points):
            yield from course.warn(broken.code, **broken.params)
        outcomes.ended()

    def _cost_s(self, benchmark: Benchmark, *, cpu: bool) -> float:
        again = ROUNDS * (min(AGAIN_S, benchmark.cpu_s) if cpu else AGAIN_S) if self.null else 0.0
        return benchmark.expected_s(full=self.full, cpu=cpu) + again

    def _run(self, course: Course, ready: Sequence[Benchmark]) -> Plan:
        """The benchmarks in their order; how much of each is measured follows from the budget that is left."""
        heard: list[Headline] = []
        tally = _Tally()
        for i, benchmark in enumerate(ready):
            costs = [self._cost_s(b, cpu=course.context.card.is_cpu) for b in ready[i:]]
            share = self._share(course, sum(costs))
            effort = Effort(full=self.full, share=max(LEAST_SHARE, share))
            if self.minutes is not None and not course.fits(costs[0] * effort.share):
                needed, left = costs[0] * effort.share, max(0.0, course.left_s)
                yield from course.warn("benchmark_skipped", benchmark=benchmark.name, needed_s=needed, left_s=left)
                continue
            left_s = sum(costs) * (share if self.minutes is not None else tally.pace(course.spent_s))
            yield from course.total(tally.steps_left(len(costs)), left_s)
            tally.expected_s += costs[0]
            listener = Listener()
            yield from tally.counted(
                _judged(course, listener.through(tried_again(course, benchmark.run(course, effort))))
            )
            if self.null and (headline := headline_of(listener)) is not None:
                heard.append(headline)
        if self.null:
            yield from course.total(ROUNDS * len(heard), ROUNDS * AGAIN_S * len(heard))
            yield from repeated(course, heard, min(AGAIN_S, max(1.0, course.left_s / 10)))

    def _share(self, course: Course, wanted_s: float) -> float:
        """Share of the usual time that the rest of the budget allows; 1 without a budget."""
        if self.minutes is None or wanted_s <= 0:
            return 1.0
        return min(1.0, max(0.0, course.left_s - KEPT_SHARE * course.context.budget_s) / wanted_s)


class _Tally:
    """Counts steps and seconds, to tell how many are left."""

    def __init__(self) -> None:
        self._steps = 0
        self._benchmarks = 0
        self.expected_s = 0.0
        """What the benchmarks that ran should have taken."""

    def pace(self, spent_s: float) -> float:
        """How much longer than expected it goes on: never below 1, one that fails at once says nothing of the card."""
        return max(1.0, (spent_s - START_S + PACE_PRIOR_S) / (self.expected_s + PACE_PRIOR_S))

    def steps_left(self, benchmarks: int) -> int:
        """Steps of so many benchmarks, from those that ran so far."""
        each = self._steps / self._benchmarks if self._benchmarks else STEPS_EACH
        return max(benchmarks, ceil(each * benchmarks))

    def counted(self, steps: Steps) -> Steps:
        """The steps of one benchmark."""
        self._benchmarks += 1
        result: StepResult | None = None
        while True:
            try:
                step = next(steps) if result is None else steps.send(result)
            except StopIteration:
                return
            self._steps += isinstance(step, Work)
            result = yield step


def _judged(course: Course, steps: Steps) -> Steps:
    """The same steps, with each told figure judged; the course keeps the judged ones."""
    result: StepResult | None = None
    while True:
        try:
            step = next(steps) if result is None else steps.send(result)
        except StopIteration:
            return
        if isinstance(step, Report):
            points = tuple(judged(course, point) for point in step.points)
            by_id = {point.id: point for point in points}
            course.points[:] = [by_id.get(point.id, point) for point in course.points]
            step = Report(points=points)
        result = yield step

"""Benchmarks: what the card reaches, how far from its limits, and what held it back."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar

from gputuner.analysis.sanity import broken_rules
from gputuner.experiments.benchmarks.again import ROUNDS, Headline, Listener, headline_of, repeated
from gputuner.experiments.benchmarks.benchmark import Benchmark, Effort, Machine, Steps
from gputuner.experiments.benchmarks.budget import least_s, left_out, share_for, shortened_s
from gputuner.experiments.benchmarks.catalogue import chosen
from gputuner.experiments.benchmarks.judging import judged
from gputuner.experiments.benchmarks.outcome import Outcomes, tried_again
from gputuner.experiments.benchmarks.tally import HURRIED_PRIOR_S, PACE_PRIOR_S, Tally, counted_down
from gputuner.experiments.course import Course, RunEnds
from gputuner.experiments.minutes import check_minutes
from gputuner.experiments.protocol import PlanContext
from gputuner.experiments.relay import relayed
from gputuner.model.steps import Plan, Report, Step, StepResult

START_S = 12.0
MINUTES_MOST = 1440.0
KEPT_SHARE = 0.05
"""Share of a time budget that stays unused: a plan has no clock, and the run must end in time."""
AGAIN_S = 12.0
"""One repeat of a headline in a null check takes about this long, set-up and warm-up included."""


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
    against: str = ""
    """Session that the figures are held against; such a run tells nothing of the usual spread."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            UsageError: an unknown name, or minutes out of range.
        """
        self.benchmarks()
        if self.minutes is not None:
            check_minutes(self.minutes, MINUTES_MOST)

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

    def least_minutes(self, machine: Machine) -> float:
        """Budget in minutes from which on something is measured at all."""
        ready = [b for b in self.benchmarks() if b.unavailable(machine) is None]
        first_s = least_s(self._cost_s(ready[0], cpu=machine.card.is_cpu)) if ready else 0.0
        return (START_S + first_s) / (1.0 - KEPT_SHARE) / 60.0

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
        """Seconds it should take, with the repeats of a null check."""
        own_s = benchmark.expected_s(full=self.full, cpu=cpu)
        if not self.null:
            return own_s
        return own_s + ROUNDS * (min(AGAIN_S, own_s) if cpu else AGAIN_S)

    def _run(self, course: Course, ready: Sequence[Benchmark]) -> Plan:
        """The benchmarks in their order; how much of each is measured follows from the budget that is left."""
        heard: list[Headline] = []
        tally = Tally()
        queue = list(ready)
        while queue:
            waiting_s = sum(tally.repeats_s(heard))
            share = 1.0
            if self.minutes is not None:
                room_s = course.left_s - KEPT_SHARE * course.context.budget_s - waiting_s
                for each in left_out(ready, queue, self._wanted_s(course, queue, tally), room_s):
                    queue.remove(each.benchmark)
                    told = {"needed_s": each.needed_s, "left_s": each.left_s}
                    yield from course.warn("benchmark_skipped", benchmark=each.benchmark.name, **told)
                if not queue:
                    break
                share = share_for(self._wanted_s(course, queue, tally), room_s)
            left_s = sum(shortened_s(cost, share) for cost in self._wanted_s(course, queue, tally)) + waiting_s
            yield from course.total(tally.steps_left(len(queue)), left_s, known=False)
            benchmark = queue.pop(0)
            own_s = benchmark.expected_s(full=self.full, cpu=course.context.card.is_cpu)
            tally.expected_s += shortened_s(own_s, share)
            steps = tried_again(course, benchmark.run(course, Effort(full=self.full, share=share)))
            listener = Listener()
            yield from tally.counted(course, _judged(course, listener.through(steps)))
            if self.null and (headline := headline_of(listener)) is not None:
                heard.append(headline)
        if self.null:
            cost_s = min(AGAIN_S, max(1.0, course.left_s / 10))
            yield from counted_down(course, repeated(course, heard, cost_s), tally.repeats_s(heard))

    def _wanted_s(self, course: Course, queue: Sequence[Benchmark], tally: Tally) -> list[float]:
        """Seconds that each would take unshortened, at the pace so far."""
        prior_s = PACE_PRIOR_S if self.minutes is None else HURRIED_PRIOR_S
        pace = tally.pace(course.spent_s - START_S, prior_s)
        return [pace * self._cost_s(each, cpu=course.context.card.is_cpu) for each in queue]


def _judged(course: Course, steps: Steps) -> Steps:
    """The same steps, with each told figure judged; the course keeps the judged ones."""

    def act(step: Step) -> Generator[Step, StepResult, StepResult]:
        if isinstance(step, Report):
            points = tuple(judged(course, point) for point in step.points)
            by_id = {point.id: point for point in points}
            course.points[:] = [by_id.get(point.id, point) for point in course.points]
            step = Report(points=points)
        return (yield step)

    return relayed(steps, act)

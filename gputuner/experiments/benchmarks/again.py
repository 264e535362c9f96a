"""Null check of benchmarks: the work behind each one's headline once more and once more, A A A A, interleaved.

A benchmark is run once as usual while its steps are listened to; the last figure that is not of a search is its
headline, and the work that gave it is what is repeated.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gputuner.analysis.headlines import benchmark_of
from gputuner.analysis.null_check import NullCheck, null_check
from gputuner.experiments.benchmarks.benchmark import Steps
from gputuner.experiments.benchmarks.peers import peers_of
from gputuner.experiments.benchmarks.recording import AMOUNTS, rate
from gputuner.experiments.course import Course
from gputuner.model.points import Conditions, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Part, PeerSeen, Report, StepResult, Trial, Work

ROUNDS = 4
NULL = "null"
"""Parameter of a repeat: its number, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """A figure and the work that gave it; ``part``: what of a survey's settings it is of (None: a plain trial)."""

    point: Point
    work: Work
    part: dict[str, Scalar] | None = None


class Listener:
    """Passes a benchmark's steps on and keeps its headline."""

    def __init__(self) -> None:
        self.headline: Headline | None = None
        self._work: Work | None = None
        self._done: Done | None = None

    def through(self, steps: Steps) -> Steps:
        """The same steps."""
        result: StepResult | None = None
        while True:
            try:
                step = next(steps) if result is None else steps.send(result)
            except StopIteration:
                return
            result = yield step
            if isinstance(step, Work) and isinstance(result, Done) and result.trials:
                self._work, self._done = step, result
            if isinstance(step, Report):
                self._take(step.points)

    def _take(self, points: Sequence[Point]) -> None:
        settled = [point for point in points if point.params.get("phase") != "search"]
        if not settled or self._work is None or self._done is None:
            return
        trial = self._done.trials[0]
        part = None if trial.iteration_s else _part_of(settled[-1], trial)
        if trial.iteration_s or part is not None:
            self.headline = Headline(point=settled[-1], work=self._work, part=part.params if part else None)


def _part_of(point: Point, trial: Trial) -> Part | None:
    """The setting of a survey that a figure is of: the one whose parameters it shares all of."""
    told = point.params
    fits = [p for p in trial.parts if all(told.get(name) == value for name, value in p.params.items() if name in told)]
    return max(fits, key=lambda p: sum(name in told for name in p.params), default=None)


def repeated(course: Course, headlines: Sequence[Headline], cost_s: float) -> Steps:
    """Each headline's work ``ROUNDS`` times, in turn; tells every repeat and what the pairs showed.

    Args:
        course: the run's course.
        headlines: what is repeated.
        cost_s: seconds that one work should take where no stamp says it.
    """
    repeats: dict[str, list[Point]] = {}
    for number in range(1, ROUNDS + 1):
        for headline in headlines:
            if not course.fits(cost_s):
                continue
            yield from _one(course, headline, number, cost_s, repeats)
    yield from _told(course, repeats)


def _one(course: Course, headline: Headline, number: int, cost_s: float, repeats: dict[str, list[Point]]) -> Steps:
    result = yield from course.attempt(headline.work, cost_s)
    if not isinstance(result, Done) or not result.trials:
        return
    found = _measured(headline, result)
    if found is None:
        return
    measured, conditions, peers = found
    point, name = headline.point, benchmark_of(headline.point)
    counted = _counted(point)
    if counted not in measured.work:
        return
    params: dict[str, Scalar] = {**point.params, NULL: number}
    again = rate(course, name, point.metric, point.unit, counted, measured, conditions, params, peers=peers)
    repeats.setdefault(f"{name} {point.metric}", []).append(again)
    yield from course.tell(again)


def _measured(headline: Headline, result: Done) -> tuple[Trial | Part, Conditions | None, Sequence[PeerSeen]] | None:
    trial = result.trials[0]
    if headline.part is None:
        return (trial, result.conditions, result.peers) if trial.iteration_s else None
    for i, part in enumerate(trial.parts):
        if part.params == headline.part and part.iteration_s:
            conditions = result.part_conditions[i] if i < len(result.part_conditions) else result.conditions
            return part, conditions, peers_of(result, i)
    return None


def _counted(point: Point) -> str:
    """Which of the work's amounts a figure counts."""
    return next((name for name, told in AMOUNTS.items() if told in point.extra), "flop")


def _told(course: Course, repeats: dict[str, list[Point]]) -> Steps:
    points = [
        _figure(course, benchmark_of(found[0]), check)
        for found in repeats.values()
        if (check := null_check({"": found})) is not None
    ]
    whole = null_check(repeats)
    if whole is None:
        yield from course.warn("null_nothing")
        return
    yield from course.tell(*points, _figure(course, "all", whole))


def _figure(course: Course, name: str, check: NullCheck) -> Point:
    """The median |difference| of pairs that are equal, with how often it would have been called one."""
    extra: dict[str, Scalar] = {
        "benchmark": name,
        "pairs": check.pairs,
        "false_difference_rate": check.false_rate,
        "guard_rate": check.guard_rate,
        "largest": check.largest,
    }
    return course.make.figure("null_difference", name, check.difference, "fraction", {}, extra=extra)


def headline_of(listener: Listener) -> Headline | None:
    """What was heard, with the figure's work started in a warm process."""
    heard = listener.headline
    return None if heard is None else replace(heard, work=replace(heard.work, fresh=False))

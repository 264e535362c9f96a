"""Null check of benchmarks: the work behind each one's headline once more and once more, A A A A, interleaved.

A benchmark is run once as usual while its steps are listened to; the last figure that is neither of a search nor of a
sweep is its headline, and the work that gave it is what is repeated. Every second round starts a fresh process for each
work, since processes differ by more than the windows within one. A repeat is built as its headline was: work over time
for a rate, time over calls for the time of one. Runs of different days differ by more still: what the pairs show holds
within one run.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from math import isclose
from statistics import median

from gputuner.analysis.headlines import NULL, PASSING, benchmark_of
from gputuner.analysis.null_check import NullCheck, null_check
from gputuner.analysis.statistics import spread, spread_flags
from gputuner.experiments.benchmarks.benchmark import Steps
from gputuner.experiments.benchmarks.peers import peer_extra, peer_flags, peers_of
from gputuner.experiments.benchmarks.recording import AMOUNTS, rate
from gputuner.experiments.course import Course
from gputuner.experiments.relay import relayed
from gputuner.model.points import Conditions, Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Part, PeerSeen, Report, Step, StepResult, Trial, Work

ROUNDS = 4
FRESH_ROUNDS = frozenset({2, 4})
"""Rounds in which every work has a new process."""
AGREES = 1e-6
"""Relative difference up to which a figure counts as made of its amount and its seconds."""


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
        return relayed(steps, self._hear)

    def _hear(self, step: Step) -> Generator[Step, StepResult, StepResult]:
        result = yield step
        if isinstance(step, Work) and isinstance(result, Done) and result.trials:
            self._work, self._done = step, result
        if isinstance(step, Report):
            self._take(step.points)
        return result

    def _take(self, points: Sequence[Point]) -> None:
        settled = [p for p in points if p.params.get("phase") not in PASSING and _built(p) is not None]
        if not settled or self._work is None or self._done is None:
            return
        trial = self._done.trials[0]
        part = None if trial.iteration_s else _part_of(settled[-1], trial)
        if trial.iteration_s or part is not None:
            self.headline = Headline(point=settled[-1], work=self._work, part=part.params if part else None)


def _part_of(point: Point, trial: Trial) -> Part | None:
    """The setting of a survey that a figure is of: the one that gave its value, and shares most of its parameters."""
    told = point.params
    fits = [
        p
        for p in trial.parts
        if all(told.get(name) == value for name, value in p.params.items() if name in told) and _gave(p, point)
    ]
    return max(fits, key=lambda p: sum(name in told for name in p.params), default=None)


def _gave(part: Part, point: Point) -> bool:
    """Whether a figure is the median of this setting: what it is called may also fit another (prefill and decode)."""
    built = _built(point)
    if built is None or built.counted not in part.work or not part.iteration_s:
        return False
    amount = part.work[built.counted]
    figures = [seconds / amount if built.time else amount / seconds for seconds in part.iteration_s]
    return isclose(median(figures), point.value, rel_tol=AGREES)


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
    work = replace(headline.work, fresh=number in FRESH_ROUNDS)
    result = yield from course.attempt(work, cost_s)
    if not isinstance(result, Done) or not result.trials:
        return
    found = _measured(headline, result)
    if found is None:
        return
    again = _point(course, headline.point, number, *found)
    if again is not None:
        repeats.setdefault(f"{benchmark_of(again)} {again.metric}", []).append(again)
        yield from course.tell(again)


def _point(
    course: Course,
    point: Point,
    number: int,
    measured: Trial | Part,
    conditions: Conditions | None,
    peers: Sequence[PeerSeen],
) -> Point | None:
    """The repeat of ``point``, built as it was; None where what it counts was not measured."""
    built = _built(point)
    if built is None or built.counted not in measured.work:
        return None
    params: dict[str, Scalar] = {**point.params, NULL: number}
    name = benchmark_of(point)
    if not built.time:
        return rate(course, name, point.metric, point.unit, built.counted, measured, conditions, params, peers=peers)
    calls = measured.work[built.counted]
    times = [seconds / calls for seconds in measured.iteration_s]
    told = spread(times)
    flags = [*spread_flags(times, told), *peer_flags(peers)]
    if conditions is None or conditions.samples == 0:
        flags.append(Flag.NO_TELEMETRY)
    extra: dict[str, Scalar] = {
        "benchmark": name, AMOUNTS[built.counted]: calls, "seconds": told.median * calls, **peer_extra(peers),
    }  # fmt: skip
    return course.make.figure(
        point.metric,
        point.workload,
        told.median,
        point.unit,
        params,
        conditions=conditions,
        flags=flags,
        extra=extra,
        repeats=told,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Built:
    """What a figure counts (a key of ``AMOUNTS``), and whether it is the time of one of them, not a rate."""

    counted: str
    time: bool


def _built(point: Point) -> _Built | None:
    """How a figure was made of its amount and ``seconds``: value × seconds = amount, or value × amount = seconds.

    None where it was made otherwise: such a figure cannot be repeated.
    """
    seconds = point.extra.get("seconds")
    for counted, told in AMOUNTS.items():
        amount = point.extra.get(told)
        if isinstance(amount, int | float) and isinstance(seconds, int | float):
            for time, left, right in ((False, seconds, amount), (True, amount, seconds)):
                if isclose(point.value * left, right, rel_tol=AGREES):
                    return _Built(counted=counted, time=time)
    return None


def _measured(headline: Headline, result: Done) -> tuple[Trial | Part, Conditions | None, Sequence[PeerSeen]] | None:
    trial = result.trials[0]
    if headline.part is None:
        return (trial, result.conditions, result.peers) if trial.iteration_s else None
    for i, part in enumerate(trial.parts):
        if part.params == headline.part and part.iteration_s:
            conditions = result.part_conditions[i] if i < len(result.part_conditions) else result.conditions
            return part, conditions, peers_of(result, i)
    return None


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
    """What was heard."""
    return listener.headline

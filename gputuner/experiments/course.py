"""The course of a plan: what it has spent, told and lost so far.

A plan has no clock. Time is read off the stamps of the trials that come back; steps that bring none are counted with
what they were expected to take.
"""

from collections.abc import Generator
from dataclasses import replace

from gputuner.experiments.points import PointMaker
from gputuner.experiments.protocol import PlanContext
from gputuner.model.points import Conditions, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import (
    Cancelled,
    Done,
    Followed,
    Lost,
    OutOfMemory,
    Refused,
    Report,
    Settle,
    Step,
    StepResult,
    Stopped,
    Together,
    Total,
    Trial,
    UserCodeFailed,
    Warn,
    Work,
)

Attempt = Done | OutOfMemory | UserCodeFailed | Lost
"""What a plan goes on after; the other two outcomes end it."""
TRIAL_SHARE = 0.7
"""Of the time left, in a hurried run: set-up and a first iteration come on top of a trial's budget."""
LEAST_BUDGET_S = 1.0
SETUP_S = 2.0
"""Set-up of a trial, which a hurried run must not forget."""
LOST_AT_MOST = 2
"""After this many lost workers in a row nothing more is tried."""


class RunEnds(Exception):
    """The engine said that the run ends (stopped for safety, cancelled, or lost for good); unwinds the plan."""


class Course:
    """State of one plan, and the ways to yield a step from it."""

    def __init__(self, context: PlanContext, start_s: float, *, hurried: bool = False) -> None:
        """``hurried``: no trial is given more time than the run has left."""
        self.context = context
        self.make = PointMaker(context)
        self.points: list[Point] = []
        self.spent_s = start_s
        self.conditions: Conditions | None = None
        """What the card did during the last work, as a whole."""
        self.last: Attempt | None = None
        """How the last work ended."""
        self._origin_ns: int | None = None
        self._lost = 0
        self._fresh = False
        self._hurried = hurried
        self._told_sets: set[str] = set()

    @property
    def left_s(self) -> float:
        """Seconds left of the run's budget."""
        return self.context.budget_s - self.spent_s

    def fits(self, seconds: float, keep_s: float = 0.0) -> bool:
        """Whether ``seconds`` more can be spent while ``keep_s`` stay for what comes after."""
        return self.left_s - self.kept_s(keep_s) >= seconds

    def kept_s(self, keep_s: float = 0.0) -> float:
        """Seconds that nothing new may take: ``keep_s``, and in a short run what a set-up may take longer."""
        return keep_s + (SETUP_S if self._hurried else 0.0)

    def attempt(self, work: Work | Together, cost_s: float) -> Generator[Step, StepResult, Attempt]:
        """Yield ``work`` (in a fresh process if the last one died); ``cost_s`` is counted where no stamp comes back.

        Raises:
            RunEnds: the run is over.
        """
        if self._fresh and isinstance(work, Work):
            work = replace(work, fresh=True)
        if self._hurried and isinstance(work, Work):
            work = replace(work, budget_s=min(work.budget_s, max(LEAST_BUDGET_S, TRIAL_SHARE * self.left_s)))
        result = yield work
        self._count(result, cost_s)
        if not isinstance(result, Stopped | Cancelled | Followed | Refused):  # a work is neither followed nor set
            self.last = result
        self.conditions = result.conditions if isinstance(result, Done) else None
        match result:
            case Stopped() | Cancelled() | Followed() | Refused():
                raise RunEnds
            case Lost(message=message, killed=killed):
                self._fresh = True
                self._lost += 1
                yield from self.warn("worker_lost", label=work.label, message=message)
                if self._lost > LOST_AT_MOST:
                    raise RunEnds
                if killed:  # from outside: the same once more
                    return (yield from self.attempt(work, cost_s))
            case OutOfMemory():
                self._fresh, self._lost = True, 0
            case Done() | UserCodeFailed():
                self._fresh, self._lost = False, 0
        first = work if isinstance(work, Work) else work.works[0]
        yield from self._recipe_sets(result, str(first.params.get("precision", "")))
        return result

    def _recipe_sets(self, result: Attempt, precision: str) -> Generator[Step, StepResult, None]:
        """Tell, each setting once, what the recipe's own code sets otherwise than the trials say, which set it back."""
        trials = result.trials if isinstance(result, Done) else ()
        names = [name for trial in trials for name in str(trial.notes.get("recipe_sets", "")).split()]
        new = [name for name in dict.fromkeys(names) if name not in self._told_sets]
        self._told_sets.update(new)
        if new:
            yield from self.warn("recipe_sets", settings=", ".join(new))
        for trial in trials:
            yield from self._doubtful(trial, precision)

    def _doubtful(self, trial: Trial, precision: str) -> Generator[Step, StepResult, None]:
        """Tell, each once, what takes the sense from a training's figures: a loss that is no number, half weights."""
        weights = trial.notes.get("half_weights")
        unknown = str(trial.notes.get("recipe_unknown", ""))
        if trial.notes.get("loss_finite") is False and self.first(f"loss {precision}"):
            yield from self.warn("loss_not_finite", precision=precision)
        if isinstance(weights, str) and self.first("weights"):
            yield from self.warn("half_weights", precision=weights)
        if unknown and self.first("unknown"):
            yield from self.warn("recipe_unknown", parts=unknown)

    def first(self, what: str) -> bool:
        """Whether ``what`` is said for the first time."""
        first = what not in self._told_sets
        self._told_sets.add(what)
        return first

    def settle(self, label: str, at_most_s: float) -> Generator[Step, StepResult, None]:
        """Yield a pause until the temperature rests.

        Raises:
            RunEnds: the run is over.
        """
        result = yield Settle(label=label, at_most_s=at_most_s)
        self.spent_s += at_most_s
        if isinstance(result, Stopped | Cancelled):
            raise RunEnds

    def tell(self, *points: Point) -> Generator[Step, StepResult, None]:
        """Keep and report points."""
        self.points.extend(points)
        if points:
            yield Report(points=points)

    def warn(self, code: str, **params: Scalar) -> Generator[Step, StepResult, None]:
        """Tell the reader something that is neither a point nor advice."""
        yield Warn(code=code, params=params)

    def total(self, steps: int, expected_s: float, *, known: bool = True) -> Generator[Step, StepResult, None]:
        """Tell how much is left; not ``known``: the steps are a guess."""
        yield Total(steps=steps, expected_s=expected_s, known=known)

    def _count(self, result: StepResult, cost_s: float) -> None:
        trials = result.trials if isinstance(result, Done) else ()
        if not trials:
            self.spent_s += cost_s
            return
        first, last = min(t.t0_ns for t in trials), max(t.t1_ns for t in trials)
        if self._origin_ns is None:
            self._origin_ns = first - int(1e9 * (self.spent_s + max(0.0, cost_s - (last - first) / 1e9)))
        self.spent_s = (last - self._origin_ns) / 1e9

"""Try an advice on the training it was given for: as before and as advised, A B B A, and what it gained.

Four trials make a round, and the next one goes the other way round; every round after the first begins in a new
process, since processes differ too. Rounds are added while the time budget allows; what they find does not end them: an
interval that is watched until it is narrow enough is too narrow. What was predicted stays with the result, so that
a record can say how often the words came true.
"""

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from gputuner.analysis.contention import common_window, inside
from gputuner.analysis.interleaved import Compared, compared_rounds
from gputuner.analysis.trying import memory_verdict, together, verdict
from gputuner.experiments.course import Course, RunEnds
from gputuner.experiments.failed_training import refuse
from gputuner.experiments.minutes import check_minutes
from gputuner.experiments.protocol import PlanContext
from gputuner.experiments.subject import Subject, examined
from gputuner.experiments.trained import train_point
from gputuner.experiments.trying_conditions import RECIPE, conditions_of, differences, is_same_card
from gputuner.experiments.trying_works import as_plain, check, gave_up, work_of
from gputuner.experiments.tune_shape import SHORT_S, Shape, full_shape
from gputuner.model.advice import Confidence, Gain
from gputuner.model.change import Aim, TrainingSetting
from gputuner.model.errors import DoesNotFit
from gputuner.model.points import Flag, Point, Spread
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Lost, OutOfMemory, Plan, Step, StepResult, Together, Trial, UserCodeFailed, Work

Side = Literal["base", "advised"]
FORWARD: tuple[Side, ...] = ("base", "advised", "advised", "base")
BACKWARD: tuple[Side, ...] = ("advised", "base", "base", "advised")
ROUNDS_MOST = 8
ROUNDS_WANTED = 4
"""A trial is measured so long that so many rounds fit into the budget."""
PROBE_S = 0.5
"""To measure in a memory probe: two optimizer steps show the peak."""
LEAST_S, MOST_S = 1.5, 10.0
"""To measure in one trial, seconds."""
PHASE = "try"
QUARTILE = 0.6745
"""Upper quartile of the normal distribution in standard deviations."""
LABELS: dict[Side, str] = {"base": "try_base", "advised": "try_advised"}
TOLD_FLAGS = frozenset({Flag.NOT_STEADY, Flag.IMPLAUSIBLE, Flag.EMULATED, Flag.TOO_SLOW, Flag.SPREAD})
"""Flags of a trial that the gain inherits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """Try one advice of a stored session."""

    name: ClassVar[str] = "try"
    needs_worker: ClassVar[bool] = True

    session: str
    """That gave the advice."""
    advice: str
    """The rule's name."""
    workload: str
    recipe: str = ""
    folder: str = "."
    images: bool = False
    base: TrainingSetting
    advised: TrainingSetting
    aim: Aim = "rate"
    """Of the advice: by memory saved it is judged where that is meant."""
    predicted: Gain | None = None
    confidence: Confidence = Confidence.MEASURED
    measured_on: dict[str, Scalar] = field(default_factory=lambda: {})
    """Card, driver, torch and host of that session (``trying_conditions.conditions_of``)."""
    recipe_sha256: str = ""
    """Of the recipe's file then; empty: not known."""
    minutes: float = 2.0
    """Time budget, minutes."""

    def __post_init__(self) -> None:
        """Refuse what cannot be tried.

        Raises:
            UsageError: a value is out of range, or the advice changes what no trial can.
        """
        check_minutes(self.minutes)
        check(self.base, self.advised)
        self.subject(cpu=False)

    def subject(self, *, cpu: bool) -> Subject:
        """The training.

        Raises:
            UsageError: there is none of that name, or the recipe's is malformed.
        """
        return examined(self.workload, self.recipe, self.folder, images=self.images, cpu=cpu)

    def expected_s(self) -> float:
        """The time budget in seconds."""
        return self.minutes * 60.0

    def limited(self) -> bool:
        """It has a budget."""
        return True

    def plan(self, context: PlanContext) -> Plan:
        """The steps: what is different now, then rounds of four trials, each with what is known by then."""
        cpu = context.card.is_cpu
        short = context.budget_s < SHORT_S
        shape = replace(full_shape(context), subject=self.subject(cpu=cpu))
        course = Course(context, 0.0 if short else shape.start_s, hurried=short)
        comparison = _Comparison(self, course, shape)
        try:
            yield from _told_differences(self, course)
            yield from comparison.rounds()
        except RunEnds:
            pass


def _told_differences(spec: Try, course: Course) -> Plan:
    context = course.context
    now = conditions_of(context.card, context.fingerprint, context.torch)
    if not is_same_card(spec.measured_on, now):
        names = {name: str(told.get("card_name", "?")) for name, told in (("was", spec.measured_on), ("now", now))}
        yield from course.warn("try_other_card", **names)
    for name, (before, after) in differences(spec.measured_on, now).items():
        yield from course.warn("try_condition_differs", what=name, was=before, now=after)


class _Comparison:
    """The trials of both sides so far."""

    def __init__(self, spec: Try, course: Course, shape: Shape) -> None:
        self._spec, self._course, self._shape = spec, course, shape
        self._rounds: list[dict[Side, list[Spread]]] = []
        self._peaks: dict[Side, float] = {}
        self._cost_s: dict[Side, float] = {}
        self._flags: list[Flag] = []
        self._told_recipe = False
        overhead_s = shape.warmup_s + 1.0
        fair_s = course.left_s / (len(FORWARD) * ROUNDS_WANTED) - overhead_s
        self._measure_s = min(max(LEAST_S, fair_s), MOST_S)
        self._expected_s = self._measure_s + overhead_s

    def rounds(self) -> Plan:
        """All rounds; ends early where a side cannot run.

        Raises:
            DoesNotFit: a setting does not fit in memory.
            UserCodeError: the training ended with an error of its own.
        """
        course = self._course
        for number in range(1, ROUNDS_MOST + 1):
            order = FORWARD if number % 2 else BACKWARD
            cost_s = sum(self._cost_s.get(side, self._expected_s) for side in order)
            if number > 1 and not course.fits(cost_s):
                return
            yield from self._told_total(number, cost_s)
            self._rounds.append({"base": [], "advised": []})
            for position, side in enumerate(order):
                if number == 1 and position > 1 and not course.fits(self._cost_s.get(side, 0.0)):
                    yield from course.warn("try_too_short", needed_s=round(sum(self._cost_s.values()) * 2.0, 1))
                    break
                yield from self._trial(side, number, fresh=number > 1 and position == 0)
            if number == 1 and self._shape.cpu and self._spec.aim == "memory":
                yield from self._count_memory()
            found = compared_rounds([(each["base"], each["advised"]) for each in self._rounds])
            yield from course.tell(self._gain_point(found, number))

    def _told_total(self, number: int, cost_s: float) -> Plan:
        """How much is left, were every round as long as this one."""
        rounds = max(1, min(ROUNDS_MOST + 1 - number, int(self._course.left_s // cost_s)))
        yield from self._course.total(len(FORWARD) * rounds, rounds * cost_s, known=False)

    def _trial(self, side: Side, number: int, *, fresh: bool) -> Generator[Step, StepResult, None]:
        """One trial of a side: its points, its rate.

        Raises:
            DoesNotFit: the setting does not fit in memory.
            UserCodeError: the training ended with an error of its own.
            RunEnds: the worker was lost.
        """
        course, setting = self._course, self._setting(side)
        works = self._works(side, fresh=fresh)
        step: Work | Together = works[0] if len(works) == 1 else Together(label=LABELS[side], works=works)
        before_s = course.spent_s
        result = yield from course.attempt(step, self._expected_s)
        if isinstance(result, Lost):
            result = yield from course.attempt(step, self._expected_s)
        self._cost_s[side] = max(self._cost_s.get(side, 0.0), course.spent_s - before_s)
        match result:
            case Done(trials=found) if any(gave_up(as_plain(trial), setting) for trial in found):
                yield from course.warn("try_too_slow", batch=setting.batch, workload=self._shape.subject.name)
                raise RunEnds
            case Done(trials=found) if found:
                trials = tuple(map(as_plain, found))
                points = self._points(works, trials, result, side, number)
                yield from course.tell(*points)
                yield from self._compare_recipe(trials[0])
                self._rounds[-1][side].append(together([point.spread for point in points if point.spread is not None]))
                self._flags += [flag for point in points for flag in point.flags if flag in TOLD_FLAGS]
                if not self._shape.cpu:
                    self._keep_peak(side, trials)
            case OutOfMemory():
                told: dict[str, Scalar] = {"workload": self._shape.subject.name, "batch": setting.batch}
                raise DoesNotFit(f"try_{side}_does_not_fit", "a setting of the advice does not fit", **told)
            case UserCodeFailed():
                refuse(self._shape.subject.name, result)
            case Done() | Lost():  # a trial that was lost twice
                raise RunEnds

    def _keep_peak(self, side: Side, trials: tuple[Trial, ...]) -> None:
        peaks = [trial.memory.get("allocated_peak_bytes", 0) for trial in trials]
        self._peaks[side] = max(self._peaks.get(side, 0.0), float(sum(peaks)))

    def _count_memory(self) -> Generator[Step, StepResult, None]:
        """Peaks of both sides on a processor, by memory probes: its worker for rates keeps what was freed.

        Raises:
            RunEnds: the run is over.
        """
        for side in FORWARD[:2]:
            if self._course.fits(self._cost_s.get(side, self._expected_s)):
                (work, *_) = self._works(side, fresh=False)
                probe = replace(work, memory_probe=True, measure_s=PROBE_S, warmup_s=0.0)
                result = yield from self._course.attempt(probe, self._expected_s)
                if isinstance(result, Done) and result.trials:
                    self._keep_peak(side, result.trials)

    def _setting(self, side: Side) -> TrainingSetting:
        return self._spec.base if side == "base" else self._spec.advised

    def _works(self, side: Side, *, fresh: bool) -> tuple[Work, ...]:
        told, spec = self._setting(side), self._spec
        work = work_of(
            self._shape, told, LABELS[side], self._measure_s, fresh=fresh, recipe=spec.recipe, folder=spec.folder
        )
        return (work,) * told.processes

    def _points(
        self, works: tuple[Work, ...], trials: tuple[Trial, ...], done: Done, side: Side, number: int
    ) -> tuple[Point, ...]:
        """A rate for each training; of several at once only what lies wholly in their common time."""
        t0_ns, t1_ns = common_window(trials)
        told: list[Point] = []
        for job, (work, trial) in enumerate(zip(works, trials, strict=True), start=1):
            kept = inside(trial, t0_ns, t1_ns) or trial.iteration_s
            point = train_point(
                self._course, self._shape, work, trial, done.conditions, PHASE,
                iteration_s=kept if len(trials) > 1 else None,
            )  # fmt: skip
            more: dict[str, Scalar] = {"side": side, "round": number}
            if len(trials) > 1:
                more |= {"jobs": len(trials), "job": job, "at_once": len(trials)}
            told.append(replace(point, params={**point.params, **more}))
        return tuple(told)

    def _compare_recipe(self, trial: Trial) -> Plan:
        """Say once where the recipe's file is not the one of then, or that this is not known."""
        now, before = str(trial.notes.get(RECIPE, "")), self._spec.recipe_sha256
        if self._told_recipe or not self._spec.recipe or now == before != "":
            return
        self._told_recipe = True
        code = "try_recipe_changed" if now and before else "try_recipe_unknown"
        yield from self._course.warn(code, workload=self._shape.subject.name)

    def _memory_change(self) -> float | None:
        """Peak memory as advised over that before, minus 1; None where it was not measured."""
        base, advised = self._peaks.get("base"), self._peaks.get("advised")
        return advised / base - 1.0 if base and advised else None

    def _gain_point(self, found: Compared, number: int) -> Point:
        spec, context = self._spec, self._course.context
        predicted, memory = spec.predicted, self._memory_change()
        now = conditions_of(context.card, context.fingerprint, context.torch)
        extra: dict[str, Scalar] = {
            "confidence": spec.confidence.value,
            "aim": spec.aim,
            "verdict": (
                memory_verdict(memory, found.value) if spec.aim == "memory" else verdict(predicted, found)
            ).value,
            "trials": found.trials,
            "processes": number,
            "between_trials": found.between,
            "same_card": is_same_card(spec.measured_on, now),
            "recipe_same": not self._told_recipe,
        }
        if predicted is not None:
            bounds = {"predicted_low": predicted.low, "predicted_high": predicted.high}
            extra["predicted"] = predicted.value
            extra |= {name: value for name, value in bounds.items() if value is not None}
        if memory is not None:
            extra["memory_change"] = memory
        return self._course.make.figure(
            "advice_gain",
            self._shape.subject.name,
            found.value,
            "fraction",
            {"advice": spec.advice, "session": spec.session, "round": number},
            flags=[*self._flags, *((Flag.FEW_SAMPLES,) if found.low is None else ())],
            extra=extra,
            repeats=Spread(
                n=found.trials, median=found.value, iqr=2.0 * QUARTILE * found.between, ci95_low=found.low,
                ci95_high=found.high,
            ),
        )  # fmt: skip

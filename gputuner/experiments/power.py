"""The power sweep: what does a lower power limit (or a locked clock) cost, and what does it save (methods §8)?"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from math import isfinite
from random import Random
from typing import ClassVar, Literal

from gputuner.analysis.power import answers
from gputuner.analysis.power_choice import COARSE, FINE, coarse, next_setting
from gputuner.analysis.power_curve import Visit, fit_curve
from gputuner.experiments.advised import advised
from gputuner.experiments.contention_jobs import Job, parse_job
from gputuner.experiments.course import Course, RunEnds
from gputuner.experiments.failed_training import refuse, refuse_lost
from gputuner.experiments.minutes import check_minutes
from gputuner.experiments.power_dial import Dial, StoredVisit, dial_of
from gputuner.experiments.power_passive import tell_passive
from gputuner.experiments.power_points import SWEEP, answer_points, has_counter, joules_of, visit_of
from gputuner.experiments.power_visit import LEAST_COST_S, MOST_CHUNKS, Visited, Visitor
from gputuner.experiments.protocol import PlanContext
from gputuner.model.control import Setting
from gputuner.model.errors import UsageError
from gputuner.model.steps import Lost, Plan, Refused, Set, Step, StepResult, Total, UserCodeFailed

LOAD = "resnet50:batch=64"
"""A training that people run; half-precision it fits in 8 GB."""
LOSS = 3.0
MOST_LOSS = 50.0
LEAST_MINUTES, MOST_MINUTES = 1.0, 60.0
LIMIT, CLOCKS = Setting.POWER_LIMIT, Setting.SM_CLOCK_LOCK
SOAK_CHUNKS = 8
"""The first visit warms the card up."""
PASSIVE_VISITS = 2
NULL_SETTINGS = 8
END_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """Which power limit costs little speed, which needs the least energy, and where more watts change nothing?"""

    name: ClassVar[str] = "power"
    needs_worker: ClassVar[bool] = True

    load: str = LOAD
    """A training ``NAME[:key=value,…]``, or a recipe."""
    loss: float = LOSS
    """Per cent of the best rate that may be lost at the knee."""
    clocks: bool = False
    """Lock the SM clock instead of limiting the power."""
    passive: bool = False
    """Set nothing: only what this run and stored sessions show."""
    null: bool = False
    """Visit the same setting again and again: how often is a difference seen that is none?"""
    price: float | None = None
    """Of a kWh, in any currency …"""
    hours: float | None = None
    """… and hours a year that the card works."""
    up_to_w: float | None = None
    """Caps up to this, where the owner allows more than stands."""
    stored: tuple[StoredVisit, ...] = ()
    """Filled by the front end."""
    minutes: float = 9.0
    folder: str = "."
    seed: int = 0
    rights: Literal["auto", "sudo", "pkexec"] = "auto"
    """With whose rights settings are changed."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            UsageError: a number is out of range, hours and price do not come together, or the load is malformed.
        """
        check_minutes(self.minutes, MOST_MINUTES)
        _within("--minutes", self.minutes, LEAST_MINUTES, MOST_MINUTES, " min")
        _within("--loss", self.loss, 0.1, MOST_LOSS, " %")
        _within("--price", self.price, 0.0, 1e6, "")
        _within("--hours", self.hours, 1.0, 8784.0, " h")
        _within("--up-to", self.up_to_w, 1.0, 5000.0, " W")
        if (self.price is None) != (self.hours is None):
            raise UsageError("power_price_hours", "a price needs hours, and hours a price")
        if self.clocks and self.up_to_w is not None:
            raise UsageError("options_exclude", "--clocks and --up-to", first="--clocks", second="--up-to")
        parse_job(self.load)

    @property
    def recipe(self) -> str:
        """The user's recipe; empty for what is built in."""
        return parse_job(self.load).recipe

    def rehearsed(self, stand_in: str) -> "Power":
        """For a dry run: a built-in training in the place of the user's own."""
        return replace(self, load=stand_in) if self.recipe else self

    def expected_s(self) -> float:
        """The time budget."""
        return self.minutes * 60.0

    def limited(self) -> bool:
        """It ends when its time is used up."""
        return True

    def plan(self, context: PlanContext) -> Plan:
        """The load as the card stands, the sweep, the answers.

        Raises:
            UsageError: there is no card whose power could be limited.
            UserCodeError: the load ended with an error of its own before anything was measured, or a recipe's process
                was lost.
            DeviceError: the process of a built-in load was lost before anything was measured.
        """
        if context.card.is_cpu:
            raise UsageError("power_needs_card", "a power sweep needs a card")
        course = Course(context, 0.0)
        sets = not (self.passive or self.null)
        steps = 2 * (COARSE + FINE) if sets else (2 * NULL_SETTINGS if self.null else PASSIVE_VISITS)
        yield Total(steps=steps * 2, expected_s=context.budget_s, known=False)
        sweep = _Sweep(course, self)
        try:
            yield from sweep.run()
        except RunEnds:
            sweep.refuse()
            return
        yield from sweep.tell()
        words = f"power {self.load}".removesuffix(f" {LOAD}") + (" --clocks" if self.clocks else "")
        yield advised(course, command=words)


class _Sweep:
    """The course of one sweep."""

    def __init__(self, course: Course, spec: Power) -> None:
        self._course, self._spec = course, spec
        self._random = Random(spec.seed)
        self._job: Job = parse_job(spec.load).on(course.context, spec.folder)
        dial = dial_of(course.context.card, clocks=spec.clocks, up_to_w=spec.up_to_w)
        self._told = dial is not None
        """The card tells its range."""
        self._dial = dial or Dial(setting=CLOCKS if spec.clocks else LIMIT, low=0.0, high=0.0, found=None)
        self._visits: list[Visited] = []
        self._visitor = Visitor(course, self._job, self._dial, null=spec.null)
        self._set = False
        """Settings were changed."""

    def run(self) -> Generator[Step, StepResult, None]:
        """As it stands first; then, where settings may be changed, the others."""
        first = yield from self._visit(self._standing(), SOAK_CHUNKS)
        if first is None:
            self.refuse()
            return
        if self._spec.null:
            yield from self._null()
        elif self._spec.passive or not self._told:
            if not self._told:
                yield from self._course.warn("power_range_untold", dial=self._dial.setting.value)
            yield from self._again()
        else:
            yield from self._turned(first)

    def refuse(self) -> None:
        """End with an error where the load never ran: nothing was set yet, and stored sessions tell nothing either.

        Raises:
            UserCodeError: it ended with an error of its own, or a recipe's process was lost.
            DeviceError: the process of a built-in load was lost.
        """
        if self._visits or self._spec.stored:
            return
        match self._course.last:
            case UserCodeFailed() as failed:
                refuse(self._job.name, failed)
            case Lost() as lost:
                refuse_lost(self._job.name, lost)
            case _:
                return

    def tell(self) -> Generator[Step, StepResult, None]:
        """What was found, as points."""
        settings = {each.visit.setting for each in self._visits}
        if self._spec.null:
            yield from self._tell_null()
        elif self._set and len(settings) > 2:
            curve = fit_curve(self._usable(), self._spec.seed)
            if curve.energy is None:
                yield from self._course.warn("power_no_energy")
            found = answers(curve, self._spec.loss / 100.0, grain=self._dial.grain)
            yield from self._course.tell(*answer_points(self._course, self._spec, self._job, self._dial, found, SWEEP))
        else:
            yield from tell_passive(self._course, self._spec, self._job, self._dial, self._visits)

    def _standing(self) -> float:
        found = self._dial.found
        return self._dial.high if found is None else found

    def _turned(self, first: Visited) -> Generator[Step, StepResult, None]:
        """The coarse settings in random order, the fine ones where the answers lie, then each once more."""
        dial = self._dial
        reach = dial.reach(first.done.conditions)
        rest = [each for each in coarse(dial.low, dial.high, reach, dial.grain) if each != first.visit.setting]
        self._random.shuffle(rest)
        count = 2 * (1 + len(rest) + FINE)
        for setting in rest:
            if not (yield from self._turn(setting, count - len(self._visits))):
                yield from self._again()
                return
        for _ in range(FINE):
            if len({each.visit.setting for each in self._visits}) < 3:
                return
            chosen = next_setting(fit_curve(self._usable(), draws=1), self._spec.loss / 100.0, dial.grain)
            if chosen is not None and not (yield from self._turn(chosen, count - len(self._visits))):
                return
        again = [each.visit.setting for each in self._visits]
        self._random.shuffle(again)
        for place, setting in enumerate(again):
            if not (yield from self._turn(setting, len(again) - place)):
                return

    def _turn(self, setting: float, left: int) -> Generator[Step, StepResult, bool]:
        """Set, and visit; False: no more."""
        course = self._course
        if not course.fits(LEAST_COST_S, END_S):
            yield from course.warn("power_time_short", visits=len(self._visits))
            return False
        result = yield self._step(setting)
        if isinstance(result, Refused) and self._spec.clocks:
            told = self._dial.within(result.params.get("low"), result.params.get("high"))
            if told != self._dial:
                self._dial = told
                result = yield self._step(setting)
        if isinstance(result, Refused):
            yield from course.warn(result.code, **result.params)
            yield from course.warn("power_cut" if self._set else "power_not_set")
            return False
        self._set = True
        share = (course.left_s - END_S) / max(left, 1)
        chunks = max(1, min(MOST_CHUNKS, int(share / LEAST_COST_S)))
        return (yield from self._visit(setting, chunks)) is not None

    def _step(self, setting: float) -> Set:
        """What makes ``setting`` stand."""
        return Set(setting=self._dial.setting, value=self._dial.value(setting), may_forget=self._spec.clocks)

    def _visit(self, setting: float, chunks: int) -> Generator[Step, StepResult, Visited | None]:
        number = 1 + sum(each.visit.setting == setting for each in self._visits)
        found = yield from self._visitor.visit(setting, number, chunks)
        if found is not None:
            self._visits.append(found)
        return found

    def _again(self) -> Generator[Step, StepResult, None]:
        """As it stands once more, with nothing set: what a run can show by itself."""
        if self._set:
            return
        for _ in range(PASSIVE_VISITS - 1):
            if self._course.fits(LEAST_COST_S, END_S):
                yield from self._visit(self._standing(), MOST_CHUNKS)

    def _null(self) -> Generator[Step, StepResult, None]:
        for _ in range(2 * NULL_SETTINGS - 1):
            if not self._course.fits(LEAST_COST_S, END_S):
                return
            yield from self._visit(self._standing(), 1)

    def _usable(self) -> list[Visit]:
        """The visits; energy from one source for all of them, so that sources are not compared."""
        counter = all(has_counter(each.done) for each in self._visits)
        found: list[Visit] = []
        for each in self._visits:
            joules, _ = joules_of(each.done.trials[0], each.done.conditions, counter=counter)
            visit = visit_of(each.visit.setting, each.done.trials[0], each.done.conditions)
            found.append(replace(visit, joules=joules))
        return found

    def _tell_null(self) -> Generator[Step, StepResult, None]:
        from gputuner.experiments.power_null import null_point

        point = null_point(self._course, self._job, [each.visit.rate for each in self._visits])
        if point is None:
            yield from self._course.warn("null_nothing")
        else:
            yield from self._course.tell(point)


def _within(option: str, value: float | None, low: float, high: float, unit: str) -> None:
    """Refuse a value out of range.

    Raises:
        UsageError: it is.
    """
    if value is not None and not (isfinite(value) and low <= value <= high):
        raise UsageError(
            "option_out_of_range", f"{option} {value}", option=option, value=f"{value:g}",
            low=f"{low:g}", high=f"{high:g}", unit=unit,
        )  # fmt: skip

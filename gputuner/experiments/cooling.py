"""The thermal test: rest, one kind of load until the steady temperature is known, cool-down (methods §7)."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from gputuner.analysis.cooling import MISFIT_TOLD, RISE_SHARES, Look, judged, limit_of, look, told_rise, trace_of
from gputuner.analysis.cooling import Cooling as Found
from gputuner.analysis.thermal_end import over
from gputuner.analysis.thermal_trace import ThermalTrace
from gputuner.experiments.advised import advised
from gputuner.experiments.contention_jobs import parse_job
from gputuner.experiments.cooling_points import cooling_points, load_point, look_point
from gputuner.experiments.course import Course, RunEnds
from gputuner.experiments.failed_training import refuse
from gputuner.experiments.minutes import check_minutes
from gputuner.experiments.precisions import training_order
from gputuner.experiments.protocol import PlanContext
from gputuner.model.errors import DeviceError, DoesNotFit, UsageError, UserCodeError
from gputuner.model.samples import Sample
from gputuner.model.steps import Done, Lost, OutOfMemory, Plan, Step, StepResult, Total, UserCodeFailed, Watch, Work
from gputuner.workloads.specs import MatmulSpec

Cooler = Literal["", "blower", "open", "hybrid", "water"]
COOLERS: tuple[Cooler, ...] = ("blower", "open", "hybrid", "water")
PRODUCT = "matmul"
PRODUCT_N, CPU_N = 8192, 1024
SETTLE_S, SETTLE_SHARE = 60.0, 0.1
REST_S = 30.0
CHUNK_S, LEAST_CHUNK_S, CHUNK_SHARE = 60.0, 20.0, 0.1
"""Seconds of load in one piece: the fewer pauses between pieces the better, but a short test needs several looks."""
WARM_S = 0.5
"""Heating up is what is measured."""
LOOK_S, LEAST_LOOK_S = 60.0, 45.0
"""A fit after each minute of load, or after each piece that is nearly as long."""
COOL_SHARE, COOL_S = 0.15, 90.0
"""Of the time, at most so much is spent watching the card cool down."""
CHUNK_COST_S = 1.5
"""What a trial takes besides measuring."""
ROOM_C = (-20.0, 60.0)
LEAST_MINUTES = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooling:
    """How well is the card cooled, and how hot will it get?"""

    name: ClassVar[str] = "cooling"
    needs_worker: ClassVar[bool] = True

    load: str = PRODUCT
    """``matmul`` (dense tensor products, the hottest), or a training ``NAME[:key=value,…]``, or a recipe."""
    room_c: float | None = None
    """Temperature of the air that the card draws in, °C; None: not told."""
    cooler: Cooler = ""
    """What is on the card, where its owner says so."""
    minutes: float = 20.0
    folder: str = "."

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            UsageError: minutes, room or cooler out of range, or the load is malformed.
        """
        check_minutes(self.minutes)
        if self.minutes < LEAST_MINUTES:
            raise UsageError("minutes_out_of_range", "too short", value=self.minutes, low=LEAST_MINUTES, high=120.0)
        if self.room_c is not None and not ROOM_C[0] <= self.room_c <= ROOM_C[1]:
            raise UsageError("room_out_of_range", "no such room", value=self.room_c, low=ROOM_C[0], high=ROOM_C[1])
        if self.cooler and self.cooler not in COOLERS:
            raise UsageError("cooler_unknown", "no such cooler", cooler=self.cooler, known=", ".join(COOLERS))
        if self.load != PRODUCT:
            parse_job(self.load)

    @property
    def recipe(self) -> str:
        """The user's recipe; empty for what is built in."""
        return "" if self.load == PRODUCT else parse_job(self.load).recipe

    @property
    def chunk_s(self) -> float:
        """Seconds of load in one piece."""
        return min(CHUNK_S, max(LEAST_CHUNK_S, CHUNK_SHARE * self.minutes * 60.0))

    def expected_s(self) -> float:
        """The time budget."""
        return self.minutes * 60.0

    def limited(self) -> bool:
        """It ends when its time is used up."""
        return True

    def plan(self, context: PlanContext) -> Plan:
        """Rest, load in pieces with a fit after each minute, cool-down, verdict.

        Raises:
            UsageError: the load's settings are out of range.
            DoesNotFit: the load does not fit into the memory.
            UserCodeError: the load ended with an error of its own before anything was measured, or a recipe's process
                was lost.
            DeviceError: the process of a built-in load was lost before anything was measured.
        """
        course = Course(context, 0.0)
        yield Total(steps=2, expected_s=context.budget_s, known=False)
        test = _Test(course, self)
        try:
            yield from test.run()
        except RunEnds:
            test.refuse(course.last)
            return
        yield from test.tell()
        yield advised(course, command=f"cooling {self.load}".removesuffix(f" {PRODUCT}"))


class _Test:
    """The course of one thermal test."""

    def __init__(self, course: Course, spec: Cooling) -> None:
        self._course = course
        self._spec = spec
        self._samples: list[Sample] = []
        self._load_from_ns: int | None = None
        self._rested_ns: int | None = None
        """The last reading of the rest: what follows, a training's set-up too, is load."""
        self._looks: list[Look] = []
        self._last: Done | None = None
        self._pauses_ns: list[tuple[int, int]] = []
        """Between two pieces of the load, until the next one is measured."""
        self._limit_w = course.context.card.number("power_limit_enforced_w")
        self._load_s = 0.0

    def run(self) -> Generator[Step, StepResult, None]:
        """Rest, load, cool-down."""
        course, spec = self._course, self._spec
        if course.context.card.is_cpu:
            raise UsageError("cooling_needs_card", "a thermal test needs a card")
        settle_s = min(SETTLE_S, SETTLE_SHARE * spec.minutes * 60.0)
        yield from course.settle("settle", settle_s)
        yield from self._watch("cooling_rest", REST_S)
        work = self._work()
        cool_s = min(COOL_S, COOL_SHARE * spec.minutes * 60.0)
        looked_s = 0.0
        while course.fits(spec.chunk_s + CHUNK_COST_S, cool_s):
            result = yield from course.attempt(work, spec.chunk_s + CHUNK_COST_S)
            self.refuse(result)
            if not isinstance(result, Done) or not result.trials:
                yield from course.warn("cooling_load_failed", message=getattr(result, "message", ""))
                return
            self._keep(result)
            if self._load_s - looked_s >= (LEAST_LOOK_S if spec.chunk_s >= LEAST_LOOK_S else LOOK_S) - WARM_S:
                looked_s = self._load_s
                yield from self._look()
                if over([(each.load_min, each.forecast) for each in self._looks]):
                    break
        yield from self._watch("cooling_down", cool_s)

    def tell(self) -> Generator[Step, StepResult, None]:
        """What was found, as points."""
        course = self._course
        trace = self._trace()
        if trace is None or not self._looks:
            yield from course.warn("cooling_nothing_read")
            return
        card = course.context.card
        assert self._load_from_ns is not None
        told = limit_of(self._samples, self._load_from_ns)
        found = judged(trace, self._looks, told or card.number("slowdown_c") or card.number("target_c"))
        yield from self._doubts(found)
        assert self._last is not None
        load = load_point(course, self._spec, self._last.trials[0], self._last.conditions)
        yield from course.tell(*cooling_points(course, self._spec, found, self._last.conditions), *load)

    def _doubts(self, found: Found) -> Generator[Step, StepResult, None]:
        """Say where the model does not follow the readings, and which figures are left out."""
        if found.misfit >= MISFIT_TOLD:
            yield from self._course.warn("cooling_misfit", times=round(found.misfit, 1))
        for name, rise_s in found.rise_s.items():
            if not told_rise(rise_s):
                share = round(float(RISE_SHARES[name]), 2)
                yield from self._course.warn("cooling_rise_unknown", share=share, low_s=rise_s.low, high_s=rise_s.high)

    def refuse(self, result: StepResult | None) -> None:
        """End with an error where the load never ran, and it is known why.

        Raises:
            DoesNotFit: it does not fit into the memory.
            UserCodeError: it ended with an error of its own, or a recipe's process was lost.
            DeviceError: the process of a built-in load was lost.
        """
        if self._last is not None:
            return
        match result:
            case OutOfMemory():
                raise DoesNotFit("cooling_does_not_fit", f"{self._name()} does not fit", workload=self._name())
            case UserCodeFailed():
                refuse(self._name(), result)
            case Lost(message=message):
                kind = UserCodeError if self._spec.recipe else DeviceError
                raise kind("cooling_lost", f"{self._name()}: {message}", workload=self._name(), reason=message)
            case _:
                return

    def _name(self) -> str:
        """The load as figures name it: of a recipe nothing of where it lies."""
        spec = self._spec
        return PRODUCT if spec.load == PRODUCT else parse_job(spec.load).on(self._course.context, spec.folder).name

    def _work(self) -> Work:
        """The load: one kind only, since board power does not tell where heat arises."""
        spec, context = self._spec, self._course.context
        if spec.load != PRODUCT:
            job = parse_job(spec.load).on(context, spec.folder)
            work = job.work("cooling_load", spec.chunk_s, warmup_s=WARM_S)
        else:
            product = MatmulSpec(precision=training_order(context)[0], n=PRODUCT_N)
            work = Work(
                label="cooling_load",
                workload="matmul",
                params=product.params(),
                measure_s=spec.chunk_s,
                budget_s=4.0 * spec.chunk_s,
                warmup_s=WARM_S,
            )
        return replace(work, traced=True)

    def _watch(self, label: str, seconds: float) -> Generator[Step, StepResult, None]:
        result = yield Watch(label=label, duration_s=seconds, traced=True)
        if not isinstance(result, Done):
            raise RunEnds
        self._samples += result.samples
        if self._load_from_ns is None and self._samples:
            self._rested_ns = self._samples[-1].t_ns
        self._course.spent_s += seconds

    def _keep(self, result: Done) -> None:
        self._samples += result.samples
        trial = result.trials[0]
        if self._load_from_ns is None:
            self._load_from_ns = self._rested_ns if self._rested_ns is not None else trial.t0_ns
        if self._last is not None:
            self._pauses_ns.append((self._last.trials[0].t1_ns, trial.t0_ns))
        self._load_s = (trial.t1_ns - self._load_from_ns) / 1e9
        self._last = result

    def _trace(self) -> ThermalTrace | None:
        return None if self._load_from_ns is None else trace_of(self._samples, self._load_from_ns, self._pauses_ns)

    def _look(self) -> Generator[Step, StepResult, None]:
        trace = self._trace()
        found = (
            look(trace, room_c=self._spec.room_c, limit_w=self._limit_w) if trace is not None and trace.moved else None
        )
        if found is not None:
            self._looks.append(found)
            yield from self._course.tell(look_point(self._course, self._spec, found))

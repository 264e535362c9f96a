"""Is the card sound, and is it what was sold? VRAM cold and hot, golden products, counters, identity (methods §9)."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import ClassVar

from gputuner.analysis.vram import Pass, judged, pass_of
from gputuner.experiments.advised import advised
from gputuner.experiments.course import Course, RunEnds
from gputuner.experiments.health_identity import identity
from gputuner.experiments.health_points import (
    burn_points,
    counter_points,
    memory_points,
    pass_points,
    rate_points,
    stage_point,
)
from gputuner.experiments.health_stages import BURN_IN, KEEP_SHARE, USUAL, Stage
from gputuner.experiments.minutes import LEAST, MOST
from gputuner.experiments.precisions import training_order
from gputuner.experiments.protocol import PlanContext
from gputuner.model.errors import UsageError
from gputuner.model.samples import Sample
from gputuner.model.steps import Done, OutOfMemory, Part, Plan, Step, StepResult, Total, UserCodeFailed, Watch, Work
from gputuner.workloads.specs import Precision
from gputuner.workloads.specs_vram import CPU_BLOCK_BYTES, BurnSpec, Heat, VramSpec

CHUNK_S, LONG_CHUNK_S = 20.0, 60.0
"""Length of one trial: what a cancel loses at most."""
LONG_STAGE_S = 900.0
TRIAL_COST_S = 2.0
"""Set-up of a trial."""
LEAST_CHUNK_S = 1.0
REST_S = 3.0
CYCLE_REST_S = 20.0
BURN_N, CPU_BURN_N = 4096, 512
CPU_BYTES, CPU_SHARE = 256 << 20, 0.4
"""Main memory is tested as a trial of the test: so much, or this share of the memory cap."""
CPU_HOLD_S = 0.5
MORE_ROOM = 2
"""A test that did not fit leaves so many times as much free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Is this card sound, and the one that was sold?"""

    name: ClassVar[str] = "health"
    needs_worker: ClassVar[bool] = True

    minutes: float = 10.0
    burn_in: bool = False
    """The stages of the two-hour protocol, in ``minutes``."""
    sold_as: str = ""
    """Id in the catalogue of the card that the seller named; empty: what the driver's name says."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            UsageError: minutes out of range.
        """
        if not LEAST <= self.minutes <= 24 * 60.0:
            raise UsageError(
                "minutes_out_of_range", "minutes", value=self.minutes, low=LEAST, high=max(MOST, 24 * 60.0)
            )

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What is done."""
        return BURN_IN if self.burn_in else USUAL

    def expected_s(self) -> float:
        """The time budget."""
        return self.minutes * 60.0

    def limited(self) -> bool:
        """It ends when its time is used up."""
        return True

    def plan(self, context: PlanContext) -> Plan:
        """Counters, identity, the stages, counters again, and the judgement."""
        if self.sold_as and context.sheets and self.sold_as not in context.sheets:
            raise UsageError("sold_as_unknown", "no such card", card=self.sold_as)
        course = Course(context, 0.0)
        yield Total(steps=len(self.stages) + 3, expected_s=context.budget_s, known=False)
        test = _Test(course, self)
        try:
            yield from test.run()
        except RunEnds:
            return
        command = "health --burn-in" if self.burn_in else "health"
        yield advised(course, command=f"{command} --sold-as {self.sold_as}" if self.sold_as else command)


class _Test:
    """The course of one health test."""

    def __init__(self, course: Course, spec: Health) -> None:
        self._course, self._spec = course, spec
        self._samples: list[Sample] = []
        self._rates: list[tuple[Heat, Part]] = []
        self._passes: list[Pass] = []
        self._room = 1
        self._copied: float | None = None
        self._of_free: float | None = None

    def run(self) -> Generator[Step, StepResult, None]:
        """All stages; each tells what it found before the next begins."""
        course, spec = self._course, self._spec
        cpu = course.context.card.is_cpu
        if cpu:
            yield from course.warn("health_main_memory")
        yield from self._watch("health_counters", min(REST_S, 0.02 * course.context.budget_s))
        measured = yield from identity(course, spec.sold_as)
        self._copied = measured.bandwidth
        left_s = course.left_s * (1.0 - KEEP_SHARE)
        total_share = sum(stage.share for stage in spec.stages)
        for number, stage in enumerate(spec.stages, 1):
            yield from self._stage(number, stage, left_s * stage.share / total_share)
        yield from self._watch("health_counters", min(REST_S, 0.02 * course.context.budget_s))
        yield from self._tell()
        yield from measured.judge(any(each.aliased for each in self._passes) if self._passes else None)

    def _stage(self, number: int, stage: Stage, seconds: float) -> Generator[Step, StepResult, None]:
        course = self._course
        began_s = course.spent_s
        longest_s = LONG_CHUNK_S if seconds >= LONG_STAGE_S else CHUNK_S
        outcome, rounds = "done", 0
        while outcome == "done" and (rounds == 0 or course.spent_s - began_s + LEAST_CHUNK_S < seconds):
            left_s = seconds - (course.spent_s - began_s) - (TRIAL_COST_S if rounds == 0 else 0.0)
            chunk_s = max(LEAST_CHUNK_S, min(longest_s, left_s))
            if stage.kind in ("burn", "cycles"):
                outcome = yield from self._burn(number, chunk_s)
            else:
                outcome = yield from self._memory(number, stage, chunk_s)
            if stage.kind == "cycles" and outcome == "done":
                yield from self._watch("health_rest", min(CYCLE_REST_S, chunk_s))
            rounds += 1
        told = stage_point(course, number, stage.kind, max(0.0, course.spent_s - began_s), outcome)
        yield from course.tell(told)

    def _memory(self, number: int, stage: Stage, seconds: float) -> Generator[Step, StepResult, str]:
        heat: Heat = "hot" if stage.kind == "memory_hot" else "cold"
        spec = self._vram(heat, min(stage.hold_s, 0.3 * seconds))
        work = self._work(f"health_{stage.kind}", spec.workload, seconds, spec.params())
        result = yield from self._course.attempt(work, seconds + TRIAL_COST_S)
        if isinstance(result, OutOfMemory) and self._room < MORE_ROOM**3:
            self._room *= MORE_ROOM
            return (yield from self._memory(number, stage, seconds))
        if not isinstance(result, Done) or not result.trials:
            return (yield from self._failed(stage.kind, result))
        self._samples += result.samples
        trial = result.trials[0]
        covered, free = trial.notes.get("covered_bytes"), trial.notes.get("free_before_bytes")
        if isinstance(covered, int) and isinstance(free, int) and free > 0:
            self._of_free = min(covered / free, self._of_free or 1.0)
        self._passes += [pass_of(part.params, part.notes) for part in trial.parts if part.params.get("pass") != "rate"]
        self._rates.extend((heat, part) for part in trial.parts if part.params.get("pass") == "rate")
        yield from self._course.tell(*pass_points(self._course, number, trial, result.part_conditions))
        return "done"

    def _vram(self, heat: Heat, hold_s: float) -> VramSpec:
        context = self._course.context
        free = context.free_bytes or 0
        if context.card.is_cpu:
            total = context.card.memory_total_bytes or 0
            capped = 0 < free < 0.5 * total or (0 < total <= free)
            most = int(CPU_SHARE * free) if capped else CPU_BYTES
            block = min(CPU_BLOCK_BYTES, max(1 << 20, most // 4))
            return VramSpec(
                block_bytes=block, keep_bytes=0, heat=heat, hold_s=min(hold_s, CPU_HOLD_S), most_bytes=max(block, most)
            )
        spec = VramSpec.of(context.card.memory_total_bytes or free, heat=heat, hold_s=hold_s)
        return replace(spec, keep_bytes=self._room * spec.keep_bytes, most_bytes=free if context.shared else 0)

    def _burn(self, number: int, seconds: float) -> Generator[Step, StepResult, str]:
        context = self._course.context
        formats: tuple[Precision, ...] = ("fp32",)
        if not context.card.is_cpu:
            formats = tuple(dict.fromkeys((training_order(context)[0], "fp32")))
        spec = BurnSpec(precisions=formats, n=CPU_BURN_N if context.card.is_cpu else BURN_N)
        work = self._work("health_burn", spec.workload, seconds, spec.params())
        result = yield from self._course.attempt(work, seconds + TRIAL_COST_S)
        if not isinstance(result, Done) or not result.trials:
            return (yield from self._failed("burn", result))
        self._samples += result.samples
        yield from self._course.tell(*burn_points(self._course, number, result.trials[0], result.part_conditions))
        return "done"

    def _work(self, label: str, workload: str, seconds: float, params: dict[str, int | float | str | bool]) -> Work:
        return Work(
            label=label,
            workload=workload,
            params=params,
            measure_s=seconds,
            budget_s=4.0 * seconds + 60.0,
            warmup_s=0.0,
            traced=True,
        )

    def _failed(self, kind: str, result: StepResult) -> Generator[Step, StepResult, str]:
        message = str(getattr(result, "message", ""))
        wrong = isinstance(result, UserCodeFailed) and result.reason == "wrong_result"
        outcome = "wrong_result" if wrong else "failed"
        if isinstance(result, OutOfMemory):
            outcome = "out_of_memory"
        elif not isinstance(result, UserCodeFailed):
            outcome = "lost"
        yield from self._course.warn("health_stage_failed", stage=kind, message=message)
        return outcome

    def _watch(self, label: str, seconds: float) -> Generator[Step, StepResult, None]:
        result = yield Watch(label=label, duration_s=seconds, traced=True)
        if not isinstance(result, Done):
            raise RunEnds
        self._samples += result.samples
        self._course.spent_s += seconds

    def _tell(self) -> Generator[Step, StepResult, None]:
        """Coverage, rates, slow areas, counters."""
        course = self._course
        total = course.context.card.memory_total_bytes
        points, slow = rate_points(course, self._rates)
        found = judged(self._passes)
        if total and self._passes:
            points = (
                *points,
                *memory_points(
                    course,
                    found,
                    course.points,
                    total,
                    copied=self._copied,
                    donor=_donor(course.context),
                    of_free=self._of_free,
                ),
            )
        yield from course.tell(*points, *counter_points(course, self._samples))
        for area in slow:
            yield from course.warn(
                "health_slow_area", offset=area.offset_bytes, bytes=area.bytes, fraction=area.fraction
            )


def _donor(context: PlanContext) -> int | None:
    """Memory of the card that a mod was made from, in bytes; None: no mod, or not known."""
    match = context.card.catalog
    sheet = context.sheets.get(match.catalog_id) if match and match.catalog_id else None
    base = context.sheets.get(sheet.base_id) if sheet and sheet.base_id else None
    return base.memory_total_mib << 20 if base else None

"""The plan of the numerical check, and what it has found so far."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from math import ceil, log2
from typing import Protocol

from gputuner.analysis.trajectory import LEAST_STEPS, Judgement, Verdict, fp32_band, judge
from gputuner.analysis.trajectory_means import TURN
from gputuner.analysis.trajectory_scaler import Scaler
from gputuner.experiments.course import LEAST_BUDGET_S, Attempt, Course, RunEnds
from gputuner.experiments.failed_training import refuse
from gputuner.experiments.numerics_points import NumericsPoints, reference
from gputuner.experiments.numerics_run import Run, run_of
from gputuner.experiments.precisions import support
from gputuner.experiments.protocol import PlanContext
from gputuner.experiments.subject import Subject
from gputuner.experiments.tune_training import skipped
from gputuner.model.cards import Origin, Support
from gputuner.model.errors import DoesNotFit
from gputuner.model.points import Flag
from gputuner.model.steps import Done, Lost, OutOfMemory, Plan, Step, StepResult, UserCodeFailed, Work
from gputuner.workloads.specs import Precision
from gputuner.workloads.specs_numerics import NumericsSpec

ORDER: tuple[Precision, ...] = ("tf32", "bf16", "fp16")
STAND_IN = "stand_in"
"""Workload of the figures of a simulated card: it cannot train the one asked for."""
USUAL_STEPS, LOOK_STEPS = 200, 4
LOOK_SHARE, SMALLER_LOOKS = 0.12, 2
"""Of the budget, at most, for a look at the first steps; so many more looks are taken, at smaller batches."""
SMALLEST_BATCH = 4
"""No smaller one is taken for the sake of time: batch norm would do little else than scatter."""
LEAST_DRAWS, FEWER_DRAWS = 2, 3
"""FP32 runs that a band needs, and that are made where time is short."""
TWINS = 2
"""Further FP32 runs of the start that formats share; one where time is short."""
FIRST_BATCH, FIRST_BATCH_CPU = 32, 4
START_S = 8.0
"""Loading torch, before the first run."""
SETUP_S = 3.0
"""Of each run: model and batches are made anew."""
LOOKS_S = 2.0
"""Of each run: forward passes that are looked at."""
SHORT_S = 90.0
SLOWER_EMULATED = 4.0
"""A format that the chip emulates takes that many times as long per step, as far as it can be guessed; the same of
half precision on a processor, whose libraries convert much."""
PATIENCE = 2
"""It is given that much longer, as a power: how slow emulation is, nobody knows before."""
SPARE, SLACK = 1.15, 1.6
"""Room in what a run is expected to take, and in what it is given before it is cut short."""
SHORTENED = {"time": "slow", "failed": "failed"}
"""Why a run made fewer steps than the others → what its verdict says."""
WITHOUT_RUN: dict[type[Attempt], str] = {UserCodeFailed: "failed", OutOfMemory: "memory", Lost: "lost"}
"""How a run ended that gave nothing → what its verdict says."""


class NumericsLike(Protocol):
    """What the plan needs of the spec."""

    @property
    def precision(self) -> str:
        """The only format to compare; empty: all."""
        ...

    @property
    def batch(self) -> int:
        """Samples per step; 0: chosen here."""
        ...

    @property
    def steps(self) -> int:
        """Optimizer steps of each run; 0: chosen here."""
        ...

    @property
    def seeds(self) -> int:
        """FP32 runs."""
        ...

    def subject(self, *, cpu: bool) -> Subject:
        """The training that is examined."""
        ...


class Check:
    """The state of one check."""

    def __init__(self, spec: NumericsLike, context: PlanContext) -> None:
        self._spec = spec
        self._context = context
        self._cpu = context.card.is_cpu
        self._subject = spec.subject(cpu=self._cpu)
        hurried = context.budget_s < SHORT_S
        self.course = Course(context, 0.0 if hurried else START_S, hurried=hurried)
        self._batch = spec.batch or (FIRST_BATCH_CPU if self._cpu else FIRST_BATCH)
        self._steps = spec.steps or USUAL_STEPS
        self._looked: set[Precision] = set()
        self._twins = TWINS
        self._to_come: list[float] = []
        """Shares of the time that the coming runs need."""

    @property
    def name(self) -> str:
        """Of the training that is examined."""
        return self._subject.name

    # --- the plan -------------------------------------------------------------------------------------------------

    def perform(self) -> Plan:
        """All runs.

        Raises:
            RunEnds: the run is over.
            DoesNotFit: not even one sample fits.
            UserCodeError: the training ended with an error of its own.
        """
        formats = yield from self._formats()
        draws = self._spec.seeds
        yield from self.course.total(1 + draws + self._twins + len(formats), self._context.budget_s, known=False)
        look = yield from self._look()
        for _ in range(SMALLER_LOOKS):
            smaller = self._smaller(self._affordable(look, draws, formats))
            if smaller == self._batch:
                break
            self._batch = smaller
            look = yield from self._look()
        if not look.losses:
            needed_s = LEAST_STEPS * LOOK_SHARE * self._context.budget_s
            yield from skipped(self.course, "numerics", needed_s)
            return
        draws, formats = yield from self._fitted(look, draws, formats)
        if draws < LEAST_DRAWS:
            return
        yield from self.course.total(draws + self._twins + len(formats), self._expected_s(look, draws, formats))
        self._to_come = [1.0] * (draws + self._twins) + [self._slower(precision) for precision in formats]
        runs = yield from self._references(look, draws)
        if not runs:
            return
        losses = [run.losses for run in runs]
        band = fp32_band(losses)
        make = self._make()
        yield from self.course.tell(make.verdict(runs[0], reference(runs[0], min(map(len, losses))), (), None))
        if runs[0].no_reference:
            return
        if band is not None:
            yield from self.course.tell(*make.band(band))
        twins = yield from self._twin_runs(runs[0])
        for precision in formats:
            yield from self._format(precision, runs[0], losses, twins)

    def _formats(self) -> Generator[Step, StepResult, list[Precision]]:
        """Formats to compare, native ones first; what this chip lacks is told."""
        only = self._spec.precision
        wanted: tuple[Precision, ...] = tuple(p for p in ORDER if not only or p == only)
        offered = {precision: support(self._context, precision) for precision in wanted}
        for precision in wanted:
            if offered[precision] is Support.ABSENT:
                yield from self.course.warn("numerics_absent", precision=precision)
        if self._context.card.origin is Origin.SIMULATED:
            yield from self.course.warn("numerics_stand_in", workload=self._subject.name)
        elif self._cpu:
            yield from self.course.warn("numerics_cpu")
        there: list[Precision] = [precision for precision in wanted if offered[precision] is not Support.ABSENT]
        return sorted(there, key=lambda precision: offered[precision] is not Support.NATIVE)

    def _look(self) -> Generator[Step, StepResult, Run]:
        """A few FP32 steps, for their time, their traps, and a batch that fits."""
        limit_s = LOOK_SHARE * self._context.budget_s
        while True:
            result, run = yield from self._run("fp32", 0, LOOK_STEPS, limit_s, "numerics_look")
            if run is not None:
                if run.ended == "failed":
                    yield from self._tell_look(run)
                    refuse(self._subject.name, run.failure())
                return run
            if isinstance(result, UserCodeFailed):
                refuse(self._subject.name, result)
            if not isinstance(result, OutOfMemory):
                raise RunEnds
            if self._batch == 1:
                raise DoesNotFit("nothing_fits", "not even one sample fits", workload=self._subject.name)
            self._batch = max(1, self._batch // 2)

    def _smaller(self, steps: int) -> int:
        """The batch to go on with where each run could make so many ``steps``: a smaller one where that is too few."""
        if self._spec.batch or self._spec.steps or steps >= LEAST_STEPS:
            return self._batch
        times = 2 ** ceil(log2(LEAST_STEPS / max(steps, 1)))
        return max(min(SMALLEST_BATCH, self._batch), self._batch // times)

    def _fitted(
        self, look: Run, draws: int, formats: list[Precision]
    ) -> Generator[Step, StepResult, tuple[int, list[Precision]]]:
        """How many FP32 runs, which formats, and (kept) how many steps fit; 0 runs: not even a short check does."""
        while (steps := self._affordable(look, draws, formats)) < LEAST_STEPS and draws > FEWER_DRAWS:
            draws -= 1
        if steps < LEAST_STEPS:
            self._twins = 1
            steps = self._affordable(look, draws, formats)
        while steps < LEAST_STEPS and len(formats) > 1:
            dropped, formats = formats[-1], formats[:-1]
            needed_s = self._expected_s(look, 0, [dropped], LEAST_STEPS)
            keep_s = self._expected_s(look, draws, formats, LEAST_STEPS)
            yield from skipped(self.course, f"precision_{dropped}", needed_s, keep_s)
            steps = self._affordable(look, draws, formats)
        if steps < LEAST_STEPS and self._spec.steps == 0:
            needed_s = self._expected_s(look, draws, formats, LEAST_STEPS)
            yield from self._tell_look(look)
            yield from skipped(self.course, "numerics", needed_s)
            return 0, formats
        self._steps = max(TURN, min(self._steps, steps) // TURN * TURN)
        return draws, formats

    def _affordable(self, look: Run, draws: int, formats: Sequence[Precision]) -> int:
        """Steps that each run can make."""
        runs = draws + self._twins + len(formats)
        left_s = self.course.left_s - SETUP_S * runs
        if look.step_s is None:
            return 0
        one_s = self._expected_s(look, draws, formats, 1) - SETUP_S * runs
        return int(left_s / max(one_s, 1e-6))

    def _expected_s(self, look: Run, draws: int, formats: Sequence[Precision], steps: int | None = None) -> float:
        each = (look.step_s or 0.0) * SPARE * (steps or self._steps)
        same = draws + self._twins if draws else 0
        return sum(SETUP_S + each * share for share in [1.0] * same + [self._slower(p) for p in formats])

    def _slower(self, precision: Precision) -> float:
        emulated = self._cpu or support(self._context, precision) is Support.EMULATED
        return SLOWER_EMULATED if emulated else 1.0

    # --- runs -----------------------------------------------------------------------------------------------------

    def _references(self, look: Run, draws: int) -> Generator[Step, StepResult, list[Run]]:
        """FP32 runs with different seeds and orders of the batches."""
        runs: list[Run] = []
        for draw in range(draws):
            limit_s = self._limit_s(runs[0] if runs else look)
            _, run = yield from self._run("fp32", draw, self._steps, limit_s, "numerics_reference")
            if run is None:
                continue
            if draw == 0:
                yield from self._tell_look(run)
            yield from self.course.tell(*self._make().losses(run, ()))
            runs.append(run)
        return runs

    def _twin_runs(self, first: Run) -> Generator[Step, StepResult, list[Sequence[float]]]:
        """Losses of further FP32 runs from the start that formats share, which differ by roundings."""
        found: list[Sequence[float]] = []
        for twin in range(1, self._twins + 1):
            limit_s = self._limit_s(first)
            _, run = yield from self._run("fp32", 0, self._steps, limit_s, "numerics_reference", twin)
            if run is not None and first.draw == 0:
                found.append(run.losses)
        return found

    def _format(
        self, precision: Precision, first: Run, references: Sequence[Sequence[float]], twins: Sequence[Sequence[float]]
    ) -> Plan:
        """One format's run, its losses and its verdict."""
        limit_s = self._limit_s(first, self._slower(precision) ** PATIENCE)
        try:
            result, run = yield from self._run(precision, 0, self._steps, limit_s, "numerics_format")
        except RunEnds:
            yield from self._without_run(precision, self.course.last)
            raise
        failed = "" if run is None else str(run.notes.get("failed", ""))
        if run is None and isinstance(result, UserCodeFailed | OutOfMemory):
            failed = result.message
        if failed:
            yield from self.course.warn("numerics_failed", precision=precision, message=failed)
        if run is None:
            yield from self._without_run(precision, result)
            return
        flags = [Flag.EMULATED] if support(self._context, precision) is Support.EMULATED else []
        trace = run.scaler()
        collapsed = trace is not None and trace.state is Scaler.COLLAPSED
        ended = run.ended == "not_finite"
        judged = judge(run.losses, references, twins, skipped=run.skipped, collapsed=collapsed, ended=ended)
        if judged.why == "short" and run.ended in SHORTENED:
            judged = replace(judged, why=SHORTENED[run.ended])
        make = self._make()
        yield from self.course.tell(*make.losses(run, flags), make.verdict(run, judged, flags, trace))
        yield from self._tell_look(run)

    def _without_run(self, precision: Precision, result: Attempt | None) -> Plan:
        """The verdict on a format whose run gave nothing; none where nothing is known."""
        why = next((why for kind, why in WITHOUT_RUN.items() if isinstance(result, kind)), None)
        if why is not None:
            run = Run(precision=precision, batch=self._batch, draw=0, losses=(), steps=(), notes={})
            judged = Judgement(verdict=Verdict.UNDECIDED, why=why, steps=0)
            yield from self.course.tell(self._make().verdict(run, judged, (), None))

    def _run(
        self, precision: Precision, draw: int, steps: int, limit_s: float, label: str, twin: int = 0
    ) -> Generator[Step, StepResult, tuple[Attempt, Run | None]]:
        """One run; None where it did not come back with steps or facts."""
        spec = NumericsSpec(
            training=self._subject.make(self._batch, precision, False),
            steps=steps,
            batches=TURN,
            draw=draw,
            twin=twin,
        )
        limit_s = max(LEAST_BUDGET_S, limit_s)
        work = Work(
            label=label,
            workload=spec.workload,
            params=spec.params(),
            measure_s=limit_s,
            budget_s=limit_s,
            size_param="batch",
        )
        result = yield from self.course.attempt(work, limit_s + SETUP_S)
        if not isinstance(result, Done) or not result.trials:
            return result, None
        return result, run_of(result.trials[0], precision, self._batch, draw)

    def _limit_s(self, known: Run, slower: float = 1.0) -> float:
        """Seconds for the steps of the next run, with room; never more than its share of what is left.

        The fewest steps that carry a verdict may take longer than that: cards get slower as they get warm.
        """
        step_s = SLACK * slower * (known.step_s or 0.0)
        share = self._to_come[0] / sum(self._to_come)
        self._to_come = self._to_come[1:]
        least_s = min(LEAST_STEPS, self._steps) * step_s + LOOKS_S
        if slower > 1.0:  # how long it takes is a guess
            least_s = LEAST_BUDGET_S
        return min(self._steps * step_s + LOOKS_S, max(least_s, share * self.course.left_s - SETUP_S))

    def _make(self) -> NumericsPoints:
        simulated = self._context.card.origin is Origin.SIMULATED
        return NumericsPoints(self.course.make, STAND_IN if simulated else self._subject.name, self._batch)

    def _tell_look(self, run: Run) -> Plan:
        """What a run's forward passes looked like, once for each format."""
        if run.precision not in self._looked:
            self._looked.add(run.precision)
            yield from self.course.tell(*self._make().looked_at(run))

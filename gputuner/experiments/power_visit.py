"""One visit of a setting: the load in pieces until power and temperature rest, the last of which is measured."""

from collections.abc import Generator
from dataclasses import dataclass, replace

from gputuner.analysis.power_curve import Visit
from gputuner.experiments.contention_jobs import Job
from gputuner.experiments.course import Course
from gputuner.experiments.points import ENERGY_WINDOW_S
from gputuner.experiments.power_dial import Dial, slopes
from gputuner.experiments.power_points import visit_of, visit_points
from gputuner.model.steps import Done, OutOfMemory, Step, StepResult, UserCodeFailed, Work

CHUNK_S = ENERGY_WINDOW_S + 1.0
WARM_S = 1.0
OVERHEAD_S = 1.5
LEAST_COST_S = CHUNK_S + WARM_S + OVERHEAD_S
"""Of a visit with one piece."""
MOST_CHUNKS = 4
POWER_RESTS, HEAT_RESTS = 0.0025, 0.1
"""Settled: power moves by less than 0.25 % a second, the core by less than 0.1 K/s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visited:
    """A visit with what was measured in it."""

    visit: Visit
    done: Done
    settled: bool


class Visitor:
    """Measures a load at settings that somebody else sets."""

    def __init__(self, course: Course, job: Job, dial: Dial, *, null: bool) -> None:
        """``null``: its figures are of a null check."""
        self._course, self._job, self._dial, self._null = course, job, dial, null

    def visit(self, setting: float, number: int, chunks: int) -> Generator[Step, StepResult, Visited | None]:
        """Load until it rests, at most ``chunks`` pieces; tells rate and energy of the last. None: it gave nothing."""
        course, work = self._course, self._work(setting)
        last: Done | None = None
        settled = False
        for piece in range(max(1, chunks)):
            if piece and not course.fits(LEAST_COST_S):
                break
            result = yield from course.attempt(work, LEAST_COST_S)
            if not isinstance(result, Done) or not result.trials or not result.trials[0].iteration_s:
                yield from self._failed(result)
                return None
            last, trial = result, result.trials[0]
            power, heat = slopes(result.samples, trial.t0_ns, trial.t1_ns)
            settled = (power is None or power < POWER_RESTS) and (heat is None or heat < HEAT_RESTS)
            if settled:
                break
        assert last is not None
        found = visit_of(setting, last.trials[0], last.conditions)
        yield from course.tell(
            *visit_points(course, self._job, self._dial, setting, number, last, settled=settled, null=self._null)
        )
        return Visited(visit=found, done=last, settled=settled)

    def _work(self, setting: float) -> Work:
        work = self._job.work("power_visit", CHUNK_S, warmup_s=WARM_S)
        return replace(work, traced=True)

    def _failed(self, result: object) -> Generator[Step, StepResult, None]:
        match result:
            case OutOfMemory(free_bytes=free, needed_bytes=needed):
                told = {"free_bytes": free, "needed_bytes": needed}
                short = {name: count for name, count in told.items() if count is not None}
                yield from self._course.warn("does_not_fit", workload=self._job.name, batch=self._job.batch, **short)
            case UserCodeFailed(message=message):
                yield from self._course.warn("workload_failed", workload=self._job.name, message=message)
            case _:
                pass

"""Drive a plan: one step after the other, each outcome sent back, until the plan ends or the run must."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from gputuner.engine.loop import Interrupted, Loop
from gputuner.engine.progress import Progress
from gputuner.engine.settings import Settings
from gputuner.engine.trials import Trials
from gputuner.model.events import (
    AdviceGiven,
    PointMeasured,
    StepFinished,
    StepProgressed,
    StepStarted,
    Warned,
)
from gputuner.model.points import Flag, Point
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Scalar
from gputuner.model.samples import Sample
from gputuner.model.steps import (
    Advise,
    Cancelled,
    Done,
    Follow,
    Followed,
    Lost,
    OutOfMemory,
    Plan,
    Refused,
    Report,
    Set,
    Settle,
    Step,
    StepResult,
    Stopped,
    Together,
    Total,
    UserCodeFailed,
    Warn,
    Watch,
    Work,
    told_params,
)

SETTLED_C = 0.5
SETTLED_OVER_S = 5.0
RESULT_NAMES: dict[type[StepResult], str] = {
    Done: "done",
    Refused: "refused",
    Followed: "done",
    OutOfMemory: "out_of_memory",
    UserCodeFailed: "user_code_failed",
    Lost: "lost",
    Stopped: "stopped",
    Cancelled: "cancelled",
}


class Performer:
    """Performs the steps of one plan. It knows how, never why."""

    def __init__(
        self,
        loop: Loop,
        trials: Trials | None,
        tell: Callable[..., None],
        shared: bool,
        follow: Callable[[], StepResult] | None = None,
        settings: Settings | None = None,
    ) -> None:
        """``tell(EventClass, **fields)`` stores and passes on; ``shared`` marks every point.

        ``follow`` follows the user's command. ``settings`` changes what a plan sets.
        """
        self._settings = settings
        self._loop = loop
        self._trials = trials
        self._tell = tell
        self._shared = shared
        self._follow = follow
        self._index = 0
        self._total, self._total_known = 0, True
        self._end_ns: int | None = None
        self._label, self._expected_s = "", 0.0
        self._traced_ns: int | None = None
        """Up to when the card's samples were given to the plan."""
        if trials is not None:
            trials.progressed = self._progressed

    def perform(self, plan: Plan) -> Stopped | Cancelled | None:
        """Run the plan to its end (None), or to what interrupted it; the plan is closed either way."""
        result: StepResult | None = None
        try:
            step = next(plan)
            while True:
                result = self._step(step)
                if isinstance(result, (Stopped, Cancelled)):
                    return result
                step = plan.send(result)
        except StopIteration:
            return None
        finally:
            plan.close()

    def _step(self, step: Step) -> StepResult:
        match step:
            case Work():
                work = self._traced(step, lambda: self._work(step))
                return self._timed(step.label, step.params, _expected_s(step), work)
            case Together():
                expected_s = max(_expected_s(work) for work in step.works)
                return self._timed(step.label, _params(step), expected_s, lambda: self._work(step))
            case Set():
                return Refused(code="control_not_offered") if self._settings is None else self._settings.apply(step)
            case Settle():
                return self._timed(step.label, {}, step.at_most_s, lambda: self._settle(step.at_most_s))
            case Watch():
                watch = self._traced(step, lambda: self._watch(step.duration_s))
                return self._timed(step.label, {}, step.duration_s or 0.0, watch)
            case Follow():
                assert self._follow is not None, "there is no command to follow"
                return self._timed(step.label, {}, 0.0, self._follow)
            case Report():
                for point in step.points:
                    self._tell(PointMeasured, point=self._marked(point))
            case Advise():
                self._tell(AdviceGiven, advice=step.advice, questions=step.questions)
            case Warn():
                self._tell(Warned, code=step.code, params=step.params)
            case Total():
                self._total, self._total_known = self._index + step.steps, step.known
                self._end_ns = self._loop.now_ns() + int(step.expected_s * 1e9)
        return Done()

    def _marked(self, point: Point) -> Point:
        if self._shared and Flag.SHARED not in point.flags:
            return replace(point, flags=(*point.flags, Flag.SHARED))
        return point

    def _timed(
        self, label: str, params: dict[str, Scalar], expected_s: float, act: Callable[[], StepResult]
    ) -> StepResult:
        self._index += 1
        self._label, self._expected_s = label, expected_s
        self._tell(
            StepStarted,
            index=self._index,
            total=max(self._total, self._index),
            label=label,
            params=told_params(params),
            expected_s=expected_s,
            remaining_s=self._remaining_s(expected_s),
            total_known=self._total_known and self._index <= self._total,
        )
        try:
            result = act()
        except Interrupted as interrupted:
            result = interrupted.result
        self._tell(
            StepFinished,
            index=self._index,
            label=label,
            result=RESULT_NAMES[type(result)],
            message=_message(result),
        )
        return result

    def _progressed(self, progress: Progress) -> None:
        self._tell(
            StepProgressed,
            index=self._index,
            label=self._label,
            phase=progress.phase,
            done_s=progress.done_s,
            left_s=progress.left_s,
            remaining_s=self._remaining_s(self._expected_s if progress.left_s is None else progress.left_s),
            done=progress.done,
            of=progress.of,
        )

    def _remaining_s(self, step_s: float) -> float:
        """Seconds of the whole run that are left: at least those of the step in hand, however late the run is."""
        return step_s if self._end_ns is None else max(step_s, (self._end_ns - self._loop.now_ns()) / 1e9)

    def _work(self, step: Work | Together) -> StepResult:
        assert self._trials is not None, "an experiment that yields work must say needs_worker"
        return self._trials.run(step)

    def _traced(self, step: Work | Watch, act: Callable[[], StepResult]) -> Callable[[], StepResult]:
        """``act`` with the card's samples in its outcome, where the step asks for them."""
        if not step.traced:
            return act

        def traced() -> StepResult:
            if self._traced_ns is None:
                self._traced_ns = self._loop.now_ns()
            result, since_ns = act(), self._traced_ns
            self._traced_ns = self._loop.now_ns()
            if not isinstance(result, Done):
                return result
            own = tuple(s for s in self._loop.samples if since_ns < s.t_ns <= self._traced_ns)
            return replace(result, samples=own)

        return traced

    def _watch(self, duration_s: float | None) -> StepResult:
        forever_ns = 2**62
        self._loop.pause(forever_ns if duration_s is None else self._loop.now_ns() + int(duration_s * 1e9))
        return Done()

    def _settle(self, at_most_s: float) -> StepResult:
        start_ns = self._loop.now_ns()
        until_ns = start_ns + int(at_most_s * 1e9)
        while (now_ns := self._loop.now_ns()) < until_ns and not _settled(self._loop.samples, now_ns):
            self._progressed(
                Progress(phase="settle", done_s=(now_ns - start_ns) / 1e9, left_s=(until_ns - now_ns) / 1e9)
            )
            self._loop.pause(min(until_ns, now_ns + 10**9))
        return Done()


def _settled(samples: Sequence[Sample], now_ns: int) -> bool:
    window = [
        s.values[Quantity.CORE_TEMPERATURE_C]
        for s in samples
        if s.t_ns >= now_ns - SETTLED_OVER_S * 1e9 and Quantity.CORE_TEMPERATURE_C in s.values
    ]
    covers = bool(samples) and samples[0].t_ns <= now_ns - SETTLED_OVER_S * 1e9
    return covers and len(window) >= 3 and max(window) - min(window) <= SETTLED_C


def _params(step: Together) -> dict[str, Scalar]:
    """What is told of jobs at once: the first one's params, how many they are, and the mode where it is not usual."""
    mode: dict[str, Scalar] = {} if step.mode == "processes" else {"mode": step.mode}
    return {**step.works[0].params, "jobs": len(step.works), **mode}


def _expected_s(work: Work) -> float:
    return work.idle_before_s + work.measure_s + (work.warmup_s or 0.0)


def _message(result: StepResult) -> str:
    match result:
        case OutOfMemory() | UserCodeFailed() | Lost():
            return result.message[:500]
        case Stopped():
            return result.trigger
        case _:
            return ""

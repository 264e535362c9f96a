"""How a run of benchmarks ends: which gave a figure, which failed and why, and the error that fits where none did."""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace

from gputuner.analysis.headlines import benchmark_of
from gputuner.experiments.benchmarks.benchmark import Steps, Unavailable
from gputuner.experiments.course import Course
from gputuner.experiments.relay import relayed
from gputuner.model.errors import DeviceError, DoesNotFit, ExitCode, GputunerError, NotSupported, UsageError
from gputuner.model.points import Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Lost, Report, Step, StepResult, Warn, Work

FAILED = "benchmarks_failed"
"""Code of the error of a run none of whose benchmarks gave a figure."""
TIME_SHORT = "time_short"
"""Left out: the budget of the run does not reach so far."""
_REASONS: dict[str, ExitCode] = {
    "wrong_result": ExitCode.CHECK_FAILED,
    "out_of_memory": ExitCode.DOES_NOT_FIT,
    "memory_too_small": ExitCode.DOES_NOT_FIT,
    "host_memory": ExitCode.DOES_NOT_FIT,
    "shared_memory": ExitCode.DOES_NOT_FIT,
    "capability_missing": ExitCode.NO_CARD,
    "chip_lacks": ExitCode.NO_CARD,
    "cores": ExitCode.NO_CARD,
    "extra_missing": ExitCode.NO_CARD,
    "gpu_only": ExitCode.NO_CARD,
    "needs_fork": ExitCode.NO_CARD,
    "needs_two_cards": ExitCode.NO_CARD,
    "no_peer": ExitCode.NO_CARD,
    "one_card": ExitCode.NO_CARD,
    "out_of_time": ExitCode.NO_CARD,
    "package_missing": ExitCode.NO_CARD,
    "peer_busy": ExitCode.NO_CARD,
    "too_slow_on_cpu": ExitCode.NO_CARD,
    "unsupported": ExitCode.NO_CARD,
    TIME_SHORT: ExitCode.USAGE,
}
"""What a reason means for the command line; any other is a failure of card, driver or worker."""
_GRAVEST = (ExitCode.DEVICE, ExitCode.CHECK_FAILED, ExitCode.DOES_NOT_FIT, ExitCode.USAGE, ExitCode.NO_CARD)
"""Of several failures the first of these speaks for the run."""


class WrongResult(GputunerError):
    """What was computed is wrong."""

    exit_code = ExitCode.CHECK_FAILED


_ERRORS: dict[ExitCode, type[GputunerError]] = {
    ExitCode.DEVICE: DeviceError,
    ExitCode.CHECK_FAILED: WrongResult,
    ExitCode.DOES_NOT_FIT: DoesNotFit,
    ExitCode.NO_CARD: NotSupported,
    ExitCode.USAGE: UsageError,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a benchmark, or one setting of it, gave no figure (words in ``language/benchmarks.py``)."""

    benchmark: str
    reason: str
    params: dict[str, Scalar] = field(default_factory=lambda: {})

    @property
    def exit_code(self) -> ExitCode:
        """What it means for the command line."""
        return _REASONS.get(self.reason, ExitCode.DEVICE)

    @property
    def grave(self) -> bool:
        """Whether something went wrong; not what was never possible here, nor a lack of time."""
        return self.exit_code not in (ExitCode.NO_CARD, ExitCode.USAGE)


def failure_of(code: str, params: Mapping[str, Scalar]) -> Failure | None:
    """The failure that a warning tells; None: it tells of something else."""
    match code:
        case "benchmark_failed" | "benchmark_gap" | "benchmark_unavailable":
            reason = str(params.get("reason"))
        case "benchmark_skipped":
            reason = TIME_SHORT
        case _:
            return None
    rest = {name: value for name, value in params.items() if name not in ("benchmark", "reason")}
    return Failure(benchmark=str(params.get("benchmark")), reason=reason, params=rest)


def gravest(failures: Iterable[Failure]) -> Failure | None:
    """The one that speaks for all; None: there is none."""
    return min(failures, key=lambda each: _GRAVEST.index(each.exit_code), default=None)


def settled(points: Iterable[Point]) -> set[str]:
    """Benchmarks with a figure that is not just one on the way to another."""
    return {benchmark_of(point) for point in points if point.params.get("phase") != "search"}


class Outcomes:
    """Listens to the benchmarks of a run."""

    def __init__(self) -> None:
        """Nothing has run."""
        self._settled: set[str] = set()
        self._failures: list[Failure] = []
        self._lost = False

    def heard(self, steps: Steps) -> Steps:
        """The same steps."""
        return relayed(steps, self._hear)

    def _hear(self, step: Step) -> Generator[Step, StepResult, StepResult]:
        if isinstance(step, Report):
            self._settled |= settled(step.points)
        if isinstance(step, Warn) and (failure := failure_of(step.code, step.params)) is not None:
            self._failures.append(failure)
        result = yield step
        if isinstance(step, Work):
            self._lost = isinstance(result, Lost)
        return result

    def left_out(self, benchmark: str, why: Unavailable) -> None:
        """One that cannot run here."""
        self._failures.append(Failure(benchmark=benchmark, reason=why.code, params=dict(why.params)))

    def cut_short(self) -> None:
        """The run ends here: one worker after the other was lost, or it was ended from outside.

        Raises:
            DeviceError: workers were lost.
        """
        if self._lost:
            raise DeviceError("benchmarks_lost", "one worker after the other was lost")

    def ended(self) -> None:
        """All were tried.

        Raises:
            GputunerError: none gave a figure; of the kind that fits the gravest failure.
        """
        failure = gravest(self._failures)
        if self._settled or failure is None:
            return
        text = f"{failure.benchmark}: {failure.reason}"
        told: dict[str, Scalar] = {**failure.params, "benchmark": failure.benchmark, "reason": failure.reason}
        raise _ERRORS[failure.exit_code](FAILED, text, **told)


def tried_again(course: Course, steps: Steps) -> Steps:
    """The same steps; a work whose worker dies is tried once more in a fresh process (one that hangs is not)."""

    def act(step: Step) -> Generator[Step, StepResult, StepResult]:
        result = yield step
        if isinstance(step, Work) and isinstance(result, Lost) and not result.hung:
            yield from course.warn("worker_lost", label=step.label, message=result.message)
            result = yield replace(step, fresh=True)
        return result

    return relayed(steps, act)

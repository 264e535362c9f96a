"""Why a trial gave no figure, told in one way by all benchmarks (words in ``language/benchmarks.py``)."""

from gputuner.experiments.benchmarks.benchmark import Steps
from gputuner.experiments.course import Attempt, Course
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Lost, OutOfMemory, UserCodeFailed


def reason_of(result: Attempt, *, hung: str = "lost") -> str:
    """The code of the reason.

    Args:
        result: a trial's outcome without a figure; ``Done`` means that nothing was timed.
        hung: what to tell where the worker did not answer in time.
    """
    match result:
        case UserCodeFailed(reason=reason):
            return reason
        case OutOfMemory():
            return "out_of_memory"
        case Lost():
            return hung if result.hung else "lost"
        case Done():
            return "nothing_measured"


def failed(course: Course, benchmark: str, result: Attempt, *, hung: str = "lost", **more: Scalar) -> Steps:
    """Warn that ``benchmark`` gave no figure, and why; ``more`` says of which setting."""
    message = "" if isinstance(result, Done) else result.message
    reason = reason_of(result, hung=hung)
    yield from course.warn("benchmark_failed", benchmark=benchmark, reason=reason, message=message, **more)

"""Run a survey and hand back what was measured; what was not is told with its reason."""

from collections.abc import Generator
from dataclasses import replace

from gputuner.experiments.benchmarks.failed import failed
from gputuner.experiments.benchmarks.peers import peers_of
from gputuner.experiments.course import Course
from gputuner.model.points import Conditions
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Part, PeerSeen, Step, StepResult, Work

SETUP_S = 3.0
Measured = tuple[Part, Conditions | None]
MeasuredTogether = tuple[Part, Conditions | None, tuple[PeerSeen, ...]]
PARTICULARS = frozenset({"needs_bytes", "free_bytes", "cores", "expected_iteration_s", "message"})
"""What a gap says beside its reason."""


def surveyed(
    course: Course, benchmark: str, work: Work, *, hung: str = "lost"
) -> Generator[Step, StepResult, tuple[Measured, ...]]:
    """The parts of ``work`` with their conditions; gaps and failures are told, and leave none.

    Args:
        course: the run's course.
        benchmark: name of the benchmark.
        work: the survey.
        hung: reason to tell where the worker did not answer in time.
    """
    parts = yield from surveyed_together(course, benchmark, work, hung=hung)
    return tuple((part, conditions) for part, conditions, _ in parts)


def surveyed_together(
    course: Course, benchmark: str, work: Work, *, hung: str = "lost"
) -> Generator[Step, StepResult, tuple[MeasuredTogether, ...]]:
    """The same of a work with ``peers``: each part with what those did meanwhile too."""
    result = yield from course.attempt(work, SETUP_S + work.measure_s)
    if isinstance(result, Done):
        return (yield from _parts(course, benchmark, result))
    yield from failed(course, benchmark, result, hung=hung)
    return ()


def _parts(course: Course, benchmark: str, done: Done) -> Generator[Step, StepResult, tuple[MeasuredTogether, ...]]:
    found: list[MeasuredTogether] = []
    gaps = 0
    parts = done.trials[0].parts if done.trials else ()
    for place, part in enumerate(parts):
        if part.iteration_s:
            own = done.part_conditions[place] if place < len(done.part_conditions) else None
            found.append((part, _with_link(own, done.conditions), peers_of(done, place)))
            continue
        gaps += 1
        told: dict[str, Scalar] = {name: part.notes[name] for name in part.notes if name in PARTICULARS}
        yield from course.warn(
            "benchmark_gap",
            benchmark=benchmark,
            setting=" ".join(str(value) for value in part.params.values() if not isinstance(value, bool)),
            reason=str(part.notes.get("gap", "nothing_measured")),
            **told,
        )
    if not found and not gaps:
        yield from failed(course, benchmark, done)
    return tuple(found)


def _with_link(own: Conditions | None, whole: Conditions | None) -> Conditions | None:
    """A part's conditions; the link, which is read seldom, from the whole survey where its own window lacks it."""
    if own is None or whole is None or own.pcie_generation is not None:
        return own
    return replace(own, pcie_generation=whole.pcie_generation, pcie_width=whole.pcie_width)

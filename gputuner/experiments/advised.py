"""The end of a plan: what is advised from all that it told."""

from gputuner.advice.evidence import TUNE, Evidence
from gputuner.advice.rules import advise
from gputuner.experiments.course import Course
from gputuner.model.points import Point
from gputuner.model.steps import Advise


def advised(
    course: Course,
    *,
    command: str = TUNE,
    points: tuple[Point, ...] | None = None,
    threads: int | None = None,
    effective_batch: int = 0,
) -> Advise:
    """Advice and questions from a course's figures.

    Args:
        course: what was told, on which card, beside which processes.
        command: what asks the same again.
        points: only these; None: all.
        threads: as of ``Evidence``.
        effective_batch: samples per optimizer step; 0: nobody said.
    """
    evidence = evidence_of(course, command=command, points=points, threads=threads, effective_batch=effective_batch)
    advice, questions = advise(evidence)
    return Advise(advice=advice, questions=questions)


def evidence_of(
    course: Course,
    *,
    command: str = TUNE,
    points: tuple[Point, ...] | None = None,
    threads: int | None = None,
    effective_batch: int = 0,
) -> Evidence:
    """What the rules judge from, of a course so far; arguments as of ``advised``."""
    context = course.context
    return Evidence(
        card=context.card,
        points=tuple(course.points) if points is None else points,
        processes=context.processes,
        fingerprint=context.fingerprint,
        threads=threads,
        effective_batch=effective_batch or None,
        command=command,
        record=context.record,
    )

"""What is known of caps without setting any: this run's draw against the limit, and stored sessions at other limits."""

from collections.abc import Generator, Sequence
from math import ceil
from typing import TYPE_CHECKING

from gputuner.analysis.limits import share
from gputuner.analysis.power import Estimate, answers
from gputuner.analysis.power_curve import fit_curve
from gputuner.experiments.contention_jobs import Job
from gputuner.experiments.course import Course
from gputuner.experiments.power_dial import Dial
from gputuner.experiments.power_points import PASSIVE, answer_points, plateau_point, stored_points
from gputuner.experiments.power_visit import Visited
from gputuner.model.quantities import Limiter, Quantity
from gputuner.model.steps import Step, StepResult

if TYPE_CHECKING:
    from gputuner.experiments.power import Power

HEADROOM = 1.05
"""Above the highest reading: readings are means over some time, and a cap acts on less."""
HELD_AT_MOST = 0.001
"""Share of the time in a power limit that is none."""
LEAST_SETTINGS = 3
"""Different limits in stored sessions that make a curve."""


def tell_passive(
    course: Course, spec: "Power", job: Job, dial: Dial, visits: Sequence[Visited]
) -> Generator[Step, StepResult, None]:
    """Tell what can be told: a cap above all that is drawn costs nothing; a curve, if sessions ran at other limits."""
    stored = [each for each in spec.stored if each.holds(job.name, job.params(), course.context)]
    if dial.by_clock or dial.high <= 0:
        stored = []
    yield from course.tell(*stored_points(course, job, dial, stored))
    known = [each.visit for each in visits] + [each.visit for each in stored]
    if len({visit.setting for visit in known}) >= LEAST_SETTINGS:
        found = answers(fit_curve(known, spec.seed), spec.loss / 100.0, grain=dial.grain)
        sessions = len({each.session for each in stored})
        points = answer_points(course, spec, job, dial, found, PASSIVE, stored_sessions=sessions)
        yield from course.tell(*points)
        return
    peak = highest_draw(visits)
    standing = dial.found
    if dial.by_clock or peak is None or standing is None or _held(visits):
        return
    cap = float(ceil(max(HEADROOM * peak, dial.low)))
    if cap < standing:
        yield from course.tell(
            plateau_point(course, job, dial, Estimate(value=cap, low=peak, high=cap), PASSIVE, peak_w=peak)
        )


def highest_draw(visits: Sequence[Visited]) -> float | None:
    """The highest power reading of all visits, W."""
    return max(
        (
            sample.values[quantity]
            for each in visits
            for sample in each.done.samples
            for quantity in (Quantity.POWER_INSTANT_W, Quantity.POWER_AVERAGE_W)
            if quantity in sample.values
        ),
        default=None,
    )


def _held(visits: Sequence[Visited]) -> bool:
    """Whether a power limit held the load back at any time, or that is not told."""
    windows = [each.done.conditions for each in visits if each.done.conditions is not None]
    if not windows or not all(window.limited_s for window in windows):
        return True
    return any(share(window, Limiter.POWER, Limiter.POWER_BRAKE) > HELD_AT_MOST for window in windows)

"""Which batch needs the least energy per sample: measured at the fastest batch, at half and at twice (methods §4).

The card's energy is told for windows of at least 5 s, so each size is measured anew for longer than that.
"""

from collections.abc import Generator

from gputuner.analysis.throughput import least_energy
from gputuner.experiments.course import Course
from gputuner.experiments.points import ENERGY_WINDOW_S
from gputuner.experiments.trained import Setting, Trained, probe, probe_cost
from gputuner.experiments.tune_shape import Shape
from gputuner.model.points import Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Step, StepResult

MEASURE_S = ENERGY_WINDOW_S + 1.0
PHASE = "energy"


def energy(
    course: Course, shape: Shape, known: Trained, setting: Setting, fastest: int, most: int
) -> Generator[Step, StepResult, None]:
    """Measure and tell; ends early where the card reports no energy, or the time is short.

    Args:
        course: the run's course.
        shape: what is measured and for how long.
        known: rates so far.
        setting: format and layout.
        fastest: the fastest batch.
        most: the largest batch that may be recommended.
    """
    joules: dict[int, float] = {}
    for batch in dict.fromkeys((fastest, max(known.least, fastest // 2), min(2 * fastest, most))):
        cost = probe_cost(shape, known, setting, batch) + MEASURE_S
        if batch > most or not course.fits(cost):
            break
        result = yield from probe(
            course, shape, known, setting, batch, label="train_energy", phase=PHASE, measure_s=MEASURE_S
        )
        point = course.points[-1] if course.points else None
        if not isinstance(result, Done) or point is None or point.params.get("phase") != PHASE:
            break
        spent = point.extra.get("joules_per_unit")
        if not isinstance(spent, int | float):
            break
        joules[batch] = float(spent)
    if len(joules) > 1:
        yield from course.tell(_point(course, shape, setting, joules))


def _point(course: Course, shape: Shape, setting: Setting, joules: dict[int, float]) -> Point:
    found = least_energy(joules)
    extra: dict[str, Scalar] = {
        "joules_per_sample": found.rate,
        "low": found.low,
        "high": found.high,
        "measured": len(joules),
    }
    return course.make.figure(
        "batch_least_energy", shape.subject.name, float(found.batch), "samples", setting.named(), extra=extra
    )

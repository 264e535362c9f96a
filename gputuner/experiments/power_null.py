"""``power --null``: the same setting visited as if it were many: how often is a fall or a loss seen that is none?"""

from collections.abc import Sequence
from itertools import combinations
from math import log
from random import Random
from statistics import median

from gputuner.analysis.power import SAME_RATE
from gputuner.analysis.power_curve import Visit, fit_curve
from gputuner.experiments.contention_jobs import Job
from gputuner.experiments.course import Course
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

SHUFFLES = 100
SETTINGS = (100.0, 110.0, 120.0, 130.0)
"""Names that equal visits are given."""


def null_point(course: Course, job: Job, rates: Sequence[float]) -> Point | None:
    """Median difference between equal visits, and how often a fall above some setting is called in them."""
    if len(rates) < 4:
        return None
    apart = [abs(log(a / b)) for a, b in combinations(rates, 2)]
    extra: dict[str, Scalar] = {
        "benchmark": job.label,
        "pairs": len(apart),
        "false_difference_rate": false_falls(rates),
        "largest": max(apart),
        "beyond_same": sum(each > SAME_RATE for each in apart) / len(apart),
    }
    return course.make.figure("null_difference", job.name, median(apart), "fraction", job.params(), extra=extra)


def false_falls(rates: Sequence[float], seed: int = 0) -> float:
    """Share of random sweeps made of equal visits, two of each setting, in which a fall is called."""
    random = Random(seed)
    called = 0
    count = min(len(SETTINGS), len(rates) // 2)
    for _ in range(SHUFFLES):
        drawn = random.sample(list(rates), 2 * count)
        visits = [Visit(setting=SETTINGS[place // 2], rate=rate) for place, rate in enumerate(drawn)]
        called += fit_curve(visits, draws=1).falls_above is not None
    return called / SHUFFLES

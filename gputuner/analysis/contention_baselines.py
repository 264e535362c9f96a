"""What a mix is held against beside one after the other: each job alone as its owner should run it, and the energy.

Units: the work of a mix is counted in what each job does alone per second at its own batch, so that together the gain
G = Σ 1/s is done per second (s: slowdowns) and 1 one after the other (methods §6).
"""

from collections.abc import Sequence

import numpy as np

from gputuner.analysis.contention import aggregate_gain
from gputuner.model.points import Conditions
from gputuner.model.steps import Trial

LEAST_ENERGY_S = 5.0
"""Energy is told for windows of at least this length (methods §4)."""


def alone_tuned(slowdowns: Sequence[float], tuned: Sequence[float]) -> float:
    """Work per second, one after the other, each at its own tuned batch: G / Σ 1/(s·t).

    ``tuned`` holds for each job the rate at its tuned batch over that at its own (t ≥ 1). The jobs are done in the
    proportion in which they run together; of equal jobs this is t itself.
    """
    return aggregate_gain(slowdowns) / sum(1.0 / (s * t) for s, t in zip(slowdowns, tuned, strict=True))


def energy_ratio(
    slowdowns: Sequence[float], alone: Sequence[Conditions | None], beside: Conditions | None
) -> float | None:
    """Energy for the same work together over one after the other: P / Σ (p/s) of mean powers; None: not known.

    In a second together job i does 1/s of what it does alone in a second, for which it alone would draw p/s.
    """
    together_w = mean_power_w(beside)
    alone_w = [mean_power_w(each) for each in alone]
    known = [watts / s for watts, s in zip(alone_w, slowdowns, strict=True) if watts is not None]
    if together_w is None or len(known) < len(alone) or not known or sum(known) <= 0:
        return None
    return together_w / sum(known)


def mean_power_w(of: Conditions | None) -> float | None:
    """Mean power of a window, W: from the energy counter where it is long enough, else from the samples."""
    if of is None:
        return None
    if of.energy_j is not None and of.duration_s >= LEAST_ENERGY_S:
        return of.energy_j / of.duration_s
    return of.power_w


def ratio(above: float | None, below: float | None) -> float | None:
    """``above`` / ``below``; None where one of them is unknown or nothing."""
    return above / below if above and below else None


def clock_factor(alone: Conditions | None, beside: Conditions | None) -> float | None:
    """How many times as fast the SM clock ran alone: the part of a slowdown that two jobs' draw explains."""
    return ratio(alone.sm_clock_mhz if alone else None, beside.sm_clock_mhz if beside else None)


def step_quantile(steps: Sequence[float], share: float) -> float:
    """The step time, s, that ``share`` (0…1) of ``steps`` do not exceed.

    Raises:
        ValueError: no steps.
    """
    if not steps:
        raise ValueError("no steps")
    return float(np.quantile(np.asarray(steps, dtype=np.float64), share))


def p95_over_median(trial: Trial) -> float | None:
    """Spread of a trial's step times: 95 % quantile over median; None without steps."""
    return step_quantile(trial.iteration_s, 0.95) / step_quantile(trial.iteration_s, 0.5) if trial.iteration_s else None

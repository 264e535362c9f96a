"""Rate and energy over the settings of a sweep: what heat did taken out, shape tested, and draws for intervals.

Methods §8: monotonicity is tested first. A rate that falls above some cap is told, not smoothed over.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log, sqrt

import numpy as np

from gputuner.analysis.distributions import student_quantile
from gputuner.analysis.power_shape import Array, Indices, isotonic, up_down

USUAL_SPREAD, USUAL_WEIGHT = 0.003, 4.0
"""How far equal visits differ (relative), as a prior worth so many degrees of freedom: few visits tell little of it."""
LEAST_FALL = 0.01
"""A rate that falls by less is not told as falling …"""
FALSE_FALL = 0.01
"""… and chance may say so once in a hundred sweeps that do not."""
LEAST_MOVE_K2 = 12.0
"""Sum of squared departures from the usual temperature (K²) below which nothing is said of its effect."""
MOST_PER_K = 0.01
"""No card loses more of its rate for a kelvin."""
DRAWS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What was measured at one setting, once. ``setting``: W, or MHz of a clock lock."""

    setting: float
    rate: float
    """Samples/s."""
    joules: float | None = None
    """Per sample."""
    draw_w: float | None = None
    temperature_c: float | None = None
    heat_share: float = 0.0
    """Share of the time in a thermal limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """One figure over the settings, in logarithms: means, the fit, and ``draws`` of the fit for intervals.

    Arrays have shape (n,), draws (rows, n).
    """

    means: Array = field(compare=False)
    fit: Array = field(compare=False)
    draws: Array = field(compare=False)
    raw_draws: Array = field(compare=False)
    spread: float
    """Relative standard deviation of one visit."""
    freedom: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A sweep, fitted."""

    settings: Array = field(compare=False)
    visits: Array = field(compare=False)
    """How many at each setting."""
    rate: Fitted
    energy: Fitted | None
    """None: not known at every setting."""
    draw_w: Array | None = field(compare=False)
    temperature_c: Array | None = field(compare=False)
    heat_share: Array = field(compare=False)
    falls_above: float | None
    """The rate falls above this setting; None: no fall was shown."""
    per_k: float
    """Relative change of the rate for a kelvin, as taken out of it; 0: none was shown."""


def fit_curve(visits: Sequence[Visit], seed: int = 0, draws: int = DRAWS) -> Curve:
    """The curve of a sweep.

    Args:
        visits: at least two settings; usually two visits of each.
        seed: of the draws.
        draws: how many, for intervals.

    Raises:
        ValueError: fewer than two settings.
    """
    settings = sorted({visit.setting for visit in visits})
    if len(settings) < 2:
        raise ValueError("a curve needs two settings")
    index = np.array([settings.index(visit.setting) for visit in visits])
    counts = np.bincount(index, minlength=len(settings)).astype(np.float64)
    per_k = heat_effect(visits)
    logs = np.array([log(visit.rate) for visit in visits]) - per_k * _departures(visits)
    rng = np.random.default_rng(seed)
    spread, freedom = _spread(logs, index, counts)
    means = _means(logs, index, counts)
    falls = _falls(means, counts, spread, freedom)
    rate = _fitted(means, counts, spread, freedom, falling=falls is not None, rng=rng, draws=draws)
    return Curve(
        settings=np.array(settings),
        visits=counts,
        rate=rate,
        energy=_energy(visits, index, counts, rng, draws),
        draw_w=_mean_of([visit.draw_w for visit in visits], index, counts),
        temperature_c=_mean_of([visit.temperature_c for visit in visits], index, counts),
        heat_share=_means(np.array([visit.heat_share for visit in visits]), index, counts),
        falls_above=None if falls is None else settings[falls],
        per_k=per_k,
    )


def heat_effect(visits: Sequence[Visit]) -> float:
    """Relative change of the rate for a kelvin that a visit was warmer than usual at its draw; 0 where none is shown.

    From the differences between visits of one setting: setting and heat are apart in them.
    """
    departures = _departures(visits)
    logs = np.array([log(visit.rate) for visit in visits])
    settings = np.array([visit.setting for visit in visits])
    own = np.array([np.mean(departures[settings == each]) for each in settings])
    rates = logs - np.array([np.mean(logs[settings == each]) for each in settings])
    moved = departures - own
    total, freedom = float(moved @ moved), len(visits) - len(set(settings.tolist())) - 1
    if total < LEAST_MOVE_K2 or freedom < 2:
        return 0.0
    slope = float(moved @ rates) / total
    left = rates - slope * moved
    error = sqrt(max(float(left @ left), 1e-16) / freedom / total)
    return max(slope, -MOST_PER_K) if slope + student_quantile(0.975, freedom) * error < 0 else 0.0


def _departures(visits: Sequence[Visit]) -> Array:
    """How much warmer each visit was than is usual at its draw (a line through all of them), K; zeros if not known."""
    known = [(v.draw_w, v.temperature_c) for v in visits if v.draw_w is not None and v.temperature_c is not None]
    if len(known) < len(visits) or len(known) < 4:
        return np.zeros(len(visits))
    draw, warm = (np.array(each) for each in zip(*known, strict=True))
    if np.ptp(draw) < 1.0:
        return np.asarray(warm - np.mean(warm), dtype=np.float64)
    slope, at_zero = (float(each) for each in np.polyfit(draw, warm, 1))
    return np.asarray(warm - (slope * draw + at_zero), dtype=np.float64)


def _means(values: Array, index: Indices, counts: Array) -> Array:
    return np.bincount(index, weights=values, minlength=len(counts)) / counts


def _mean_of(values: Sequence[float | None], index: Indices, counts: Array) -> Array | None:
    known = [value for value in values if value is not None]
    return _means(np.array(known), index, counts) if len(known) == len(values) else None


def _spread(logs: Array, index: Indices, counts: Array) -> tuple[float, float]:
    """Standard deviation of one visit, pooled over the settings, and its degrees of freedom; the prior is in it."""
    left = logs - _means(logs, index, counts)[index]
    freedom = len(logs) - len(counts) + USUAL_WEIGHT
    return sqrt((float(left @ left) + USUAL_WEIGHT * USUAL_SPREAD**2) / freedom), freedom


def _falls(means: Array, counts: Array, spread: float, freedom: float) -> int | None:
    """Index of the setting above which the rate falls; None where no fall is shown.

    The last setting against the best one: Student's t, with all that could have been the best counted.
    """
    fitted = up_down(means[None, :], counts)[0]
    peak, last = int(np.argmax(fitted)), len(means) - 1
    if peak == last or fitted[peak] - fitted[last] < LEAST_FALL:
        return None
    highest = int(np.flatnonzero(fitted >= fitted[peak] - 1e-12)[-1])
    error = spread * sqrt(1.0 / counts[peak : highest + 1].sum() + 1.0 / counts[last])
    surely = student_quantile(1.0 - FALSE_FALL / last, freedom)
    return highest if fitted[peak] - means[last] > surely * error else None


def _fitted(
    means: Array, counts: Array, spread: float, freedom: float, *, falling: bool, rng: np.random.Generator, draws: int
) -> Fitted:
    shape = up_down if falling else isotonic
    fit = shape(means[None, :], counts)[0]
    noise = spread * rng.standard_t(freedom, size=(draws, len(means))) / np.sqrt(counts)
    raw = fit + noise
    return Fitted(means=means, fit=fit, draws=shape(raw, counts), raw_draws=raw, spread=spread, freedom=freedom)


def _energy(
    visits: Sequence[Visit], index: Indices, counts: Array, rng: np.random.Generator, draws: int
) -> Fitted | None:
    """Joules per sample: falling and then rising over the settings."""
    joules = [visit.joules for visit in visits if visit.joules is not None and visit.joules > 0]
    if len(joules) < len(visits):
        return None
    logs = np.log(np.array(joules))
    spread, freedom = _spread(logs, index, counts)
    found = _fitted(-_means(logs, index, counts), counts, spread, freedom, falling=True, rng=rng, draws=draws)
    return Fitted(
        means=-found.means,
        fit=-found.fit,
        draws=-found.draws,
        raw_draws=-found.raw_draws,
        spread=spread,
        freedom=freedom,
    )

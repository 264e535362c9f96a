"""Median, spread, intervals and drift of repeated measurements (methods §1).

Iterations of a training are autocorrelated, so intervals come from the moving-block bootstrap. All arrays are
one-dimensional float64.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, hypot, log, log10, sqrt

import numpy as np
from numpy.typing import NDArray

from gputuner.analysis.distributions import student_quantile
from gputuner.model.points import Flag, Spread

MINIMUM_BLOCKS = 20
"""Fewer blocks than this give no interval."""
SPREAD_LIMIT = 0.03
"""IQR over median above which a figure is flagged ``spread``."""
DRIFT_LIMIT = 0.01
"""Change of the last third against the first above which a figure is flagged ``drift``."""
RESAMPLES = 2000
LEAST_EFFECTIVE = 3.0
"""A series worth fewer independent values than this gives no interval: its dependence cannot be told from a trend."""
NORMAL_975 = 1.959964
"""97.5 % point of the normal distribution: half of a 95 % interval in standard deviations."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A figure with its 95 % interval (None: too few blocks for one)."""

    value: float
    low: float | None = None
    high: float | None = None


def _array(values: Sequence[float] | Array) -> Array:
    return np.asarray(values, dtype=np.float64)


def iqr(values: Sequence[float] | Array) -> float:
    """Interquartile range of ``values``, in their unit."""
    low, high = np.quantile(_array(values), (0.25, 0.75))
    return float(high - low)


def autocorrelation(values: Sequence[float] | Array, lags: int) -> Array:
    """Autocorrelation at lags 0 … ``lags``, shape (lags + 1,); all zero after lag 0 where the values do not vary.

    What rounding alone can explain is no variation.
    """
    series = _array(values)
    centred = series - np.mean(series)
    variance = float(centred @ centred)
    result = np.zeros(lags + 1)
    result[0] = 1.0
    if variance <= series.size * (4.0 * np.finfo(np.float64).eps * float(np.max(np.abs(series)))) ** 2:
        return result
    for lag in range(1, min(lags, centred.size - 1) + 1):
        result[lag] = float(centred[:-lag] @ centred[lag:]) / variance
    return result


def block_length(values: Sequence[float] | Array) -> int:
    """Block length for the bootstrap, from the autocorrelation.

    Automatic choice of Politis & White (2004, corrected by Patton et al. 2009) for overlapping blocks: a flat-top lag
    window whose reach is twice the lag after which correlations are insignificant (|rho| < 2·sqrt(log10(n)/n) for
    five lags in a row); length = (2·G²/D)^(1/3) · n^(1/3).
    """
    series = _array(values)
    n = series.size
    if n < 4:
        return 1
    quiet_run = max(5, int(sqrt(log10(n))))
    most = min(n - 1, ceil(sqrt(n)) + quiet_run)
    rho = autocorrelation(series, most)
    threshold = 2.0 * sqrt(log10(n) / n)
    significant = np.flatnonzero(np.abs(rho[1:]) >= threshold) + 1
    last = 0
    for lag in significant.tolist():
        if lag - last > quiet_run:
            break
        last = lag
    if last == 0:
        return 1
    reach = min(2 * last, most)
    lags = np.arange(1, reach + 1)
    window = np.clip(2.0 * (1.0 - lags / reach), 0.0, 1.0)
    slope = 2.0 * float(np.sum(window * lags * rho[1 : reach + 1]))
    density = 1.0 + 2.0 * float(np.sum(window * rho[1 : reach + 1]))
    if density <= 0:
        return 1
    length = (2.0 * slope**2 / (4.0 / 3.0 * density**2)) ** (1.0 / 3.0) * n ** (1.0 / 3.0)
    return max(1, min(ceil(length), ceil(min(3.0 * sqrt(n), n / 3.0))))


def resample_indices(n: int, length: int, resamples: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Indices of ``resamples`` moving-block resamples of a series of ``n``, shape (resamples, n)."""
    blocks = -(-n // length)
    starts = rng.integers(0, n - length + 1, size=(resamples, blocks))
    indices = starts[:, :, None] + np.arange(length)[None, None, :]
    return indices.reshape(resamples, blocks * length)[:, :n].astype(np.intp)


def lag_one(values: Sequence[float] | Array) -> float:
    """Autocorrelation at lag 1 with its bias in short series taken out: r + (1 + 3r)/n, within 0 … 0.999.

    The correction is the first-order bias of Marriott & Pope (1954) and Kendall (1954) for an unknown mean.
    """
    series = _array(values)
    if series.size < 2:
        return 0.0
    r = float(autocorrelation(series, 1)[1])
    return min(max(0.0, r + (1.0 + 3.0 * r) / series.size), 0.999)


def widening(n: int, length: int, rho: float) -> float:
    """Factor (≥ 1) by which a block bootstrap of a dependent series of ``n`` must be widened to cover 95 %.

    Blocks of ``length`` hold only part of the dependence: the variance of a mean over AR(1) values with lag-1
    correlation ``rho`` is (1 + rho)/(1 − rho) times that of independent ones, of which blocks show
    1 + 2·Σ(1 − k/length)·rho^k. The rest enters as the root of that ratio. What the series is worth, the fewer of its
    blocks and its effective values n·(1 − rho)/(1 + rho), sets the degrees of freedom of a Student factor, against the
    n of the bootstrap.
    """
    full = (1.0 + rho) / (1.0 - rho)
    lags = np.arange(1, length)
    shown = 1.0 + 2.0 * float(np.sum((1.0 - lags / length) * rho**lags))
    worth = min(n / full, n / length)
    student = student_quantile(0.975, max(worth - 1.0, 1.0)) / student_quantile(0.975, max(n - 1.0, 1.0))
    return max(1.0, sqrt(full / shown)) * max(1.0, student)


def median_interval(values: Sequence[float] | Array, seed: int = 0, resamples: int = RESAMPLES) -> tuple[Interval, int]:
    """Median with its 95 % interval by moving-block bootstrap, and the block length used.

    Blocks are as long as ``block_length`` asks, but at least 20 fit; what they cannot show of the dependence widens the
    interval (``widening``), of positive values in the logarithm. On AR(1) series it covers ≥ 90 % of the time for
    phi ≤ 0.6 from n = 25 on and for phi = 0.9 from n = 600 on. No interval with fewer than 20 values, nor where they
    are worth fewer than three independent ones.

    It holds within the trial that the values come from; another trial of the same work differs by more (``trials``).
    """
    series = _array(values)
    n = series.size
    centre = float(np.median(series))
    length = max(1, min(block_length(series), n // MINIMUM_BLOCKS))
    rho = lag_one(series)
    if n < MINIMUM_BLOCKS or n * (1.0 - rho) / (1.0 + rho) < LEAST_EFFECTIVE:
        return Interval(value=centre), length
    rng = np.random.default_rng(seed)
    medians = np.median(series[resample_indices(n, length, resamples, rng)], axis=1)
    low, high = map(float, np.quantile(medians, (0.025, 0.975)))
    low, high = _widened(centre, low, high, float(widening(n, length, rho)), positive=bool(np.all(series > 0)))
    return Interval(value=centre, low=low, high=high), length


def _widened(centre: float, low: float, high: float, factor: float, *, positive: bool) -> tuple[float, float]:
    """The interval ``factor`` times as wide; of ``positive`` values (times, rates) in the logarithm: never below 0."""
    if positive:
        return centre * (low / centre) ** factor, centre * (high / centre) ** factor
    return centre - factor * (centre - low), centre + factor * (high - centre)


def spread(values: Sequence[float] | Array, seed: int = 0) -> Spread:
    """The ``Spread`` of repeats, in their own unit.

    Raises:
        ValueError: no values.
    """
    series = _array(values)
    if series.size == 0:
        raise ValueError("no repeats")
    interval, length = median_interval(series, seed)
    return Spread(
        n=int(series.size),
        median=interval.value,
        iqr=iqr(series),
        ci95_low=interval.low,
        ci95_high=interval.high,
        block_length=length,
    )


def drift(values: Sequence[float] | Array) -> float:
    """Median of the last third over the median of the first, minus 1; 0 for fewer than six values."""
    series = _array(values)
    third = series.size // 3
    if third < 2:
        return 0.0
    first, last = float(np.median(series[:third])), float(np.median(series[-third:]))
    return last / first - 1.0 if first else 0.0


def spread_flags(values: Sequence[float] | Array, of: Spread) -> tuple[Flag, ...]:
    """Flags that the repeats themselves earn: ``spread``, ``drift``, ``few_samples``."""
    flags: list[Flag] = []
    if of.median and of.iqr / abs(of.median) > SPREAD_LIMIT:
        flags.append(Flag.SPREAD)
    if abs(drift(values)) > DRIFT_LIMIT:
        flags.append(Flag.DRIFT)
    if of.ci95_low is None:
        flags.append(Flag.FEW_SAMPLES)
    return tuple(flags)


def paired_ratio(
    numerator: Sequence[float] | Array, denominator: Sequence[float] | Array, seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """Median of the ratios of paired windows (A B B A …, same length) with its 95 % interval by resampling pairs.

    Raises:
        ValueError: the two differ in length, or are empty.
    """
    top, bottom = _array(numerator), _array(denominator)
    if top.size != bottom.size or top.size == 0:
        raise ValueError("paired windows come in equal numbers")
    interval, _ = median_interval(top / bottom, seed, resamples)
    return interval


def relative_half_width(of: Spread) -> float | None:
    """Half-width of the 95 % interval in the logarithm, log(max(high/median, median/low)); None where there is none.

    The larger side is used, so a skewed interval is not understated.
    """
    low, high = of.ci95_low, of.ci95_high
    if low is None or high is None or low <= 0 or of.median <= 0:
        return None
    return log(max(high / of.median, of.median / low))


def ratio_of_spreads(numerator: Spread, denominator: Spread, between: Sequence[float] = ()) -> Interval:
    """Ratio of two independent medians; the interval combines both relative intervals in the logarithm.

    No interval where one of the two has none.

    Args:
        numerator: of the figure above.
        denominator: of the figure below.
        between: relative standard deviations that come on top (of trials of the same work, one for each side); the
            half-widths combine as sqrt(h1² + h2² + Σ(1.96·s)²).
    """
    value = numerator.median / denominator.median
    above, below = relative_half_width(numerator), relative_half_width(denominator)
    if above is None or below is None:
        return Interval(value=value)
    factor = exp(hypot(above, below, *(NORMAL_975 * s for s in between)))
    return Interval(value=value, low=value / factor, high=value * factor)

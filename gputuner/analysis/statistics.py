"""Median, spread, intervals and drift of repeated measurements (methods §1).

Iterations of a training are autocorrelated, so intervals come from the moving-block bootstrap. All arrays are
one-dimensional float64.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, hypot, log, log10, sqrt

import numpy as np
from numpy.typing import NDArray

from gputuner.model.points import Flag, Spread

MINIMUM_BLOCKS = 20
"""Fewer blocks than this give no interval."""
SPREAD_LIMIT = 0.03
"""IQR over median above which a figure is flagged ``spread``."""
DRIFT_LIMIT = 0.01
"""Change of the last third against the first above which a figure is flagged ``drift``."""
RESAMPLES = 2000

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
    """Autocorrelation at lags 0 … ``lags``, shape (lags + 1,); all zero after lag 0 where the values do not vary."""
    centred = _array(values) - np.mean(_array(values))
    variance = float(centred @ centred)
    result = np.zeros(lags + 1)
    result[0] = 1.0
    if variance <= 0:
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


def median_interval(values: Sequence[float] | Array, seed: int = 0, resamples: int = RESAMPLES) -> tuple[Interval, int]:
    """Median with its 95 % interval by moving-block bootstrap, and the block length used.

    No interval with fewer than 20 blocks.
    """
    series = _array(values)
    centre = float(np.median(series))
    length = block_length(series)
    if series.size < MINIMUM_BLOCKS * length:
        return Interval(value=centre), length
    rng = np.random.default_rng(seed)
    medians = np.median(series[resample_indices(series.size, length, resamples, rng)], axis=1)
    low, high = np.quantile(medians, (0.025, 0.975))
    return Interval(value=centre, low=float(low), high=float(high)), length


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


def ratio_of_spreads(numerator: Spread, denominator: Spread) -> Interval:
    """Ratio of two independent medians; the interval combines both relative intervals in the logarithm.

    No interval where one of the two has none. The larger side of each interval is used, so a skewed one is not
    understated: half-width h = log(max(high/median, median/low)), combined as sqrt(h1² + h2²).
    """
    value = numerator.median / denominator.median
    widths: list[float] = []
    for part in (numerator, denominator):
        low, high = part.ci95_low, part.ci95_high
        if low is None or high is None or low <= 0 or part.median <= 0:
            return Interval(value=value)
        widths.append(log(max(high / part.median, part.median / low)))
    factor = exp(hypot(*widths))
    return Interval(value=value, low=value / factor, high=value * factor)

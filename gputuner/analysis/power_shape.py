"""Shapes of a curve over settings that rise: never falling, or rising and then falling. Pure array functions."""

from math import exp

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


def isotonic(values: Array, weights: Array) -> Array:
    """The non-decreasing curve closest to each row (weighted least squares), by the min–max formula.

    Args:
        values: shape (rows, n).
        weights: of the n values, shape (n,).
    """
    n = values.shape[1]
    sums = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values * weights, axis=1)], axis=1)
    mass = np.concatenate([[0.0], np.cumsum(weights)])
    first, last = np.tril_indices(n)[::-1]  # first ≤ last
    means = np.full((len(values), n, n), np.inf)
    means[:, first, last] = (sums[:, last + 1] - sums[:, first]) / (mass[last + 1] - mass[first])
    least = np.minimum.accumulate(means[:, :, ::-1], axis=2)[:, :, ::-1]
    least[:, *np.tril_indices(n, -1)] = -np.inf  # blocks that begin after the value
    return np.max(least, axis=1)


def up_down(values: Array, weights: Array) -> Array:
    """The closest curve that rises up to some value and falls after it; one that only rises or only falls is one, too.

    Args:
        values: shape (rows, n).
        weights: shape (n,).
    """
    n = values.shape[1]
    best, least = np.empty_like(values), np.full(len(values), np.inf)
    for peak in range(n):
        rising = isotonic(values[:, : peak + 1], weights[: peak + 1])
        falling = -isotonic(-values[:, peak + 1 :], weights[peak + 1 :]) if peak + 1 < n else values[:, n:]
        fitted = np.concatenate([rising, falling], axis=1)
        error = np.sum(weights * (values - fitted) ** 2, axis=1)
        better = error < least - 1e-15
        best[better], least[better] = fitted[better], error[better]
    return best


def reached(settings: Array, logs: Array, share: float) -> float:
    """The lowest setting at which a curve of log rates, linear between its settings, reaches ``share`` of its top."""
    rates = np.exp(logs - np.max(logs))
    at = int(np.argmax(rates >= share - 1e-12))
    if at == 0:
        return float(settings[0])
    part = (share - rates[at - 1]) / (rates[at] - rates[at - 1])
    return float(settings[at - 1] + part * (settings[at] - settings[at - 1]))


def lowest(settings: Array, logs: Array, raw: Array) -> float:
    """Where a curve that falls and then rises is lowest: vertex of the parabola through the values around its minimum.

    Args:
        settings: rising, shape (n,).
        logs: the fitted curve.
        raw: what it was fitted to.
    """
    at = int(np.argmin(logs))
    if at in (0, len(settings) - 1):
        return float(settings[at])
    x, y = np.log(settings[at - 1 : at + 2]), raw[at - 1 : at + 2]
    # Through three points, in divided differences.
    left, right = float((y[1] - y[0]) / (x[1] - x[0])), float((y[2] - y[1]) / (x[2] - x[1]))
    bend = (right - left) / float(x[2] - x[0])
    slope = left + bend * float(x[1] - x[0])
    if bend <= 0:
        return float(settings[at])
    within = min(max(-slope / (2.0 * bend), 0.5 * float(x[0] - x[1])), 0.5 * float(x[2] - x[1]))
    return exp(float(x[1]) + within)

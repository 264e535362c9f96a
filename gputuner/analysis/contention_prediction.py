"""Slowdown of a pair of jobs that never ran together, from what each did beside probes (methods §6).

The partner is taken apart into probes: weights w ≥ 0 such that probes with these weights slow the other probes as the
partner did. The job then suffers what that mixture costs it.

In time slices logarithms add up, and bursts of every length and duty are a probe of their own: log s = Σ w · log (job
beside probe). The same is done from the other side (the job is taken for a mixture of probes that are slowed, and what
these suffer from the partner is summed), and the mean of both is told. This is the reconstruction of a matrix from some
of its rows and columns, here the probes', with weights that cannot be negative; with one probe and its dial it is the
method of Bubble-Up (Mars et al., MICRO 2011).

Side by side (MPS, streams) what others use of a resource adds to a step's time, and a job whose host has time to spare
hides some of it (``contention_slack``).

Pairs that were measured correct the scale of all predictions, not that of one job.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from gputuner.analysis.contention_pressure import Pressures, ProbeSetting, excess, log_slowdown
from gputuner.analysis.contention_slack import sufferer

NOISE = 0.02
"""Of a measured slowdown, relative: probes within it of each other share a weight."""
SCALE_NOISE = 0.3
"""How far the scale of predictions is expected to be from 1, before pairs have been seen."""
Pair = tuple[str, str]
"""A job, and the partner beside which it ran."""
Seen = tuple[str, str, float]
"""Job, partner, and the job's slowdown as measured."""
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """The slowdown of ``job`` beside ``partner``, and what each probe setting contributes to its logarithm."""

    job: str
    partner: str
    slowdown: float
    parts: Mapping[ProbeSetting, float]


def predict(found: Pressures, job: str, partner: str, scale: float = 1.0) -> Predicted:
    """The slowdown of ``job`` beside ``partner``.

    Raises:
        KeyError: one of them was not measured beside the probes.
    """
    if found.alternating:
        forward = _forward(found, job, partner)
        total = 0.5 * (sum(forward.values()) + _backward(found, job, partner))
    else:
        suffers = sufferer(found, job)
        forward = {base: weight * suffers.costs[base] for base, weight in mixture(found, partner).items()}
        total = log(1.0 + max(0.0, sum(forward.values()) - suffers.slack))
    own = sum(forward.values())
    parts = {base: part / own * scale * total if own > 0 else 0.0 for base, part in forward.items()}
    return Predicted(job=job, partner=partner, slowdown=exp(scale * total), parts=parts)


def mixture(found: Pressures, job: str) -> dict[ProbeSetting, float]:
    """The mixture of probes that presses on the others as ``job`` does.

    In time slices of all settings, in logarithms; side by side of each probe at its hardest, in time added.
    """
    sliced = found.alternating
    measure = log_slowdown if sliced else excess
    columns = found.settings if sliced else found.hardest
    reporters = found.reporters
    matrix = np.asarray([[measure(found.probes[a, b]) for b in columns] for a in reporters])
    seen = np.asarray([measure(found.exerted[job, a]) for a in reporters])
    return dict(zip(columns, _weights(matrix, seen).tolist(), strict=True))


def _forward(found: Pressures, job: str, partner: str) -> dict[ProbeSetting, float]:
    return {b: weight * log_slowdown(found.sensitivity[job, b]) for b, weight in mixture(found, partner).items()}


def _backward(found: Pressures, job: str, partner: str) -> float:
    """The job as a mixture of probes that suffer, summed over what these suffer from the partner."""
    reporters = found.reporters
    matrix = np.asarray([[log_slowdown(found.probes[a, b]) for a in reporters] for b in found.settings])
    seen = np.asarray([log_slowdown(found.sensitivity[job, b]) for b in found.settings])
    suffered = np.asarray([log_slowdown(found.exerted[partner, a]) for a in reporters])
    return float(_weights(matrix, seen) @ suffered)


def _weights(matrix: Vector, seen: Vector) -> Vector:
    """Weights w ≥ 0 that minimise |matrix · w − seen|² + (noise · |w|)²: of probes that are alike all take part."""
    from scipy import optimize

    count = matrix.shape[1]
    padded = np.vstack([matrix, NOISE * np.eye(count)])
    nnls = cast("Any", optimize).nnls
    return np.asarray(nnls(padded, np.concatenate([seen, np.zeros(count)]))[0], dtype=np.float64)


def scale_of(pairs: Sequence[Seen], found: Pressures) -> float:
    """The factor on the logarithm of predictions that fits measured pairs best, held near 1.

    Pairs of which a job was not measured beside the probes tell nothing.
    """
    able = set(found.jobs)
    known = [seen for seen in pairs if set(seen[:2]) <= able]
    return fitted_scale(
        [log(predict(found, job, partner).slowdown) for job, partner, _ in known],
        [log_slowdown(slowdown) for *_, slowdown in known],
    )


def fitted_scale(predicted: Sequence[float], measured: Sequence[float]) -> float:
    """Ridge regression of logarithms through the origin towards 1: with few pairs or small ones it stays near 1."""
    if not predicted:
        return 1.0
    x, y = np.asarray(predicted), np.asarray(measured)
    prior = (float(np.mean((y - x) ** 2)) + NOISE**2) / SCALE_NOISE**2
    return float((x @ y + prior) / (x @ x + prior))

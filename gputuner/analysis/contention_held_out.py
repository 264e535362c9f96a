"""How far predicted slowdowns of pairs lie from measured ones, and the simple models they must beat."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from gputuner.analysis.contention_prediction import Pair, Seen, fitted_scale, predict
from gputuner.analysis.contention_pressure import Pressures, log_slowdown


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """How far predictions lie from measurement: |predicted / measured − 1|."""

    count: int
    median: float
    p90: float
    worst: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """One job of one pair, predicted without any pair of ``held_out``."""

    job: str
    partner: str
    held_out: str
    measured: float
    predicted: float

    @property
    def relative_error(self) -> float:
        """Predicted over measured, minus 1."""
        return self.predicted / self.measured - 1.0


Model = Callable[[Sequence[Seen], Pair], float]
"""Predicts the slowdown of a pair from measured ones."""


def workload_of(label: str) -> str:
    """The workload of a job's label (``resnet50:batch=16`` → ``resnet50``)."""
    return label.partition(":")[0]


def held_out(pairs: Sequence[Seen], model: Model) -> tuple[HeldOut, ...]:
    """Each job of every pair predicted by ``model`` from pairs without the workload of one of the two, each in turn.

    A workload at another batch is the same workload: it is held out too. Where job and partner differ in workload, the
    job is predicted twice (either held out), and the prediction that is further off counts.
    """
    told: list[HeldOut] = []
    for job, partner, measured in pairs:
        tries: list[HeldOut] = []
        for name in dict.fromkeys(map(workload_of, (job, partner))):
            known = [seen for seen in pairs if name not in map(workload_of, seen[:2])]
            value = model(known, (job, partner))
            tries.append(HeldOut(job=job, partner=partner, held_out=name, measured=measured, predicted=value))
        told.append(max(tries, key=lambda each: abs(each.relative_error)))
    return tuple(told)


def errors(told: Sequence[HeldOut]) -> Errors:
    """Median, 90th percentile and worst relative error.

    Raises:
        ValueError: nothing was predicted.
    """
    if not told:
        raise ValueError("nothing was predicted")
    off = np.abs([each.relative_error for each in told])
    return Errors(
        count=len(told), median=float(np.median(off)), p90=float(np.quantile(off, 0.9)), worst=float(off.max())
    )


def _logs(found: Pressures) -> dict[Pair, float]:
    of = found.on_card
    return {(job, partner): log(predict(of, job, partner).slowdown) for job in of.jobs for partner in of.jobs}


def from_probes_alone(found: Pressures) -> Model:
    """Predictions from probes, whatever was measured of pairs."""
    logs = _logs(found)
    return lambda _, pair: exp(logs[pair])


def from_pressures(found: Pressures) -> Model:
    """Predictions from probes; measured pairs correct their scale."""
    logs = _logs(found)

    def told(known: Sequence[Seen], pair: Pair) -> float:
        seen = [(logs[job, partner], log_slowdown(s)) for job, partner, s in known if (job, partner) in logs]
        return exp(fitted_scale([x for x, _ in seen], [y for _, y in seen]) * logs[pair])

    return told


def constant(known: Sequence[Seen], pair: Pair) -> float:
    """The simplest model: every pair slows as the geometric mean of those that are known."""
    return exp(float(np.mean([log(slowdown) for *_, slowdown in known]))) if known else 1.0


def additive(known: Sequence[Seen], pair: Pair) -> float:
    """log slowdown = a(job) + b(partner), least squares; for a job that is not known the mean of all a, or of all b."""
    if not known:
        return 1.0
    names = [sorted({seen[side] for seen in known}) for side in (0, 1)]
    rows = np.zeros((len(known), len(names[0]) + len(names[1])))
    for row, (job, partner, _) in enumerate(known):
        rows[row, names[0].index(job)] = rows[row, len(names[0]) + names[1].index(partner)] = 1.0
    fitted = np.linalg.lstsq(rows, np.log([slowdown for *_, slowdown in known]), rcond=None)[0].tolist()
    parts = [dict(zip(names[0], fitted, strict=False)), dict(zip(names[1], fitted[len(names[0]) :], strict=True))]
    return exp(sum(part.get(name, float(np.mean([*part.values()]))) for part, name in zip(parts, pair, strict=True)))


def equal_sharing(busy: Mapping[str, float]) -> Model:
    """The card is shared equally whenever both jobs want it; ``busy``: share of the time it works for each alone.

    A job's busy part takes twice as long while the partner is busy too: slowdown = 1 + u(job) · u(partner); two of the
    same run in step, and each is busy when the other is: 1 + u. Needs no pair at all. On an H200 it erred by 16 % in
    the median of 15 pairs and by 58 % at worst.
    """

    def told(known: Sequence[Seen], pair: Pair) -> float:
        own, other = (busy[label] for label in pair)
        return 1.0 + own * (1.0 if pair[0] == pair[1] else other)

    return told

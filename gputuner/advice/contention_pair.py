"""One training or two of it at once, from a ``tune`` run."""

from dataclasses import replace

from gputuner.advice.evidence import Evidence
from gputuner.advice.making import make, setting_of
from gputuner.model.advice import Advice, Gain
from gputuner.model.change import Change
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

WORTH = 0.05
"""Gain over the better baseline from which on two at once are advised."""
TUNED = 1.1
"""Up to this ratio of the best rate to the pair's own, alone, the pair ran at the tuned batch (or next to it)."""
FIXED_CHANCE = 0.15
"""How often a batch cannot be changed by whoever reads this."""


def sharing_rule(evidence: Evidence) -> list[Advice]:
    """``jobs.one_or_two``: together against one after the other and against one job at its own tuned batch.

    Where the batch is well below the tuned one, ``jobs.fixed_batch`` tells what two at once gain if the owner cannot
    change it. An invalid pair (a job seemed faster than alone, or solo moved meanwhile) gives no advice.
    """
    found: list[Advice] = []
    for point in evidence.of("co_run_gain"):
        if "mix" in point.params:  # of a contention experiment, which has rules of its own
            continue
        if Flag.IMPLAUSIBLE in point.flags or point.extra.get("valid") is not True:
            continue
        tuned = max(1.0, float(point.extra.get("alone_tuned", 1.0)))
        if tuned <= TUNED:
            found.append(_tuned(evidence, point, tuned))
        else:
            found += _fixed(evidence, point, tuned)
    return found


def _params(evidence: Evidence, point: Point, tuned: float) -> tuple[dict[str, Scalar], list[Point]]:
    jobs, batch = int(point.params["jobs"]), int(point.params["batch"])
    slowdowns = evidence.of("co_run_slowdown", jobs=jobs, batch=batch)
    params: dict[str, Scalar] = {
        "workload": point.workload,
        "tried": jobs,
        "batch": batch,
        "precision": str(point.params["precision"]),
        "together": point.value,
        "alone_tuned": tuned,
        "slowdown": max((p.value for p in slowdowns), default=jobs / point.value),
        "fairness": float(point.extra.get("fairness", 1.0)),
        "advantage": point.value / tuned - 1.0,
    }
    return params, [point, *slowdowns]


def _gain(point: Point, than: float) -> Gain:
    """The pair's work over ``than``, minus 1; the interval where the pair was measured with one."""
    value = point.value / than - 1.0
    low, high = (point.spread.ci95_low, point.spread.ci95_high) if point.spread else (None, None)
    if low is None or high is None:
        return Gain(value=value, unit="fraction")
    return Gain(value=value, unit="fraction", low=low / than - 1.0, high=high / than - 1.0)


def _tuned(evidence: Evidence, point: Point, tuned: float) -> Advice:
    params, points = _params(evidence, point, tuned)
    advantage = point.value / tuned - 1.0
    two = advantage >= WORTH
    params["jobs"] = int(point.params["jobs"]) if two else 1
    gain = _gain(point, tuned) if two else None
    change = _change(point, _tuned_batch(evidence, point)) if two else None
    return make(
        "jobs.one_or_two", evidence.card.uuid, params, points, gain=gain, weight=0.0 if two else 3.0, change=change
    )


def _tuned_batch(evidence: Evidence, point: Point) -> int:
    """The batch with the best rate alone in the pair's format and layout; the pair's own where none was measured."""
    setting = setting_of(point)
    rates = evidence.training_rates(point.workload).get((setting.precision, setting.channels_last), {})
    return max(rates, key=lambda batch: rates[batch].value, default=setting.batch)


def _change(point: Point, alone: int) -> Change:
    """From one training at the batch ``alone`` to the pair as it ran."""
    pair = replace(setting_of(point), processes=int(point.params["jobs"]))
    return Change(workload=point.workload, base=replace(pair, processes=1, batch=alone), advised=pair)


def _fixed(evidence: Evidence, point: Point, tuned: float) -> list[Advice]:
    if point.value - 1.0 < WORTH:
        return []
    params, points = _params(evidence, point, tuned)
    params["jobs"] = int(point.params["jobs"])
    gain = _gain(point, 1.0)
    change = _change(point, int(point.params["batch"]))
    return [make("jobs.fixed_batch", evidence.card.uuid, params, points, gain=gain, chance=FIXED_CHANCE, change=change)]

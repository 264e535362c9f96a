"""One job or two at once on a card."""

from gputuner.advice.evidence import Evidence
from gputuner.advice.making import make
from gputuner.analysis.contention import VALID_SLOWDOWN
from gputuner.model.advice import Advice, Gain
from gputuner.model.points import Flag
from gputuner.model.readings import Scalar

WORTH = 0.05
"""Gain over the better baseline from which on two at once are advised."""


def sharing_rule(evidence: Evidence) -> list[Advice]:
    """``jobs.one_or_two``: together against one after the other and against one job at its own tuned batch.

    An invalid pair (a job seemed faster than alone, or solo moved meanwhile) gives no advice.
    """
    found: list[Advice] = []
    for point in evidence.of("co_run_gain"):
        if Flag.IMPLAUSIBLE in point.flags or point.extra.get("valid") is not True:
            continue
        jobs = int(point.params["jobs"])
        tuned = float(point.extra.get("alone_tuned", 1.0))
        slowdowns = evidence.of("co_run_slowdown", jobs=jobs, batch=point.params["batch"])
        advantage = point.value / max(1.0, tuned) - 1.0
        two = advantage >= WORTH
        params: dict[str, Scalar] = {
            "workload": point.workload,
            "jobs": jobs if two else 1,
            "tried": jobs,
            "batch": int(point.params["batch"]),
            "precision": str(point.params["precision"]),
            "together": point.value,
            "alone_tuned": tuned,
            "slowdown": max((p.value for p in slowdowns), default=VALID_SLOWDOWN * jobs / point.value),
            "fairness": float(point.extra.get("fairness", 1.0)),
            "advantage": advantage,
        }
        found.append(
            make(
                "jobs.one_or_two",
                evidence.card.uuid,
                params,
                [point, *slowdowns],
                gain=Gain(value=advantage, unit="fraction") if two else None,
                weight=0.0 if two else 3.0,
            )
        )
    return found

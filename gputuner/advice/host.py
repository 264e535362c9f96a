"""The machine around the card: governor, cgroup quota, threads, and steps bound by launches."""

from gputuner.advice import snippets
from gputuner.advice.evidence import Evidence, best_setting
from gputuner.advice.making import make
from gputuner.model.advice import Advice, Confidence
from gputuner.model.readings import Scalar

SLOW_GOVERNORS = ("powersave", "ondemand", "conservative", "userspace")
LAUNCH_BOUND = 1.15
"""A doubled batch whose step takes less than this factor longer: the step waits for something else than the card."""


def governor_rule(evidence: Evidence) -> list[Advice]:
    """``host.governor``: the CPU's clock follows load; short steps wait for it to rise."""
    governor = evidence.host("governor")
    if governor not in SLOW_GOVERNORS:
        return []
    params: dict[str, Scalar] = {"governor": str(governor)}
    return [
        make(
            "host.governor",
            evidence.card.uuid,
            params,
            ["host:governor"],
            confidence=Confidence.MODEL,
            weight=2.0,
            snippet=snippets.governor(),
            risk=True,
        )
    ]


def quota_rule(evidence: Evidence) -> list[Advice]:
    """``host.quota``: a container may use fewer cores than it sees; loaders sized by what it sees are throttled."""
    quota, cores = evidence.host_number("cgroup_quota_cores"), evidence.host_number("cores_logical")
    if quota is None or cores is None or quota >= cores or evidence.of("loader_demand"):
        return []  # where the loader was measured, its own advice says how many workers
    workers = max(1, int(quota) - 1)
    params: dict[str, Scalar] = {"quota": quota, "cores": int(cores), "workers": workers}
    return [
        make(
            "host.quota",
            evidence.card.uuid,
            params,
            ["host:cgroup_quota_cores", "host:cores_logical"],
            confidence=Confidence.MODEL,
            weight=2.5,
            snippet=snippets.workers(workers),
        )
    ]


def threads_rule(evidence: Evidence) -> list[Advice]:
    """``host.threads``: on a CPU, torch runs with more threads than it may use cores, or with fewer than it has."""
    if not evidence.card.is_cpu or evidence.threads is None:
        return []
    physical = evidence.host_number("cores_physical")
    quota = evidence.host_number("cgroup_quota_cores")
    bounds = [bound for bound in (physical, quota) if bound is not None and bound >= 1]
    if not bounds:
        return []
    wanted = int(min(bounds))
    if evidence.threads == wanted or wanted < evidence.threads <= (evidence.host_number("cores_logical") or 0):
        return []
    params: dict[str, Scalar] = {"threads": evidence.threads, "cores": wanted}
    return [
        make(
            "host.threads",
            evidence.card.uuid,
            params,
            ["worker:threads", "host:cores_physical"],
            confidence=Confidence.MODEL,
            weight=2.5,
            snippet=snippets.threads(wanted),
        )
    ]


def launch_rule(evidence: Evidence) -> list[Advice]:
    """``host.launch_bound``: up to some batch the step takes equally long, so the card waits (for launches, mostly)."""
    if evidence.card.is_cpu:
        return []
    found: list[Advice] = []
    for workload in evidence.workloads():
        best = best_setting(evidence, workload)
        if best is None:
            continue
        (precision, _), points = best
        flat = [
            b
            for b in points
            if 2 * b in points and _step(points[2 * b].value, 2 * b) < LAUNCH_BOUND * _step(points[b].value, b)
        ]
        if not flat:
            continue
        batch = max(flat)
        params: dict[str, Scalar] = {
            "workload": workload,
            "precision": precision,
            "up_to_batch": 2 * batch,
            "step_s": _step(points[batch].value, batch),
        }
        found.append(
            make(
                "host.launch_bound",
                evidence.card.uuid,
                params,
                [points[batch], points[2 * batch]],
                confidence=Confidence.MODEL,
                weight=2.0,
                snippet=snippets.compiled(),
            )
        )
    return found


def _step(rate: float, batch: int) -> float:
    return batch / rate

"""The ``trial`` message: what a worker is asked to measure, alone, beside others, or as several jobs of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gputuner.model.steps import Mode, Together, Trial, Work

TOGETHER = "together"
"""The workload's name of several jobs in one process."""
REWARM_S = 0.5
"""Jobs beside others run so long untimed after the barrier: those that came first idled there, and the clock fell."""


def of_work(work: Work, trial_id: str, seed: int, cap_bytes: int | None) -> dict[str, Any]:
    """One job; it waits at the barrier."""
    return {
        "kind": "trial",
        "id": trial_id,
        "workload": work.workload,
        "params": dict(work.params),
        "measure_s": work.measure_s,
        "budget_s": work.budget_s,
        "warmup_s": work.warmup_s,
        "soak": work.soak,
        "barrier": True,
        "seed": seed,
        "memory_cap_bytes": cap_bytes,
    }


def of_streams(step: Together, trial_id: str, seed: int, cap_bytes: int | None) -> dict[str, Any]:
    """All jobs of a step as one trial: each a stream of the process, with its priority."""
    longest = max(step.works, key=lambda work: work.budget_s)
    jobs = [of_work(work, f"{trial_id}.{place}", seed, None) for place, work in enumerate(step.works, start=1)]
    priorities = step.priorities or (0,) * len(jobs)
    warm = {"rewarm_s": REWARM_S} if len(jobs) > 1 else {}
    return {
        **of_work(longest, trial_id, seed, cap_bytes),
        "workload": TOGETHER,
        "params": {},
        "jobs": [{**job, **warm, "priority": priority} for job, priority in zip(jobs, priorities, strict=True)],
    }


def noted(trial: Trial, step: Together, mode: Mode, job: int) -> Trial:
    """A trial that says how it shared the card, where that is not said by its worker."""
    if mode != "mps":
        return trial
    share = {"thread_percentage": step.thread_percentages[job]} if step.thread_percentages else {}
    return replace(trial, notes={**trial.notes, "mode": mode, **share})


def _null(step: Together) -> bool:
    """Whether it stands for a mix: one job that waits for an idle partner."""
    return bool(step.idle) and any(work.idle_before_s > 0 for work in step.works)


def shared(step: Together, mode: Mode, workers: Sequence[str]) -> Mapping[str, Any]:
    """What each of the jobs in these workers is told of the others.

    How long it runs before it is timed, and how they share the card where not in time slices (simulated workers go by
    it).
    """
    warm: dict[str, Any] = {"rewarm_s": REWARM_S} if len(workers) > 1 or _null(step) else {}
    if mode != "mps":
        return warm
    percentages = step.thread_percentages or (100,) * len(workers)
    shares = {worker: percent / 100 for worker, percent in zip(workers, percentages, strict=True)}
    return {**warm, "sharing": {"mode": mode, "thread_shares": shares}}

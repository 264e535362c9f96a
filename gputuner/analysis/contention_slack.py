"""What pressure on each resource costs a job that runs side by side with others, and how much of it the job hides.

A step takes as long as the card needs, or as long as its host needs to launch it. Where the host needs longer, the card
has slack, and what others take from it does not show until that is used up: time added = max(0, Σ cost · pressure −
slack). One slack goes with all resources of a job, so that pressures which do not show one by one may show together.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gputuner.analysis.contention_pressure import Pressures, ProbeSetting, excess

STEPS = 81
MOST_SLACK = 2.0
SHOWN = 0.02
"""Time added that is more than scatter."""
UNSEEN = 0.5
"""A pressure that did not show at all is taken to use up this share of the slack."""
SMALL = 1e-4
"""Weight of the slack's square: none is assumed where the curves do not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sufferer:
    """A job: time added (over its step alone) per full pressure of each probe, and the slack that hides some of it."""

    slack: float
    costs: Mapping[ProbeSetting, float]

    def added(self, pressures: Mapping[ProbeSetting, float]) -> float:
        """Time added under ``pressures`` (1: as the probe at its hardest)."""
        return max(0.0, sum(self.costs[base] * share for base, share in pressures.items()) - self.slack)


def sufferer(found: Pressures, job: str) -> Sufferer:
    """Fit a job to its slowdowns beside each probe: exact at the hardest setting, least squares at the others."""
    hardest = found.hardest
    softer = _softer(found)
    best: tuple[float, Sufferer] | None = None
    for slack in np.linspace(0.0, MOST_SLACK, STEPS).tolist():
        tried = Sufferer(slack=slack, costs={base: _cost(found, job, base, slack) for base in hardest})
        off = SMALL * slack**2
        for setting, (base, pressure) in softer.items():
            off += (tried.added({base: pressure}) - excess(found.sensitivity[job, setting])) ** 2
        if best is None or off < best[0]:
            best = (off, tried)
    if best is None:
        raise ValueError("no slack was tried")
    return best[1]


def _cost(found: Pressures, job: str, base: ProbeSetting, slack: float) -> float:
    shown = excess(found.sensitivity[job, base])
    return shown + slack if shown > SHOWN else UNSEEN * slack


def _softer(found: Pressures) -> dict[ProbeSetting, tuple[ProbeSetting, float]]:
    """The settings below the hardest of each probe, with that and their pressure over its: by what they cost it."""
    told: dict[ProbeSetting, tuple[ProbeSetting, float]] = {}
    for base in found.hardest:
        whole = excess(found.probes[base, base])
        for setting in found.settings:
            if setting.probe == base.probe and setting != base and whole > SHOWN:
                told[setting] = (base, min(1.0, excess(found.probes[base, setting]) / whole))
    return told

"""The pressure probes of a card: which settings press on what there, and one trial of each."""

from dataclasses import dataclass

from gputuner.analysis.contention_pressure import ProbeSetting
from gputuner.experiments.contention_pace import SETUP_S, Pace
from gputuner.model.steps import Mode, Work
from gputuner.workloads.specs_pressure import PressureSpec, probe_named

PROBE = "contend_probe"
"""Label of the steps."""
SHORT_S, LONG_S = 5e-4, 5e-3
"""Bursts shorter than a time slice, and longer ones."""
SOFT = 0.25
"""Besides the hardest: most trainings press on a resource no more than so."""
MEASURE_SHARE, LONGEST_S, SHORTEST_S = 0.5, 2.0, 0.5
"""A probe is measured for this share of what a job is, within bounds, s."""
WARM_S = 0.5
STEPS_WANTED = 8
"""Of a job beside a probe."""
LONGEST = 3.0
"""A job of long steps is measured up to so many times as long as a probe."""
BOTH_SLOW = 2.0
"""A step beside a probe takes about so many times as long."""


def settings_of(mode: Mode, *, cpu: bool) -> tuple[ProbeSetting, ...]:
    """The settings that tell pressures apart in this way of sharing.

    In time slices bursts of two lengths and duties, and one that never pauses: nothing else of a kernel matters there.
    Side by side one probe for each resource, soft and hard. Link and host in both. On a processor cores and memory.
    """
    if cpu:
        return tuple(
            ProbeSetting(probe=probe, dial=dial, burst_s=0.01) for probe in ("host", "dram") for dial in (0.5, 1.0)
        )
    others = (ProbeSetting(probe="pcie"), ProbeSetting(probe="host"))
    if mode == "processes":
        slices = [
            ProbeSetting(probe="slices", dial=dial, burst_s=burst)
            for burst in (SHORT_S, LONG_S)
            for dial in (0.25, 0.5)
        ]
        return (*slices, ProbeSetting(probe="slices"), *others)
    resources = ("sm", "tensor", "dram", "l2")
    return (*(ProbeSetting(probe=probe, dial=dial) for probe in resources for dial in (SOFT, 1.0)), *others)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePace:
    """How long trials of probes take, s."""

    measure_s: float

    @classmethod
    def of(cls, pace: Pace) -> "ProbePace":
        """Beside jobs at ``pace``."""
        return cls(measure_s=max(SHORTEST_S, min(LONGEST_S, MEASURE_SHARE * pace.measure_s)))

    @property
    def trial_s(self) -> float:
        """A whole trial of probes alone or beside each other."""
        return SETUP_S + WARM_S + self.measure_s

    def beside_s(self, step_s: float) -> float:
        """To measure a job of such steps (alone) and a probe at once."""
        return min(max(self.measure_s, STEPS_WANTED * BOTH_SLOW * step_s), LONGEST * self.measure_s)

    def beside_trial_s(self, step_s: float, warmup_s: float) -> float:
        """A whole trial of that."""
        return SETUP_S + 2.0 * BOTH_SLOW * step_s + max(warmup_s, step_s) + self.beside_s(step_s)


def probe_work(of: ProbeSetting, measure_s: float, passes: int = 0, warmup_s: float = WARM_S) -> Work:
    """One trial of a probe; ``passes``: the kernels of its bursts, as a trial of it alone has found them."""
    spec = PressureSpec(probe=probe_named(of.probe), dial=of.dial, burst_s=of.burst_s, passes=passes)
    return Work(
        label=PROBE,
        workload=spec.workload,
        params=spec.params(),
        measure_s=measure_s,
        budget_s=4.0 * measure_s + 20.0,
        warmup_s=warmup_s,
    )

"""How long the parts of a contention experiment take, shrunk to the minutes given."""

from collections.abc import Sequence
from dataclasses import dataclass

from gputuner.experiments.protocol import PlanContext
from gputuner.experiments.tune_shape import SHORT_S

STEPS_WANTED = 24
"""Steps for an interval within a trial (20 blocks) with some to spare."""
LONGEST = 2.0
"""A trial of long steps is measured up to so many times as long as others."""
FIRST_STEPS = 2.0
"""Steps before the warm-up: the first one chooses kernels, the second shows the peak of memory."""
SETUP_S = 1.0
MOST_ROUNDS = 4
USUAL_S = 120.0
"""Below this budget the trials become shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Times in seconds."""

    cpu: bool
    start_s: float
    """Until the first trial can run: importing torch, making the context."""
    measure_s: float
    """To measure in one trial; 5 s and more tell the energy."""
    warmup_s: float
    restart_s: float
    """Until further processes have started, all at once."""
    rounds: int = MOST_ROUNDS
    """Most rounds of a mix."""

    def measured_s(self, step_s: float) -> float:
        """To measure steps of ``step_s``: enough for an interval, within bounds."""
        return min(max(self.measure_s, STEPS_WANTED * step_s), LONGEST * self.measure_s)

    def trial_s(self, step_s: float) -> float:
        """Expected seconds of a whole trial."""
        measured = max(self.measured_s(step_s), 3.0 * step_s)
        return SETUP_S + FIRST_STEPS * step_s + max(self.warmup_s, step_s) + measured

    def round_s(self, steps_s: Sequence[float], distinct: int, *, fresh: bool) -> float:
        """Expected seconds of a mix of jobs with these steps alone, and of solo after it (solo before ran already).

        As if all took turns: the most that time slicing costs.
        """
        alone = distinct * self.trial_s(max(steps_s, default=0.0))
        return alone + self.trial_s(sum(steps_s)) + (self.restart_s if fresh else 0.0)


def pace_for(context: PlanContext) -> Pace:
    """The pace that goes with the budget of ``context``."""
    cpu, budget_s = context.card.is_cpu, context.budget_s
    usual = Pace(cpu=cpu, start_s=6.0 if cpu else 12.0, measure_s=4.0 if cpu else 6.0, warmup_s=1.5,
                 restart_s=6.0 if cpu else 10.0)  # fmt: skip
    if budget_s >= USUAL_S:
        return usual
    short = budget_s < SHORT_S
    return Pace(
        cpu=cpu,
        start_s=0.0 if short else usual.start_s,
        measure_s=1.5 if short else 0.5 * usual.measure_s,
        warmup_s=0.5 if short else 1.0,
        restart_s=usual.restart_s,
        rounds=2,
    )

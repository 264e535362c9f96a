"""From what a worker measured (trials) to figures with spread, conditions and flags (points)."""

from collections.abc import Iterable
from itertools import count

from gputuner.analysis.limits import limit_flags, link_below_max
from gputuner.analysis.statistics import spread, spread_flags
from gputuner.experiments.protocol import PlanContext
from gputuner.model.points import Conditions, Flag, Point, Spread
from gputuner.model.readings import Scalar
from gputuner.model.steps import Trial

ENERGY_WINDOW_S = 5.0
"""Energy per sample is told for windows of at least this length (methods §4)."""
EXTRA_MEMORY = ("allocated_peak_bytes", "reserved_peak_bytes", "allocator_retries", "capacity_bytes")


class PointMaker:
    """Numbers the points of one run and stamps them with card, origin and flags."""

    def __init__(self, context: PlanContext) -> None:
        self._context = context
        self._numbers = count(1)

    def figure(
        self,
        metric: str,
        workload: str,
        value: float,
        unit: str,
        params: dict[str, Scalar],
        *,
        conditions: Conditions | None = None,
        flags: Iterable[Flag] = (),
        extra: dict[str, Scalar] | None = None,
        repeats: Spread | None = None,
    ) -> Point:
        """A point of any metric; adds the flags of other users of the card and of its link."""
        told = [*flags]
        card = self._context.card
        most = (card.number("pcie_generation_max"), card.number("pcie_width_max"))
        if link_below_max(conditions, generation_max=most[0], width_max=most[1]):
            told.append(Flag.LINK_BELOW_MAX)
        if self._context.shared:
            told.append(Flag.SHARED)
        return Point(
            id=f"{metric}-{next(self._numbers)}",
            card=card.uuid,
            metric=metric,
            workload=workload,
            params=params,
            value=value,
            unit=unit,
            origin=card.origin,
            spread=repeats,
            conditions=conditions,
            flags=tuple(dict.fromkeys(told)),
            extra=extra or {},
        )

    def rate(
        self,
        metric: str,
        workload: str,
        unit: str,
        work: float,
        trial: Trial,
        conditions: Conditions | None,
        params: dict[str, Scalar],
        *,
        flags: Iterable[Flag] = (),
        extra: dict[str, Scalar] | None = None,
        iteration_s: tuple[float, ...] | None = None,
    ) -> Point:
        """``work`` per iteration over the seconds of each, as the median rate with its spread.

        ``iteration_s`` replaces the trial's own where only a part of it counts (sustained).
        """
        rates = [work / seconds for seconds in (iteration_s or trial.iteration_s)]
        repeats = spread(rates)
        return self.figure(
            metric,
            workload,
            repeats.median,
            unit,
            params,
            conditions=conditions,
            flags=[*flags, *trial_flags(trial, conditions), *spread_flags(rates, repeats)],
            extra={**trial_extra(trial, work, conditions), **(extra or {})},
            repeats=repeats,
        )


def trial_flags(trial: Trial, conditions: Conditions | None) -> tuple[Flag, ...]:
    """Flags from the trial itself and from the telemetry of its window."""
    flags: list[Flag] = []
    if not trial.steady:
        flags.append(Flag.NOT_STEADY)
    if trial.too_slow:
        flags.append(Flag.TOO_SLOW)
    if trial.notes.get("emulated") is True:
        flags.append(Flag.EMULATED)
    if conditions is None or conditions.samples == 0:
        flags.append(Flag.NO_TELEMETRY)
    return (*flags, *limit_flags(conditions))


def trial_extra(trial: Trial, work: float, conditions: Conditions | None) -> dict[str, Scalar]:
    """Memory, product error, notes and (from 5 s on) joules per unit of work of a trial."""
    extra: dict[str, Scalar] = {name: trial.memory[name] for name in EXTRA_MEMORY if name in trial.memory}
    if trial.relative_error is not None:
        extra["relative_error"] = trial.relative_error
    extra.update(trial.notes)
    seconds = conditions.duration_s if conditions else 0.0
    if conditions and conditions.energy_j is not None and seconds >= ENERGY_WINDOW_S and trial.iteration_s:
        mean = sum(trial.iteration_s) / len(trial.iteration_s)
        extra["joules_per_unit"] = conditions.energy_j * mean / (seconds * work)
    return extra

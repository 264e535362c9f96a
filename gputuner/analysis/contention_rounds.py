"""Several rounds of the same mix, each in processes of its own, as one answer (methods §1: start × block)."""

from collections.abc import Sequence
from dataclasses import replace
from math import exp
from statistics import median

from gputuner.analysis.contention import CoRun, Slowdown, fairness
from gputuner.analysis.interleaved import Compared, compared_rounds
from gputuner.model.points import Flag, Spread

UNIT = Spread(n=1, median=1.0, iqr=0.0, ci95_low=1.0, ci95_high=1.0)
"""The speed alone in units of itself; its own scatter is in that of the relative speed."""


def of_rounds(rounds: Sequence[CoRun]) -> CoRun:
    """Slowdowns and gain over all rounds: geometric means, with the interval of ``interleaved.compared_rounds``.

    What a process brings with it moves all of its steps, so a round is one repeat; the interval is Student's over
    rounds, never narrower than what is known without them. One round stays as it is. The change of solo is the median
    over rounds by size: one disturbed round widens the interval, it does not take the whole away.

    Raises:
        ValueError: there is no round.
    """
    if not rounds:
        raise ValueError("there is no round")
    if len(rounds) == 1:
        return rounds[0]
    jobs = tuple(_job([each.jobs[place] for each in rounds]) for place in range(len(rounds[0].jobs)))
    gain, gain_found = _over([(each.gain, each.gain_within, each.gain_spread) for each in rounds])
    return replace(
        rounds[-1],
        jobs=jobs,
        gain_spread=gain,
        fairness=fairness([job.spread.median for job in jobs]),
        solo_change=_middle([each.solo_change for each in rounds]),
        between=gain_found.between,
        common_s=sum(each.common_s for each in rounds),
    )


def _job(told: Sequence[Slowdown]) -> Slowdown:
    speed, _ = _over([(1.0 / each.spread.median, each.within, each.spread) for each in told])
    low, high = speed.ci95_low, speed.ci95_high
    slowdown = Spread(
        n=speed.n,
        median=1.0 / speed.median,
        iqr=speed.iqr / speed.median**2,
        ci95_low=None if high is None else 1.0 / high,
        ci95_high=None if low is None else 1.0 / low,
        block_length=speed.block_length,
    )
    flags = [flag for each in told for flag in each.flags if flag is not Flag.IMPLAUSIBLE]
    if low is not None:  # rounds give an interval where the steps of each are too few for one
        flags = [flag for flag in flags if flag is not Flag.FEW_SAMPLES]
    return Slowdown(spread=slowdown, flags=tuple(dict.fromkeys(flags)))


def _over(rounds: Sequence[tuple[float, float | None, Spread]]) -> tuple[Spread, Compared]:
    """Over the rounds' (value, half-width within, spread); the spread's IQR is the mean of theirs, relative."""
    told = [_within(value, half, of) for value, half, of in rounds]
    found = compared_rounds([((UNIT,), (each,)) for each in told])
    value = 1.0 + found.value
    return Spread(
        n=sum(of.n for _, _, of in rounds),
        median=value,
        iqr=value * sum(each.iqr / each.median for each in told) / len(told),
        ci95_low=None if found.low is None else 1.0 + found.low,
        ci95_high=None if found.high is None else 1.0 + found.high,
        block_length=max((of.block_length for _, _, of in rounds if of.block_length is not None), default=None),
    ), found


def _within(value: float, half: float | None, of: Spread) -> Spread:
    """A round's value with the interval of its own steps; its relative IQR is the same upside down."""
    low, high = (None, None) if half is None else (value / exp(half), value * exp(half))
    return Spread(n=of.n, median=value, iqr=value * of.iqr / of.median, ci95_low=low, ci95_high=high)


def _middle(changes: Sequence[float]) -> float:
    """The change whose size is the median."""
    size = median(abs(change) for change in changes)
    return min(changes, key=lambda change: abs(abs(change) - size))

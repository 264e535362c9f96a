"""What the card did during a setting that was measured in bursts with pauses (``workloads/bodies/burst_timing.py``).

Telemetry sees the pauses too: a mean or a median over them says nothing of the bursts, and is not told as if it did.
Limits are counted against the time under load, which is all that they can have held back.

Readings twice a second miss most bursts, and a sampled power bit may be that of another setting, so the clock in band
decides. Where a tenth of the bursts or more ended a step below the clock of the resting card, the limit that was on
most in the setting, else in the survey, held them back, for as large a share of them; where none was seen, the figure
says that the clock was lowered and that the cause was not seen (``clock_lowered``). Where they ended at the resting
clock, a sampled power limit is not put down to them; time that the driver counted in the setting's own window is, and
so is heat, which outlasts a pause and lowers the resting clock as well.
"""

from dataclasses import replace

from gputuner.analysis.limits import BINDING
from gputuner.model.points import Conditions, Flag
from gputuner.model.quantities import Limiter
from gputuner.model.readings import Scalar
from gputuner.model.steps import Part

PHASE = "bursts"
"""The same word as in the bodies."""
LOWERED_SHARE = 0.1
"""Share of the bursts from which on a lowered clock counts: then the lowest tenth of their clocks is lowered."""
PASSING = (Limiter.POWER, Limiter.POWER_BRAKE)
"""Limits that end with the load: a pause ends them, so that only a burst shows them."""


def in_bursts(part: Part) -> bool:
    """Whether it was measured so."""
    return part.params.get("phase") == PHASE


def burst_conditions(
    part: Part, own: Conditions | None, whole: Conditions | None
) -> tuple[Conditions | None, dict[str, Scalar]]:
    """The conditions of the bursts alone, and the mean draw of bursts and pauses as an extra figure.

    Args:
        part: the setting.
        own: conditions of its span, pauses included.
        whole: those of the whole survey.
    """
    if own is None:
        return None, {}
    loaded_s = own.duration_s * (told_share(part, "loaded_share") or 1.0)
    limited = {limiter: min(seconds, loaded_s) for limiter, seconds in own.limited_s.items()}
    lowered = told_share(part, "clock_lowered_share")
    if lowered is not None and lowered < LOWERED_SHARE and own.limited_from_samples:
        limited |= {limiter: 0.0 for limiter in PASSING if limiter in limited}
    limiter = _most(own, whole)
    if lowered is not None and lowered >= LOWERED_SHARE and limiter is not None:
        limited[limiter] = max(limited.get(limiter, 0.0), lowered * loaded_s)
    extra: dict[str, Scalar] = {} if own.power_w is None else {"mean_power_w": own.power_w}
    told = replace(
        own,
        duration_s=loaded_s,
        sm_clock_mhz=None,
        power_w=None,
        energy_j=None,
        gpu_utilisation=None,
        limited_s=limited,
        sm_active=None,
        tensor_active=None,
        dram_active=None,
    )
    return told, extra


def burst_flags(part: Part, told: Conditions | None) -> tuple[Flag, ...]:
    """``clock_lowered`` where bursts ended below the resting clock and no limit was seen (``told``: of the bursts)."""
    lowered = told_share(part, "clock_lowered_share")
    if lowered is None or lowered < LOWERED_SHARE:
        return ()
    seen = told is not None and any(told.limited_s.get(limiter, 0.0) > 0 for limiter in BINDING)
    return () if seen else (Flag.CLOCK_LOWERED,)


def _most(own: Conditions, whole: Conditions | None) -> Limiter | None:
    """The limit that was on longest in the setting, or else in the survey; None where none was seen."""
    for seen in (own, whole):
        known = {limiter: seen.limited_s.get(limiter, 0.0) for limiter in BINDING} if seen is not None else {}
        if any(known.values()):
            return max(known, key=lambda limiter: known[limiter])
    return None


def told_share(part: Part, name: str) -> float | None:
    """A share among the notes of a part; None: not told."""
    told = part.notes.get(name)
    return float(told) if isinstance(told, int | float) else None

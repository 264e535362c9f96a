"""What the card did during a setting that was measured in bursts with pauses (``workloads/bodies/burst_timing.py``).

Telemetry sees the pauses too: a mean or a median over them says nothing of the bursts, and is not told as if it did.
Limits are counted against the time under load, which is all that they can have held back. Readings twice a second miss
most bursts, so the clock in band counts as well: where bursts ended below the clock of the resting card, the limit that
was on most during the survey held them back, for as large a share of them. A limit that was on in the time of other
settings alone leaves the clock of this one as it was, and is not put down to it.
"""

from dataclasses import replace

from gputuner.analysis.limits import BINDING
from gputuner.model.points import Conditions
from gputuner.model.quantities import Limiter
from gputuner.model.readings import Scalar
from gputuner.model.steps import Part

PHASE = "bursts"
"""The same word as in the bodies."""


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
    loaded_s = own.duration_s * _share(part, "loaded_share", 1.0)
    limited = {limiter: min(seconds, loaded_s) for limiter, seconds in own.limited_s.items()}
    lowered, limiter = _share(part, "clock_lowered_share", 0.0), _most(own, whole)
    if lowered and limiter is not None:
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


def _most(own: Conditions, whole: Conditions | None) -> Limiter | None:
    """The limit that was on longest in the survey, or else in the setting; None where none was seen."""
    for seen in (whole, own):
        known = {limiter: seen.limited_s.get(limiter, 0.0) for limiter in BINDING} if seen is not None else {}
        if any(known.values()):
            return max(known, key=lambda limiter: known[limiter])
    return None


def _share(part: Part, name: str, usual: float) -> float:
    told = part.notes.get(name)
    return float(told) if isinstance(told, int | float) else usual

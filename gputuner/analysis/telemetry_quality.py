"""Whether recorded readings can be believed. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gputuner.model.readings import Scalar

STUCK = "temperature_stuck"
LEAST_SAMPLES = 10
LEAST_LOADED_S = 60.0
"""A card under load for a minute is warmer than idle, also with a large heat sink (an H200 moves within 0.6 s)."""
LEAST_RISE_W = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityNote:
    """A reading that cannot be believed; ``code`` and ``params`` become a sentence in ``language``."""

    code: str
    params: dict[str, Scalar] = field(default_factory=lambda: {})

    @property
    def withholds_thermal(self) -> bool:
        """True if no verdict about heat may rest on this recording."""
        return self.code == STUCK


def stuck_temperature(
    t_s: Sequence[float], temperature_c: Sequence[float], power_w: Sequence[float]
) -> QualityNote | None:
    """A note if the temperature never moves although power does.

    Args:
        t_s: times in seconds, rising.
        temperature_c: temperature at these times, in degC.
        power_w: power at these times, in W.

    Returns:
        A note when all of at least ``LEAST_SAMPLES`` temperatures are the same while the card spent at least
        ``LEAST_LOADED_S`` seconds in the upper two thirds (``LEAST_RISE_W`` above the lowest at least) of a range of
        power that doubles.
    """
    if len(temperature_c) < LEAST_SAMPLES or len(set(temperature_c)) > 1:
        return None
    low, high = min(power_w), max(power_w)
    if high - low < LEAST_RISE_W or high < 2 * low:
        return None
    loaded_w = low + max(LEAST_RISE_W, (high - low) / 3)
    steps = zip(t_s, t_s[1:], power_w, power_w[1:], strict=False)
    loaded_s = sum(t1 - t0 for t0, t1, p0, p1 in steps if min(p0, p1) >= loaded_w)
    if loaded_s < LEAST_LOADED_S:
        return None
    return QualityNote(
        code=STUCK,
        params={
            "temperature_c": temperature_c[0],
            "power_low_w": low,
            "power_high_w": high,
            "loaded_s": round(loaded_s, 1),
            "samples": len(temperature_c),
        },
    )

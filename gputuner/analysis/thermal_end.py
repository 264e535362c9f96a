"""When a thermal test is over: the steady temperature is known, and the resistance is, or more load would not tell it.

Both are looked at together since they close at different times: what a short rest says of the air at the card is worth
little on the temperature, which is read, and much on the resistance of a card that warms by 20 K only.
"""

from collections.abc import Sequence
from math import ceil, log

import numpy as np

from gputuner.analysis.thermal_forecast import CLOSED_C, Band, Forecast

CLOSED_SHARE = 0.045
"""Half-width of the resistance's 90 % band, of its median, at which it is told: it shall be within 5 % (methods §7),
and one card in ten lies outside of a band of 90 %."""
LONGEST_MISSING_MIN = 60
IN_A_ROW = 3
"""Looks at which the resistance's band is closed, and holds what the others say, before it counts as known."""
WORTH_MIN = 5
"""A test whose steady temperature is known goes on for the resistance only if that closes within so many minutes."""


def steady_known(forecasts: Sequence[Forecast]) -> bool:
    """Whether the band of the steady temperature is closed twice in a row, and both agree.

    The first time that a band closes is also when it is most likely to be too narrow by chance.
    """
    bands = [forecast.steady_c for forecast in forecasts[-2:]]
    return len(bands) == 2 and _agree(bands) and all(each.half_width <= CLOSED_C for each in bands)


def resistance_known(forecasts: Sequence[Forecast]) -> bool:
    """The same for the thermal resistance, whose band is closed at ±5 %, three times in a row."""
    bands = [forecast.resistance for forecast in forecasts[-IN_A_ROW:]]
    return len(bands) == IN_A_ROW and _agree(bands) and all(each.half_share <= CLOSED_SHARE for each in bands)


def over(looks: Sequence[tuple[float, Forecast]]) -> bool:
    """Whether a test may end after its looks (minutes of load, forecast).

    The steady temperature is known; and the resistance is too, or its band does not close within a few minutes more:
    then it is the air at the card that is missing, which only its owner can tell.
    """
    forecasts = [forecast for _, forecast in looks]
    if not steady_known(forecasts):
        return False
    if resistance_known(forecasts):
        return True
    if forecasts[-1].resistance.half_share <= CLOSED_SHARE:
        return False
    missing = missing_resistance(looks)
    return missing is None or missing > WORTH_MIN


def missing_steady(looks: Sequence[tuple[float, Forecast]]) -> int | None:
    """Minutes more until the steady temperature is known to ±1.5 °C; None where that cannot be told."""
    return missing_minutes([(minute, forecast.steady_c.half_width) for minute, forecast in looks], CLOSED_C)


def missing_resistance(looks: Sequence[tuple[float, Forecast]]) -> int | None:
    """Minutes more until the resistance is known to ±5 %; None where its band does not close."""
    widths = [(minute, forecast.resistance.half_share) for minute, forecast in looks]
    return missing_minutes(widths, CLOSED_SHARE)


def missing_minutes(widths: Sequence[tuple[float, float]], closed: float = CLOSED_C) -> int | None:
    """Minutes more until a half-width falls to ``closed``, from how it fell in the latter half of the looks.

    It falls about exponentially once the slow part shows; None where it does not fall yet.
    """
    recent = list(widths)[len(widths) // 2 :] if len(widths) >= 4 else list(widths)
    if len(recent) < 2 or recent[-1][1] <= 0:
        return None
    minutes, logs = np.array([m for m, _ in recent]), np.log([max(w, 1e-6) for _, w in recent])
    centred = minutes - minutes.mean()
    slope = float(centred @ logs / (centred @ centred))
    if slope >= -1e-3:
        return None
    missing = ceil(log(recent[-1][1] / closed) / -slope)
    return min(max(1, missing), LONGEST_MISSING_MIN)


def _agree(bands: Sequence[Band]) -> bool:
    """Whether the last band holds the medians of those before, and each of these the last median."""
    now = bands[-1]
    return all(
        before.low <= now.median <= before.high and now.low <= before.median <= now.high for before in bands[:-1]
    )

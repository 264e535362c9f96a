"""What a sweep of caps (or clock locks) answers: knee, best per joule, fastest, plateau, what each costs and saves."""

from dataclasses import dataclass
from math import ceil, expm1

import numpy as np

from gputuner.analysis.power_curve import Curve
from gputuner.analysis.power_shape import Array, lowest, reached

SAME_RATE, SAME_DRAW = 0.01, 0.015
"""Settings whose rate and draw differ by less are one plateau (peers: three caps of equal draw and 1 % speed)."""
FASTEST_WITHIN = 0.003
"""The lowest setting so close to the best rate is the fastest one: more would only be heat."""
KEPT = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A setting that answers a question, against the highest one of the sweep."""

    setting: Estimate
    rate: float
    """Samples/s there."""
    rate_change: Estimate
    """Relative: −0.03 is 3 % slower."""
    energy_change: Estimate | None
    """Relative, of joules per sample."""
    joules: float | None
    draw_w: float | None
    draw_change_w: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """All that a sweep says."""

    knee: Answer
    fastest: Answer
    best_energy: Answer | None
    plateau: Estimate | None
    """From this setting on draw and rate do not change; it begins between ``low`` and ``high``."""
    falls_above: float | None
    heat: bool
    """Whether the fall above ``falls_above`` is heat's: a thermal limit is told, or the card draws less there."""
    fall: Estimate | None
    """From there to the highest setting, relative (negative)."""
    per_k: float = 0.0
    """Relative change of the rate for a kelvin, taken out of the rates compared here; 0: none was shown."""


def answers(curve: Curve, loss: float, *, grain: float = 1.0) -> Answers:
    """What the sweep says.

    Args:
        curve: the sweep.
        loss: rate that may be lost at the knee, relative to the best.
        grain: settings are whole multiples of it (1 W, 15 MHz), rounded up, within the sweep.
    """
    settings, rate = curve.settings, curve.rate
    energy = curve.energy
    knees = [reached(settings, draw, 1.0 - loss) for draw in rate.draws]
    tops = [reached(settings, draw, 1.0 - FASTEST_WITHIN) for draw in rate.draws]
    falls = curve.falls_above
    best = None
    if energy is not None:
        lows = [lowest(settings, fit, raw) for fit, raw in zip(energy.draws, energy.raw_draws, strict=True)]
        best = _answer(curve, lowest(settings, energy.fit, energy.means), lows, grain)
    peak = None if falls is None else int(np.flatnonzero(settings == falls)[0])
    heat = peak is not None and _is_heat(curve, peak)
    return Answers(
        knee=_answer(curve, reached(settings, rate.fit, 1.0 - loss), knees, grain),
        fastest=_answer(curve, reached(settings, rate.fit, 1.0 - FASTEST_WITHIN), tops, grain),
        best_energy=best,
        plateau=_plateau(curve) if falls is None else None,
        falls_above=falls,
        heat=heat,
        fall=None if peak is None else _change(rate.fit[-1] - rate.fit[peak], rate.draws[:, -1] - rate.draws[:, peak]),
        per_k=curve.per_k,
    )


def money_per_year(draw_w: float, price_per_kwh: float, hours: float) -> float:
    """What the card's energy costs in a year of ``hours`` at work, in the price's currency."""
    return draw_w / 1000.0 * price_per_kwh * hours


def _is_heat(curve: Curve, peak: int) -> bool:
    less = curve.draw_w is not None and curve.draw_w[-1] < curve.draw_w[peak] * (1.0 + SAME_RATE)
    return bool(less or curve.heat_share[-1] >= 0.01)


def _answer(curve: Curve, setting: float, draws: list[float], grain: float) -> Answer:
    settings, rate, energy = curve.settings, curve.rate, curve.energy
    chosen = float(min(max(ceil(setting / grain - 1e-6) * grain, settings[0]), settings[-1]))
    low, high = (float(each) for each in np.quantile(draws, ((1 - KEPT) / 2, (1 + KEPT) / 2)))
    here = _at(settings, rate.fit, chosen)
    draw_w = None if curve.draw_w is None else float(np.interp(chosen, settings, curve.draw_w))
    change = None
    if energy is not None:
        there = np.array([_at(settings, each, chosen) for each in energy.draws])
        change = _change(_at(settings, energy.fit, chosen) - energy.fit[-1], there - energy.draws[:, -1])
    rates = np.array([_at(settings, each, chosen) for each in rate.draws])
    return Answer(
        setting=Estimate(value=chosen, low=min(low, chosen), high=max(high, chosen)),
        rate=float(np.exp(here)),
        rate_change=_change(here - rate.fit[-1], rates - rate.draws[:, -1]),
        energy_change=change,
        joules=None if energy is None else float(np.exp(_at(settings, energy.fit, chosen))),
        draw_w=draw_w,
        draw_change_w=None if curve.draw_w is None or draw_w is None else draw_w - float(curve.draw_w[-1]),
    )


def _at(settings: Array, logs: Array, setting: float) -> float:
    """Logarithm of the curve at ``setting``, linear between settings."""
    return float(np.log(np.interp(setting, settings, np.exp(logs))))


def _change(value: float, draws: Array) -> Estimate:
    low, high = np.quantile(draws, ((1 - KEPT) / 2, (1 + KEPT) / 2))
    return Estimate(value=expm1(value), low=expm1(min(float(low), value)), high=expm1(max(float(high), value)))


def _plateau(curve: Curve) -> Estimate | None:
    """The settings from the highest down at which neither draw nor rate differs; None: there is but one such."""
    if curve.draw_w is None:
        return None
    settings, logs, draw = curve.settings, curve.rate.means, curve.draw_w
    first = last = len(settings) - 1
    while first > 0:
        rate_apart = abs(float(logs[first - 1] - logs[last]))
        draw_apart = abs(float(draw[first - 1] / draw[last]) - 1.0)
        if rate_apart > SAME_RATE or draw_apart > SAME_DRAW:
            break
        first -= 1
    if first == last:
        return None
    below = float(settings[first - 1]) if first > 0 else float(settings[0])
    return Estimate(value=float(settings[first]), low=below, high=float(settings[first]))
